//! Libsvm text, read and refused.

use proptest::prelude::*;

use super::*;

fn read(text: impl AsRef<[u8]>) -> Samples {
    read_with(text, &ReadOptions::default()).unwrap()
}

fn read_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Samples, Error> {
    read_samples(&file(text).path, options, &quiet)
}

fn refused(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let kept = file(text);
    message(read_samples(&kept.path, options, &quiet), &kept.path)
}

fn dense(samples: &Samples) -> Vec<Vec<f64>> {
    samples.features.to_dense().outer_iter().map(|row| row.to_vec()).collect()
}

#[test]
fn columns_count_from_one_unless_a_column_zero_occurs_anywhere() {
    let one = read("1 1:5 3:6\n-1 2:7\n");
    assert_eq!(
        (one.facts.index_base, dense(&one)),
        (IndexBase::One, vec![vec![5., 0., 6.], vec![0., 7., 0.]])
    );
    let zero = read("1 1:5 3:6\n-1 0:7\n");
    let rows = vec![vec![0., 5., 0., 6.], vec![7., 0., 0., 0.]];
    assert_eq!((zero.facts.index_base, dense(&zero)), (IndexBase::Zero, rows));
}

#[test]
fn a_told_base_is_kept() {
    let options = ReadOptions { index_base: IndexBase::Zero, ..ReadOptions::default() };
    assert_eq!(dense(&read_with("1 1:5\n", &options).unwrap()), [[0., 5.]]);
    let options = ReadOptions { index_base: IndexBase::One, ..ReadOptions::default() };
    assert_eq!(
        refused("1 1:5\n1 2:5 0:1\n", &options),
        ":2: column 0, but columns were said to count from 1 (by --index-base, or since the training data do); \
         train with --index-base 0"
    );
}

#[test]
fn odd_but_legal_files_are_read() {
    let text = b"\xEF\xBB\xBF# a comment\r\n\r\n+1 qid:3 3:1e-1\t1:.5  # more\r\n   \n-1\n2.5e0 1:2#x\n  1 1:0 2:-3 1:1 1:2";
    let samples = read(text);
    assert_eq!(samples.labels, [1., -1., 2.5, 1.]);
    assert_eq!(dense(&samples), [[0.5, 0., 0.1], [0., 0., 0.], [2., 0., 0.], [3., -3., 0.]]);
    let facts = &samples.facts;
    assert_eq!((facts.blank_lines, facts.comment_lines, facts.query_ids), (2, 1, 1));
    assert_eq!((facts.unsorted_rows, facts.duplicates, facts.zeros), (2, 2, 0));
}

#[test]
fn zeros_are_dropped_but_their_columns_count() {
    let samples = read("1 1:1 5:0\n0 2:1 2:-1\n");
    assert_eq!((samples.features.cols(), samples.features.nnz(), samples.facts.zeros), (5, 1, 2));
}

#[test]
fn the_facts_are_told_in_one_line() {
    let kept = file(zstd(b"1 2:1 1:1\n-1 1:1 1:1\n"));
    let told = std::sync::Mutex::new(Vec::new());
    read_samples(&kept.path, &ReadOptions::default(), &|news| told.lock().unwrap().push(news)).unwrap();
    let told = told.into_inner().unwrap();
    assert!(matches!(told[0], News::Loading { read, of } if read == of && of > 0));
    let News::Fact(fact) = &told[1] else { panic!("a fact comes last") };
    assert_eq!(
        fact,
        "libsvm, zstd, 1-based, 2 rows x 2 columns, 3 non-zeros, labels -1 1, 1 unsorted row sorted, 1 duplicate summed"
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let cases = [
        ("1 1:nan", "after 1: nan is not a finite number; drop the line or put a number in its place"),
        ("1 1:-inf", "after 1: -inf is not a finite number; drop the line or put a number in its place"),
        ("1 1:1e999", "after 1: 1e999 is not a finite number; drop the line or put a number in its place"),
        ("NaN 1:1", "the label NaN is not a finite number; drop the line or put a number in its place"),
        ("1 3:", "after 3: a number is missing; the line may be cut short"),
        ("1 3: 4", "after 3: a number is missing; the line may be cut short"),
        ("1 3", "3 has no value, expected column:value; the line may be cut short"),
        ("1 3.5:1", "3.5:1 is not column:value"),
        ("3:1 4:1", "the line starts with 3:1, expected a label (a number) before the features"),
        ("1,2 3:1", "the label 1,2 is not a number"),
        ("1 -3:1", "column -3:1 is negative, columns count from 0 or 1"),
        ("1 x:1", "x:1 is not a column number, expected column:value"),
        ("1 4294967296:1", "column 4294967296:1 is too large, at most 4294967295 is possible"),
        ("1 1:2x", "after 1: 2x is not a number"),
        ("1 1:2:3", "after 1: 2:3 is not a number"),
        ("1 qid: 1:2", "after qid: a number is missing; the line may be cut short"),
        ("1 1:1e308 1:1e308", "the values of a repeated column add up to more than a number can hold"),
    ];
    for (line, problem) in cases {
        let text = format!("# head\n1 1:1\n\n{line}\n1 1:1\n");
        assert_eq!(refused(text, &ReadOptions::default()), format!(":4: {problem}"), "{line}");
    }
}

#[test]
fn a_file_without_samples_is_refused() {
    for text in ["", "\n\n", "# nothing\n"] {
        let said = refused(text, &ReadOptions::default());
        assert_eq!(said, ": no samples in the file, expected lines such as `1 3:0.5 7:2`");
    }
}

#[test]
fn columns_beyond_the_model_are_refused_or_dropped_and_counted() {
    let text = "1 1:1 2:1\n1 1:1\n1 2:1 3:1 4:1\n";
    let mut options = ReadOptions { n_columns: Some(2), ..ReadOptions::default() };
    let said = refused(text, &options);
    assert_eq!(said, ":3: a column beyond the 2 expected; is this the data of another model?");
    options.drop_beyond = true;
    let samples = read_with(text, &options).unwrap();
    assert_eq!((dense(&samples), samples.facts.beyond), (vec![vec![1., 1.], vec![1., 0.], vec![0., 1.]], 2));
    options.n_columns = Some(9);
    assert_eq!(read_with(text, &options).unwrap().features.cols(), 9);
    let zero_based = ReadOptions { n_columns: Some(2), ..ReadOptions::default() };
    assert!(refused("1 1:1\n1 2:1\n1 0:1\n", &zero_based).starts_with(":2: "));
}

#[test]
fn a_column_far_beyond_the_values_is_refused_before_memory_runs_out() {
    let said = refused("1 1:1\n-1 2000000000:1\n", &ReadOptions::default());
    assert!(said.starts_with(": column 2000000000 in a file of 2 values: "), "{said}");
    assert_eq!(read("1 99999999:1\n").features.cols(), 99_999_999);
}

#[test]
fn rows_without_features_alone_are_legal() {
    let samples = read("1\n2\n");
    assert_eq!((samples.features.rows(), samples.features.cols()), (2, 0));
}

#[test]
fn the_first_wrong_line_is_named_however_many_threads_read() {
    let mut text = "1 1:1 2:2\n".repeat(5000);
    text.push_str("1 1:x\n");
    text.push_str(&"1 1:1\n".repeat(5000));
    text.push_str("broken\n");
    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let kept = file(bytes);
        for (chunk_bytes, threads) in [(1, 4), (100, 3), (4096, 1), (1 << 20, 2)] {
            let said = message(chunked(&kept.path, chunk_bytes, threads), &kept.path);
            assert_eq!(said, ":5001: after 1: x is not a number");
        }
    }
}

