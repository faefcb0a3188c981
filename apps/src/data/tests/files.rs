//! Files of every kind: opened, decompressed, read and refused.

use ndarray::{ArrayD, IxDyn, ShapeBuilder};

use super::*;
use crate::catalog::Array;

fn refused(bytes: &[u8]) -> String {
    let kept = file(bytes);
    message(read_samples(&kept.path, &ReadOptions::default(), &quiet), &kept.path)
}

#[test]
fn packed_files_read_as_plain_ones_whatever_their_name() {
    let text = b"1 1:2 3:4\n-1 2:5\n";
    let plain = read_samples(&file(text).path, &ReadOptions::default(), &quiet).unwrap();
    let packed = [
        (gzip(text), Compression::Gzip),
        (zstd(text), Compression::Zstd),
        ([gzip(&text[..12]), gzip(&text[12..])].concat(), Compression::Gzip),
        ([zstd(&text[..12]), zstd(&text[12..])].concat(), Compression::Zstd),
    ];
    for (bytes, compression) in packed {
        let read = read_samples(&file(bytes).path, &ReadOptions::default(), &quiet).unwrap();
        assert_eq!((&read.features, read.facts.compression), (&plain.features, compression));
    }
}

#[test]
fn packed_files_that_are_cut_short_are_refused() {
    let text = "1 1:2 3:4.25\n-1 2:5\n".repeat(9000);
    for (bytes, packer) in [(gzip(text.as_bytes()), "gzip"), (zstd(text.as_bytes()), "zstd")] {
        let said = refused(&bytes[..bytes.len() / 2]);
        assert!(said.starts_with(&format!(": the {packer} data is damaged or cut short (")), "{said}");
    }
}

#[test]
fn files_of_other_kinds_are_refused_by_name() {
    let cases: [(&[u8], &str); 6] = [
        (b"\xFD7zXZ\0\0\0", ": the file is xz, expected plain text, gzip or zstd; unpack it with xz -d"),
        (b"BZh91AY&", ": the file is bzip2, expected plain text, gzip or zstd; unpack it with bzip2 -d"),
        (
            b"PK\x03\x04....",
            ": the file is a zip archive, expected plain text, gzip or zstd; unpack it with unzip",
        ),
        (b"1 1:1\r2 1:1\r", ": lines end in a carriage return alone; convert it with tr '\\r' '\\n'"),
        (b"\xFF\xFE1\0", ": UTF-16 text, expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8"),
        (b"\x93NUMPY\x01\0", ": a binary file, expected text (libsvm, MatrixMarket, ratings or documents)"),
    ];
    for (bytes, problem) in cases {
        assert_eq!(refused(bytes), problem);
    }
}

#[test]
fn a_missing_file_and_a_directory_are_refused() {
    let kept = file("");
    let options = ReadOptions::default();
    let missing = kept.path.with_file_name("missing");
    assert!(matches!(read_samples(&missing, &options, &quiet), Err(Error::File { .. })));
    let directory = kept.path.parent().unwrap();
    assert!(matches!(read_samples(directory, &options, &quiet), Err(Error::File { .. })));
}

#[test]
fn a_line_may_be_longer_than_a_chunk() {
    let long: String = (1..20_000).map(|column| format!(" {column}:1")).collect();
    let kept = file(format!("1 1:1\n1{long}\n1 2:1\n"));
    let samples = chunked(&kept.path, 1000, 2).unwrap();
    assert_eq!((samples.features.rows(), samples.features.nnz()), (3, 20_001));
}

#[test]
fn arrays_come_back_as_they_were_written() {
    let kept = file("");
    let array = ArrayD::from_shape_fn(IxDyn(&[2, 3]).f(), |at| (10 * at[0] + at[1]) as f64 + 0.25);
    npy::write(&kept.path, &Array::F64(array.clone())).unwrap();
    let read = npy::read_f64(&kept.path).unwrap();
    assert_eq!(read, array);
    assert!(read.is_standard_layout());
    let head = std::fs::read(&kept.path).unwrap();
    assert!(String::from_utf8_lossy(&head).contains("'fortran_order': False"));
    let said = message(npy::read_f32(&kept.path), &kept.path);
    assert_eq!(said, ": the numbers are of type '<f8', expected single precision (<f4)");
    npy::write(&kept.path, &Array::F32(array.mapv(|x| x as f32))).unwrap();
    assert_eq!(npy::read_f32(&kept.path).unwrap(), array.mapv(|x| x as f32));
}

#[test]
fn damaged_arrays_are_refused() {
    let kept = file("no array");
    assert!(message(npy::read_f64(&kept.path), &kept.path).starts_with(": not a whole .npy file"));
    npy::write(&kept.path, &Array::F64(ArrayD::zeros(IxDyn(&[100])))).unwrap();
    let bytes = std::fs::read(&kept.path).unwrap();
    std::fs::write(&kept.path, &bytes[..50]).unwrap(); // within the header
    let said = message(npy::read_f64(&kept.path), &kept.path);
    assert_eq!(said, ": the array is cut short; copy or write the file again");
    std::fs::write(&kept.path, &bytes[..bytes.len() - 8]).unwrap();
    let said = message(npy::read_f64(&kept.path), &kept.path);
    assert_eq!(said, ": the array is cut short; copy or write the file again");
}

#[test]
fn lines_come_back_as_they_were_written() {
    let kept = file("");
    let names = ["", "naïve", " a b ", "#1"];
    text::write_lines(&kept.path, names).unwrap();
    assert_eq!(text::read_lines(&kept.path).unwrap(), names);
    assert!(text::write_lines(&kept.path, ["a\nb"]).is_err());
    let latin = file(b"a\n\xE9\n");
    let said = message(text::read_lines(&latin.path), &latin.path);
    assert_eq!(said, ":2: not UTF-8 text; convert the file with iconv -t UTF-8");
}
