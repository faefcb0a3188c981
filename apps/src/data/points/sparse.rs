//! libsvm text and MatrixMarket, by their readers, in single precision.

use super::super::facts::grouped;
use super::super::matrix_market::BANNER;
use super::super::source::Source;
use super::super::{ReadOptions, Samples, samples_of};
use super::labels::Raw;
use super::{Features, PointsOptions, Read, Sparse, Wanted};
use crate::Error;
use crate::catalog::News;

/// Reads sparse rows.
pub(super) fn read(
    source: Source,
    options: &PointsOptions,
    tell: &(dyn Fn(News) + Sync),
) -> Result<Read, Error> {
    let (path, is_matrix) = (source.path().to_path_buf(), source.starts_with(BANNER));
    let reading = ReadOptions {
        index_base: options.index_base,
        n_columns: options.n_columns,
        drop_beyond: options.n_columns.is_some(),
        labels: None,
        unlabelled: options.unlabelled || is_matrix || options.wanted == Wanted::Nothing,
        threads: options.threads,
    };
    let loading = |news| {
        if matches!(news, News::Loading { .. }) {
            tell(news);
        }
    };
    let Samples { features, labels, facts } = samples_of(source, &reading, &loading)?;
    let refuse = |problem| Error::Data { path: path.clone(), problem };
    if let Some(at) = features.data().iter().position(|value| !(*value as f32).is_finite()) {
        let row = features.indptr().raw_storage().partition_point(|start| *start <= at);
        let problem = format!(
            "row {row}, column {} is {:e}, beyond single precision; scale the column",
            features.indices()[at],
            features.data()[at]
        );
        return Err(refuse(problem));
    }
    let (shape, dropped) = (features.shape(), facts.beyond);
    let (starts, columns, values) = features.into_raw_storage();
    let values = values.into_iter().map(|value| value as f32).collect();
    let all_labelled = facts.unlabelled == 0;
    if facts.unlabelled > 0 && facts.unlabelled < shape.0 as u64 && options.wanted != Wanted::Nothing {
        let problem =
            format!("{} of {} rows have no label, expected all or none", grouped(facts.unlabelled), shape.0);
        return Err(refuse(problem));
    }
    let more = match dropped {
        0 => String::new(),
        n => format!(", {} values in unknown columns dropped", grouped(n)),
    };
    Ok(Read {
        format: if is_matrix { "MatrixMarket" } else { "libsvm" },
        features: Features::of(Sparse::new(shape, starts, columns, values)),
        labels: all_labelled.then_some(Raw::Numbers(labels)),
        index_base: facts.index_base,
        unit: 1.0,
        more,
    })
}
