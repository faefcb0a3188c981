//! NumPy's `.npy` files, in C order: how models are kept.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use ndarray::{ArrayD, ArrayRef, IxDyn};
use ndarray_npy::{ReadNpyError, ReadNpyExt, ReadableElement, WritableElement, WriteNpyError, WriteNpyExt};

use crate::Error;
use crate::catalog::Array;

/// Writes an array, in C order and whatever its layout in memory.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, array: &Array) -> Result<(), Error> {
    match array {
        Array::F32(array) => write_elements(path, array),
        Array::F64(array) => write_elements(path, array),
        Array::I32(array) => write_elements(path, array),
        Array::I64(array) => write_elements(path, array),
    }
}

/// Reads an array of single precision, such as `item_factors.npy` (items x rank).
///
/// # Errors
/// The file cannot be read, is no `.npy` file, is cut short or holds another kind of number.
pub fn read_f32(path: &Path) -> Result<ArrayD<f32>, Error> {
    read_elements(path, "single precision (<f4)")
}

/// Reads an array of double precision, such as `coefficients.npy` (columns).
///
/// # Errors
/// The file cannot be read, is no `.npy` file, is cut short or holds another kind of number.
pub fn read_f64(path: &Path) -> Result<ArrayD<f64>, Error> {
    read_elements(path, "double precision (<f8)")
}

/// Reads an array of whole numbers, such as `topic_counts.npy` (topics).
///
/// # Errors
/// The file cannot be read, is no `.npy` file, is cut short or holds another kind of number.
pub fn read_i64(path: &Path) -> Result<ArrayD<i64>, Error> {
    read_elements(path, "whole numbers of 64 bits (<i8)")
}

/// Reads an array of whole numbers of 32 bits, such as `rated_items.npy` (ratings).
///
/// # Errors
/// The file cannot be read, is no `.npy` file, is cut short or holds another kind of number.
pub fn read_i32(path: &Path) -> Result<ArrayD<i32>, Error> {
    read_elements(path, "whole numbers of 32 bits (<i4)")
}

/// Reads an array of double or single precision, such as `alpha.npy` (topics).
///
/// # Errors
/// The file cannot be read, is no `.npy` file, is cut short or holds another kind of number.
pub fn read_real(path: &Path) -> Result<ArrayD<f64>, Error> {
    match read_kind::<f32>(path)? {
        Ok(array) => Ok(array.mapv(f64::from)),
        Err(_) => read_f64(path),
    }
}

fn write_elements<A: WritableElement + Clone>(path: &Path, array: &ArrayRef<A, IxDyn>) -> Result<(), Error> {
    let file_error = |source| Error::File { path: path.to_path_buf(), source };
    let mut writer = BufWriter::new(File::create(path).map_err(file_error)?);
    array.as_standard_layout().write_npy(&mut writer).map_err(|error| match error {
        WriteNpyError::Io(source) => file_error(source),
        other => file_error(std::io::Error::other(other)),
    })?;
    writer.flush().map_err(file_error)
}

fn read_elements<A: ReadableElement + Clone>(path: &Path, wanted: &str) -> Result<ArrayD<A>, Error> {
    read_kind(path)?.map_err(|found| Error::Data {
        path: path.to_path_buf(),
        problem: format!("the numbers are of type {found}, expected {wanted}"),
    })
}

/// The array, or the kind of its numbers where it is another.
fn read_kind<A: ReadableElement + Clone>(path: &Path) -> Result<Result<ArrayD<A>, String>, Error> {
    let file_error = |source| Error::File { path: path.to_path_buf(), source };
    let data_error = |problem| Error::Data { path: path.to_path_buf(), problem };
    let reader = BufReader::new(File::open(path).map_err(file_error)?);
    let array = match ArrayD::<A>::read_npy(reader) {
        Ok(array) => array,
        Err(ReadNpyError::WrongDescriptor(found)) => return Ok(Err(found.to_string())),
        Err(ReadNpyError::Io(source)) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            return Err(file_error(source));
        }
        Err(ReadNpyError::Io(_) | ReadNpyError::MissingData) => {
            return Err(data_error("the array is cut short; copy or write the file again".into()));
        }
        Err(other) => {
            let problem = format!("not a whole .npy file ({other}); copy or write the file again");
            return Err(data_error(problem));
        }
    };
    Ok(Ok(if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() }))
}
