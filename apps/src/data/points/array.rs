//! NumPy's `.npy` files of any number that data come in, as rows and as labels.

use ndarray::ArrayD;
use ndarray_npy::{ReadNpyError, ReadNpyExt, ReadableElement};

use super::super::source::Source;
use super::labels::Raw;
use super::{IndexBase, Read, features};
use crate::Error;

/// Whether a file that starts with these bytes is one of NumPy's.
pub(super) fn is_npy(head: &[u8]) -> bool {
    head.starts_with(b"\x93NUMPY")
}

/// Reads one row per first index.
pub(super) fn read(source: Source) -> Result<Read, Error> {
    let path = source.path().to_path_buf();
    let refuse = |problem| Error::Data { path: path.clone(), problem };
    let (shape, values) = numbers(&source.into_bytes()?, &refuse)?;
    if shape.len() < 2 {
        let problem =
            format!("an array of rank {}, expected rows x columns; is this a file of labels?", shape.len());
        return Err(refuse(problem));
    }
    let values = values.into_iter().map(|value| value as f32).collect();
    let features = features::dense((shape[0], shape[1..].iter().product()), values, refuse)?;
    Ok(Read {
        format: "NumPy",
        features,
        labels: None,
        index_base: IndexBase::One,
        unit: 1.0,
        more: String::new(),
    })
}

/// Reads a list of labels.
pub(super) fn read_labels(source: Source) -> Result<Raw, Error> {
    let path = source.path().to_path_buf();
    let refuse = |problem| Error::Data { path: path.clone(), problem };
    let (shape, values) = numbers(&source.into_bytes()?, &refuse)?;
    if shape.iter().filter(|size| **size != 1).count() > 1 {
        return Err(refuse(format!("an array of shape {shape:?}, expected one label a row")));
    }
    Ok(Raw::Numbers(values))
}

/// The shape and the numbers of an array, in C order.
fn numbers(bytes: &[u8], refuse: &impl Fn(String) -> Error) -> Result<(Vec<usize>, Vec<f64>), Error> {
    macro_rules! first_of {
        ($($type:ty => $value:expr),+ $(,)?) => {$(
            match attempt::<$type>(bytes, refuse)? {
                Ok(array) => {
                    let shape = array.shape().to_vec();
                    return Ok((shape, array.iter().map($value).collect()));
                }
                Err(_) => {}
            }
        )+};
    }
    first_of! {
        f32 => |x| f64::from(*x),
        f64 => |x| *x,
        u8 => |x| f64::from(*x),
        i8 => |x| f64::from(*x),
        i16 => |x| f64::from(*x),
        u16 => |x| f64::from(*x),
        i32 => |x| f64::from(*x),
        u32 => |x| f64::from(*x),
        i64 => |x| *x as f64,
        u64 => |x| *x as f64,
    }
    match attempt::<bool>(bytes, refuse)? {
        Ok(array) => Ok((array.shape().to_vec(), array.iter().map(|x| f64::from(u8::from(*x))).collect())),
        Err(found) => {
            Err(refuse(format!("an array of {found}, expected numbers; convert it with .astype('float32')")))
        }
    }
}

/// The array, or the type of its elements where it is another.
fn attempt<A: ReadableElement>(
    bytes: &[u8],
    refuse: &impl Fn(String) -> Error,
) -> Result<Result<ArrayD<A>, String>, Error> {
    match ArrayD::<A>::read_npy(bytes) {
        Ok(array) => Ok(Ok(array)),
        Err(ReadNpyError::WrongDescriptor(found)) => Ok(Err(found.to_string())),
        Err(other) => Err(refuse(format!("not a whole .npy file ({other}); copy or write the file again"))),
    }
}
