//! MatrixMarket files, read and refused.

use proptest::prelude::*;

use super::*;

/// A design of these lines, with as many labels as it takes.
fn read(text: &str, n_labels: usize) -> Result<Samples, Error> {
    let (design, labels) = (file(text), file("1\n".repeat(n_labels)));
    let options = ReadOptions { labels: Some(labels.path.clone()), ..ReadOptions::default() };
    read_samples(&design.path, &options, &quiet)
}

fn dense(text: &str, n_labels: usize) -> Vec<Vec<f64>> {
    let samples = read(text, n_labels).unwrap();
    samples.features.to_dense().outer_iter().map(|row| row.to_vec()).collect()
}

fn refused(text: &str) -> String {
    let design = file(text);
    let labels = file("1\n1\n");
    let options = ReadOptions { labels: Some(labels.path.clone()), ..ReadOptions::default() };
    message(read_samples(&design.path, &options, &quiet), &design.path)
}

#[test]
fn coordinates_come_in_any_order_with_comments_and_blank_lines() {
    let text = "%%matrixmarket MATRIX Coordinate REAL General\r\n% note\r\n\r\n2 3 4\r\n2 1 4\r\n% more\r\n1 3 .5\r\n\r\n1 1 1e1\r\n1 3 1";
    assert_eq!(dense(text, 2), [[10., 0., 1.5], [4., 0., 0.]]);
    let facts = read(text, 2).unwrap().facts;
    assert_eq!((facts.duplicates, facts.blank_lines, facts.comment_lines), (1, 1, 1));
}

#[test]
fn every_kind_is_read() {
    let cases: [(&str, &[&[f64]]); 8] = [
        ("coordinate integer general\n2 2 2\n1 2 -3\n2 1 0\n", &[&[0., -3.], &[0., 0.]]),
        ("coordinate pattern general\n2 2 2\n1 2\n2 1\n", &[&[0., 1.], &[1., 0.]]),
        ("coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n", &[&[1., 1.], &[1., 0.]]),
        ("coordinate real symmetric\n2 2 2\n2 2 5\n2 1 3\n", &[&[0., 3.], &[3., 5.]]),
        ("coordinate real skew-symmetric\n2 2 1\n2 1 3\n", &[&[0., -3.], &[3., 0.]]),
        ("array real general\n2 3\n1\n2\n3\n4\n0\n6\n", &[&[1., 3., 0.], &[2., 4., 6.]]),
        ("array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", &[&[1., 2., 3.], &[2., 4., 5.], &[3., 5., 6.]]),
        ("array real skew-symmetric\n3 3\n1\n2\n3\n", &[&[0., -1., -2.], &[1., 0., -3.], &[2., 3., 0.]]),
    ];
    for (text, wanted) in cases {
        assert_eq!(dense(&format!("%%MatrixMarket matrix {text}"), wanted.len()), wanted, "{text}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        (
            "coordinate complex general\n2 2 0\n",
            ":1: the values are complex, expected real ones; keep one part of them",
        ),
        (
            "coordinate real hermitian\n2 2 0\n",
            ":1: the symmetry is hermitian, must be general, symmetric or skew-symmetric",
        ),
        (
            "coordinate real\n2 2 0\n",
            ":1: %%MatrixMarket matrix coordinate real is not a whole banner, expected `%%MatrixMarket matrix coordinate real general`",
        ),
        (
            "coordinate real general\n% x\n2 2\n",
            ":3: 2 2 is not the line of sizes, expected the numbers of rows, columns and entries",
        ),
        ("coordinate real general\n", ": the file ends before its line of sizes; it is cut short"),
        ("coordinate real general\n0 2 0\n", ": no samples in the file: its size line says 0 rows"),
        ("coordinate real symmetric\n2 3 0\n", ":2: 2 x 3 is not square, a symmetric matrix must be"),
        (
            "coordinate real symmetric\n2 2 1\n1 2 1\n",
            ":3: entry (1, 2) is above the diagonal, a symmetric file holds the lower half only",
        ),
        (
            "coordinate real general\n2 2 2\n1 2 1\n",
            ": 1 entries, but the file promises 2; it is cut short or its size line is wrong",
        ),
        (
            "coordinate real general\n2 2 1\n1 2 1\n1 1 1\n",
            ": 2 entries, but the file promises 1; its size line is wrong",
        ),
        ("coordinate real general\n2 2 1\n\n3 2 1\n", ":4: row 3, must be 1 to 2 by the line of sizes"),
        ("coordinate real general\n2 2 1\n1 0 1\n", ":3: column 0, must be 1 to 2 by the line of sizes"),
        ("coordinate real general\n2 2 1\n1 -1 1\n", ":3: column -1, must be 1 to 2 by the line of sizes"),
        ("coordinate real general\n2 2 1\n1\n", ":3: the column is missing; the line may be cut short"),
        ("coordinate real general\n2 2 1\n1 2\n", ":3: a number is missing; the line may be cut short"),
        (
            "coordinate real general\n2 2 1\n1 2 nan\n",
            ":3: nan is not a finite number; drop the line or put a number in its place",
        ),
        ("coordinate real general\n2 2 1\n1 2 3 4\n", ":3: 4 is left over at the end of the entry"),
        (
            "coordinate integer general\n2 2 1\n1 2 3.5\n",
            ":3: 3.5 is not a whole number, the banner says integer",
        ),
        (
            "array real general\n2 1\n1\n",
            ": 1 entries, but the file promises 2; it is cut short or its size line is wrong",
        ),
        (
            "coordinate real general\n5000000000 1 1\n1 1 1\n",
            ":2: 5000000000 x 1 is too large, at most 4294967295 rows and columns",
        ),
    ];
    for (text, problem) in cases {
        assert_eq!(refused(&format!("%%MatrixMarket matrix {text}")), problem, "{text}");
    }
}

