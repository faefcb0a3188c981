//! Solutions in the order of the data's columns, and a whole path of them as arrays.

use ndarray::Array1;

use super::guide::Step;
use crate::catalog::Array;

/// The coefficients of all parts as one vector over the columns of the data. `names` gives the data's column of each
/// column of a part.
pub fn flatten<'a>(
    coefficients: &[Vec<f64>],
    names: impl Fn(usize) -> &'a [u32],
    n_columns: usize,
) -> Vec<f64> {
    let mut flat = vec![0.0; n_columns];
    for (part, coefficients) in coefficients.iter().enumerate() {
        for (name, value) in names(part).iter().zip(coefficients) {
            flat[*name as usize] = *value;
        }
    }
    flat
}

/// A path as arrays: `path_lambda`, `path_objective`, `path_gap`, `path_intercept` with an entry per penalty, and the
/// coefficients as the three arrays of a compressed sparse row matrix (penalties × columns), as `SciPy` takes them.
pub fn arrays<'a>(solutions: &[Step], names: impl Fn(usize) -> &'a [u32]) -> Vec<(String, Array)> {
    let each =
        |of: fn(&Step) -> f64| Array::F64(solutions.iter().map(of).collect::<Array1<f64>>().into_dyn());
    let (mut data, mut indices, mut indptr) = (Vec::new(), Vec::new(), vec![0i64]);
    for solution in solutions {
        let mut row: Vec<(i64, f64)> = solution
            .coefficients
            .iter()
            .map(|(part, column, value)| (i64::from(names(*part)[*column as usize]), *value))
            .collect();
        row.sort_by_key(|(column, _)| *column);
        indices.extend(row.iter().map(|(column, _)| *column));
        data.extend(row.iter().map(|(_, value)| *value));
        indptr.push(data.len() as i64);
    }
    vec![
        ("path_lambda".to_owned(), each(|s| s.lambda)),
        ("path_objective".to_owned(), each(|s| s.objective)),
        ("path_gap".to_owned(), each(|s| s.gap)),
        ("path_intercept".to_owned(), each(|s| s.intercept)),
        ("path_data".to_owned(), Array::F64(Array1::from(data).into_dyn())),
        ("path_indices".to_owned(), Array::I64(Array1::from(indices).into_dyn())),
        ("path_indptr".to_owned(), Array::I64(Array1::from(indptr).into_dyn())),
    ]
}
