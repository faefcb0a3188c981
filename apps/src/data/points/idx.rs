//! IDX, the format of MNIST: two zeros, the type of the elements, the rank, the sizes, the elements; all big-endian.

use super::super::source::Source;
use super::labels::Raw;
use super::{Features, IndexBase, Read, features};
use crate::Error;

/// The type of the elements.
#[derive(Clone, Copy)]
enum Kind {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

/// Whether a file that starts with these bytes is IDX.
pub(super) fn is_idx(head: &[u8]) -> bool {
    matches!(head, [0, 0, kind, rank, ..] if self::kind(*kind).is_some() && *rank > 0)
}

fn kind(code: u8) -> Option<Kind> {
    Some(match code {
        0x08 => Kind::U8,
        0x09 => Kind::I8,
        0x0B => Kind::I16,
        0x0C => Kind::I32,
        0x0D => Kind::F32,
        0x0E => Kind::F64,
        _ => return None,
    })
}

impl Kind {
    fn n_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// One element; `bytes` has as many as it takes.
    fn value(self, bytes: &[u8]) -> f64 {
        fn of<const N: usize>(bytes: &[u8]) -> [u8; N] {
            std::array::from_fn(|k| bytes[k])
        }
        match self {
            Self::U8 => f64::from(bytes[0]),
            Self::I8 => f64::from(i8::from_be_bytes(of(bytes))),
            Self::I16 => f64::from(i16::from_be_bytes(of(bytes))),
            Self::I32 => f64::from(i32::from_be_bytes(of(bytes))),
            Self::F32 => f64::from(f32::from_be_bytes(of(bytes))),
            Self::F64 => f64::from_be_bytes(of(bytes)),
        }
    }
}

/// The header: sizes and type, and where the elements start.
fn header(bytes: &[u8], refuse: &impl Fn(String) -> Error) -> Result<(Vec<usize>, Kind, usize), Error> {
    let cut = || refuse("the header is cut short; copy or fetch the file again".to_owned());
    let [_, _, code, rank, ..] = *bytes else { return Err(cut()) };
    let kind = kind(code).ok_or_else(cut)?;
    let start = 4 + 4 * usize::from(rank);
    let sizes = bytes.get(4..start).ok_or_else(cut)?;
    let size = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    Ok((sizes.chunks_exact(4).map(size).collect(), kind, start))
}

/// The bytes of the elements, as many as the header says.
fn body<'a>(
    bytes: &'a [u8],
    (sizes, kind, start): (&[usize], Kind, usize),
    refuse: &impl Fn(String) -> Error,
) -> Result<&'a [u8], Error> {
    let expected = sizes.iter().try_fold(kind.n_bytes(), |product, size| product.checked_mul(*size));
    let (found, body) = (bytes.len() - start, &bytes[start..]);
    if expected != Some(found) {
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        return Err(refuse(format!(
            "{found} bytes of elements, expected {} elements of {} bytes; copy or fetch the file again",
            sizes.join(" x "),
            kind.n_bytes()
        )));
    }
    Ok(body)
}

/// Reads one row per first index.
pub(super) fn read(source: Source) -> Result<Read, Error> {
    let path = source.path().to_path_buf();
    let refuse = |problem| Error::Data { path: path.clone(), problem };
    let bytes = source.into_bytes()?;
    let (sizes, kind, start) = header(&bytes, &refuse)?;
    if sizes.len() < 2 {
        return Err(refuse(
            "a list of numbers (rank 1), expected rows; is this a file of labels?".to_owned(),
        ));
    }
    let body = body(&bytes, (&sizes, kind, start), &refuse)?;
    let unit = if matches!(kind, Kind::U8) { 1.0 / 255.0 } else { 1.0 };
    let values = match kind {
        Kind::U8 => body.iter().map(|byte| f32::from(*byte) / 255.0).collect(),
        kind => body.chunks_exact(kind.n_bytes()).map(|bytes| kind.value(bytes) as f32).collect(),
    };
    let shape = (sizes[0], sizes[1..].iter().product());
    let features: Features = features::dense(shape, values, refuse)?;
    Ok(Read { format: "IDX", features, labels: None, index_base: IndexBase::One, unit, more: String::new() })
}

/// Reads a list of labels.
pub(super) fn read_labels(source: Source) -> Result<Raw, Error> {
    let path = source.path().to_path_buf();
    let refuse = |problem| Error::Data { path: path.clone(), problem };
    let bytes = source.into_bytes()?;
    let (sizes, kind, start) = header(&bytes, &refuse)?;
    let body = body(&bytes, (&sizes, kind, start), &refuse)?;
    if sizes.len() != 1 {
        return Err(refuse(format!("elements in rank {}, expected labels (rank 1)", sizes.len())));
    }
    Ok(Raw::Numbers(body.chunks_exact(kind.n_bytes()).map(|bytes| kind.value(bytes)).collect()))
}