#[test]
fn labels_come_from_a_vector_or_a_list() {
    let design = file("%%MatrixMarket matrix coordinate pattern general\n3 1 1\n2 1\n");
    let given = [
        "1\n-2.5 # half\n\n3",
        "%%MatrixMarket matrix array real general\n3 1\n1\n-2.5\n3\n",
        "%%MatrixMarket matrix array real general\n1 3\n1\n-2.5\n3\n",
        "%%MatrixMarket matrix coordinate real general\n3 1 3\n3 1 3\n1 1 1\n2 1 -2.5\n",
    ];
    for text in given {
        let labels = file(text);
        let options = ReadOptions { labels: Some(labels.path.clone()), ..ReadOptions::default() };
        assert_eq!(read_samples(&design.path, &options, &quiet).unwrap().labels, [1., -2.5, 3.], "{text}");
    }
    let wrong = [
        ("1\n2\n", ": 2 labels, expected one for each of the 3 rows of the design"),
        ("1\nx\n3\n", ":2: x is not a number"),
        ("1\n2 3\n", ":2: more than a number, expected one label a line"),
        ("%%MatrixMarket matrix array real general\n2 2\n", ": a 2 x 2 matrix, expected a vector of labels"),
        ("%%MatrixMarket matrix coordinate real general\n3 1 2\n1 1 1\n1 1 1\n", ": label 1 is given twice"),
    ];
    for (text, problem) in wrong {
        let labels = file(text);
        let options = ReadOptions { labels: Some(labels.path.clone()), ..ReadOptions::default() };
        assert_eq!(message(read_samples(&design.path, &options, &quiet), &labels.path), problem);
    }
    assert!(read_samples(&design.path, &ReadOptions::default(), &quiet).is_err());
}

#[test]
fn columns_beyond_the_model_are_refused_or_dropped_and_counted() {
    let design = file("%%MatrixMarket matrix coordinate real general\n1 3 2\n1 1 4\n1 3 5\n");
    let labels = file("1\n");
    let mut options =
        ReadOptions { labels: Some(labels.path.clone()), n_columns: Some(2), ..ReadOptions::default() };
    assert!(read_samples(&design.path, &options, &quiet).is_err());
    options.drop_beyond = true;
    let samples = read_samples(&design.path, &options, &quiet).unwrap();
    assert_eq!((samples.features.cols(), samples.features.nnz(), samples.facts.beyond), (2, 1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_written_is_read(entries in prop::collection::vec((0usize..9, 0usize..7, -999i32..1000), 0..80)) {
        let mut wanted = vec![vec![0.0; 7]; 9];
        let mut text = format!("%%MatrixMarket matrix coordinate real general\n9 7 {}\n", entries.len());
        for &(row, column, value) in &entries {
            wanted[row][column] += f64::from(value);
            text += &format!("{} {}\t{value}\n", row + 1, column + 1);
        }
        prop_assert_eq!(dense(&text, 9), wanted);
    }
}