/// A sample as it may be written: label, and columns (from 1) with values.
type Written = (f64, Vec<(u32, f64)>);

fn samples() -> impl Strategy<Value = Vec<Written>> {
    let value = prop_oneof![(-999i32..1000).prop_map(|n| f64::from(n) / 100.0), -1e300..1e300];
    let features = prop::collection::btree_map(1u32..60, value, 0..12);
    let row = (-3..4i32, features.prop_map(|map| map.into_iter().collect()));
    prop::collection::vec(row.prop_map(|(label, features)| (f64::from(label), features)), 1..40)
}

/// Writes samples with odd blanks, orders and line ends, all drawn from `noise`.
fn write(rows: &[Written], noise: &[usize]) -> String {
    let mut noise = noise.iter().copied().cycle();
    let mut draw = |choices: &[&'static str]| choices[noise.next().unwrap_or(0) % choices.len()];
    let mut text = String::new();
    for (label, features) in rows {
        text.push_str(draw(&["", "# comment\n", "\n", " \r\n", ""]));
        text += &format!("{}{label}", draw(&["", " ", "\t"]));
        let mut features = features.clone();
        match draw(&["sorted", "reversed", "rotated"]) {
            "reversed" => features.reverse(),
            "rotated" => {
                let half = features.len() / 2;
                features.rotate_left(half);
            }
            _ => {}
        }
        for (column, value) in features {
            text += &format!("{}{column}:{value}", draw(&[" ", "\t", "  "]));
        }
        text.push_str(draw(&["\n", "\r\n", " \n", " # end\n", "\n"]));
    }
    text.truncate(text.len() - usize::from(text.ends_with("0\n"))); // some have no last line end
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(rows in samples(), noise in prop::collection::vec(0usize..60, 1..30)) {
        let kept = file(write(&rows, &noise));
        let serial = chunked(&kept.path, 1 << 20, 1).unwrap();
        prop_assert_eq!(&serial.labels, &rows.iter().map(|row| row.0).collect::<Vec<_>>());
        for (read, (_, written)) in serial.features.outer_iterator().zip(&rows) {
            let read: Vec<(u32, f64)> = read.iter().map(|(column, &value)| (column as u32 + 1, value)).collect();
            let written: Vec<(u32, f64)> = written.iter().copied().filter(|pair| pair.1 != 0.0).collect();
            prop_assert_eq!(read, written);
        }
        for (chunk_bytes, threads) in [(1, 3), (64, 2)] {
            let parallel = chunked(&kept.path, chunk_bytes, threads).unwrap();
            prop_assert_eq!(&parallel.features, &serial.features);
            prop_assert_eq!(&parallel.labels, &serial.labels);
            prop_assert_eq!(&parallel.facts, &serial.facts);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(prop::sample::select(b"01 :.-e#\nqid\r\t%x\xFF".to_vec()), 0..200)) {
        let kept = file(bytes);
        let _ = chunked(&kept.path, 16, 2);
        let _ = read_ratings(&kept.path, &quiet);
    }
}
