//! Lists of names, a line each: the vocabularies and ids of a model.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::source::Source;
use crate::Error;

/// Writes one line for each text, which must not contain a line end.
///
/// # Errors
/// The file cannot be written, or a text has more than one line.
pub fn write_lines<S: AsRef<str>>(path: &Path, lines: impl IntoIterator<Item = S>) -> Result<(), Error> {
    let file_error = |source| Error::File { path: path.to_path_buf(), source };
    let mut writer = BufWriter::new(File::create(path).map_err(file_error)?);
    for line in lines {
        let line = line.as_ref();
        if line.contains(['\n', '\r']) {
            let problem = format!("{line:?} cannot be written as one line");
            return Err(Error::Data { path: path.to_path_buf(), problem });
        }
        writer.write_all(line.as_bytes()).and_then(|()| writer.write_all(b"\n")).map_err(file_error)?;
    }
    writer.flush().map_err(file_error)
}

/// Reads all lines, plain or packed, without their ends.
///
/// # Errors
/// The file cannot be read, or a line is not UTF-8.
pub fn read_lines(path: &Path) -> Result<Vec<String>, Error> {
    let mut source = Source::open(path)?;
    let mut lines = Vec::new();
    while let Some(mut line) = source.next_line()? {
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let line = String::from_utf8(line).map_err(|_| {
            source.line_error(source.lines(), "not UTF-8 text; convert the file with iconv -t UTF-8")
        })?;
        lines.push(line);
    }
    Ok(lines)
}
