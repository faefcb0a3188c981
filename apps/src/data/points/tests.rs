use std::io::Write;
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2, arr2};
use ndarray_npy::WriteNpyExt;

use super::*;

/// Files that go away with the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn wanting(wanted: Wanted) -> PointsOptions {
    PointsOptions { wanted, ..PointsOptions::default() }
}

fn classes() -> PointsOptions {
    wanting(Wanted::Classes)
}

fn read(bytes: impl AsRef<[u8]>, options: &PointsOptions) -> Result<Points, Error> {
    let folder = Folder::new();
    read_points(&folder.file("data", bytes), options, &|_| {})
}

/// What an error says after the path.
fn refusal(bytes: impl AsRef<[u8]>, options: &PointsOptions) -> String {
    let said = read(bytes, options).expect_err("it must be refused").to_string();
    said[said.find("data:").expect("the file is named") + 5..].trim_start().to_owned()
}

fn dense(points: &Points) -> Array2<f32> {
    points.features.to_dense()
}

fn idx(kind: u8, sizes: &[u32], elements: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, kind, sizes.len() as u8];
    sizes.iter().for_each(|size| bytes.extend_from_slice(&size.to_be_bytes()));
    bytes.extend_from_slice(elements);
    bytes
}

fn npy<A: ndarray_npy::WritableElement>(array: &ndarray::ArrayD<A>) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    bytes
}

fn class_names(points: &Points) -> (Vec<&str>, &[u32]) {
    match &points.labels {
        Some(Labels::Classes { names, of }) => (names.iter().map(String::as_str).collect(), of),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bytes_of_idx_are_parts_of_255_and_images_are_rows() {
    let points = read(idx(0x08, &[2, 1, 2], &[0, 255, 51, 102]), &PointsOptions::default()).unwrap();
    assert_eq!(dense(&points), arr2(&[[0.0, 1.0], [0.2, 0.4]]));
    assert_eq!((points.unit, points.labels), (1.0 / 255.0, None));
}

#[test]
fn every_type_of_idx_is_read_as_it_is() {
    let of = |kind, elements: &[u8]| {
        dense(&read(idx(kind, &[1, 2], elements), &PointsOptions::default()).unwrap())
    };
    let expected = arr2(&[[-3.0, 7.0]]);
    assert_eq!(of(0x09, &[0xFD, 7]), expected);
    assert_eq!(of(0x0B, &[0xFF, 0xFD, 0, 7]), expected);
    assert_eq!(of(0x0C, &[(-3i32).to_be_bytes(), 7i32.to_be_bytes()].concat()), expected);
    assert_eq!(of(0x0D, &[(-3f32).to_be_bytes(), 7f32.to_be_bytes()].concat()), expected);
    assert_eq!(of(0x0E, &[(-3f64).to_be_bytes(), 7f64.to_be_bytes()].concat()), expected);
}

#[test]
fn a_damaged_idx_file_is_refused() {
    let options = PointsOptions::default();
    assert!(
        refusal(idx(0x08, &[2, 2], &[1, 2, 3]), &options)
            .starts_with("3 bytes of elements, expected 2 x 2 elements of 1 bytes")
    );
    assert!(
        refusal(idx(0x08, &[u32::MAX, u32::MAX, u32::MAX], &[1]), &options).contains("expected 4294967295 x")
    );
    assert!(refusal([0, 0, 8, 2, 0, 0], &options).starts_with("the header is cut short"));
    assert!(refusal(idx(0x08, &[2], &[1, 2]), &options).contains("expected rows; is this a file of labels?"));
    assert_eq!(refusal(idx(0x08, &[0, 2], &[]), &options), "0 rows of 2 columns, expected some of both");
    let nan = idx(0x0D, &[2, 2], &[0f32, 1.0, f32::NAN, 2.0].map(f32::to_be_bytes).concat());
    assert!(refusal(nan, &options).starts_with("row 2, column 1 is NaN, expected a finite number"));
}

#[test]
fn four_files_of_mnist_in_a_directory_are_two_parts_with_their_labels() {
    let folder = Folder::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&idx(0x08, &[3, 1, 1], &[0, 51, 255])).unwrap();
    let images = folder.file("train-images-idx3-ubyte.gz", gzip.finish().unwrap());
    let labels = folder.file("train-labels-idx1-ubyte", idx(0x08, &[3], &[9, 0, 9]));
    let test = folder.file("t10k-images-idx3-ubyte", idx(0x08, &[1, 1, 1], &[255]));
    let test_labels = folder.file("t10k-labels-idx1-ubyte", idx(0x08, &[1], &[0]));
    let parts = find_parts(folder.0.path(), None, None).unwrap();
    let expected = Parts {
        data: images.clone(),
        labels: Some(labels),
        test: Some(test.clone()),
        test_labels: Some(test_labels),
    };
    assert_eq!(parts, expected);
    let points = read_points(&images, &PointsOptions { labels: parts.labels, ..classes() }, &|_| {}).unwrap();
    assert_eq!(class_names(&points), (vec!["0", "9"], &[1, 0, 1][..]));
    assert_eq!(
        class_names(&read_points(&test, &classes(), &|_| {}).unwrap()),
        (vec!["0"], &[0][..]),
        "labels beside"
    );
    let own = find_parts(folder.0.path(), None, Some(Path::new("mine"))).unwrap();
    assert_eq!((own.test, own.test_labels), (Some(PathBuf::from("mine")), None));
}

#[test]
fn a_directory_of_something_else_is_refused() {
    let folder = Folder::new();
    let said = find_parts(folder.0.path(), None, None).unwrap_err().to_string();
    assert!(said.contains("a directory without train-images…, expected a file, or the files"), "{said}");
}

#[test]
fn a_table_is_read_with_or_without_a_header_whatever_separates_its_fields() {
    let expected = arr2(&[[1.5, -2.0], [0.25, 1e3]]);
    for text in [
        "a,1.5,-2\nb,.25,1e3\n",
        "class,x,y\r\na,1.5,-2\r\nb,0.25,1000\r\n",
        "\u{FEFF}a;1.5;-2\nb;0.25;1000",
        "# a comment\na\t1.5\t-2\n\nb\t0.25\t+1000\n",
        "  a 1.5   -2\nb 0.25 1000\n",
        "\"a\",\"1.5\",\"-2\"\n\"b\",\"0.25\", 1000 \n",
    ] {
        let points = read(text, &classes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(dense(&points), expected, "{text}");
        assert_eq!(class_names(&points), (vec!["a", "b"], &[0, 1][..]), "{text}");
    }
}

#[test]
fn the_label_is_in_the_column_that_is_named() {
    let with = |label_column| PointsOptions { label_column, ..classes() };
    let last = read("1,2,x\n3,4,y\n", &with(LabelColumn::Last)).unwrap();
    let named = read("a,kind,b\n1,x,2\n3,y,4\n", &with(LabelColumn::Named("kind".to_owned()))).unwrap();
    assert_eq!(dense(&last), arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    assert_eq!(last, named);
    let none = PointsOptions { label_column: LabelColumn::None, ..PointsOptions::default() };
    assert_eq!(dense(&read("1,2\n", &none).unwrap()), arr2(&[[1.0, 2.0]]));
    let said = |text| read(text, &with(LabelColumn::Named("kind".to_owned()))).unwrap_err().to_string();
    assert_eq!(said("a,b\n1,2\n"), "--label-column is kind, must be first, last, none or one of a b");
    assert!(said("1 1:2\n").starts_with("--label-column is kind, must be first, last or none"));
    assert_eq!("last".parse(), Ok(LabelColumn::Last));
}

#[test]
fn new_rows_of_a_table_may_come_without_labels() {
    let options = PointsOptions { unlabelled: true, n_columns: Some(2), ..classes() };
    let bare = read("1,2\n3,4\n", &options).unwrap();
    assert_eq!((dense(&bare), bare.labels), (arr2(&[[1.0, 2.0], [3.0, 4.0]]), None));
    assert_eq!(class_names(&read("x,1,2\n", &options).unwrap()), (vec!["x"], &[0][..]));
}

#[test]
fn a_fault_of_a_table_is_named_with_its_line_and_column() {
    let cases = [
        ("a,1,2\nb,3\n", "2: 2 fields, expected 3 as in the first line"),
        ("a,1,2\nb,3,4,5\n", "2: 4 fields, expected 3"),
        ("k,x,y\na,1,2\nb,1,\n", "3: column 3 (y): no number"),
        ("a,1,2\nb,nan,2\n", "2: column 2: nan is not a finite number"),
        ("a,nan,2\n", "1: column 2: nan is not a finite number"),
        ("a,1,2\nb,-inf,2\n", "2: column 2: -inf is not a finite number"),
        ("a,1,2\nb,1e39,2\n", "2: column 2: 1e39 is beyond single precision"),
        ("a,1,2\nb,1,x\n", "2: column 3: x is not a number; --label-column says where the label is"),
        ("a,1,2\n,1,2\n", "2: column 1: no label"),
        ("", "no rows in the file"),
        ("\n# nothing\n\n", "no rows in the file"),
        ("k,x,y\n", "0 rows of 2 columns, expected some of both"),
        ("a\nb\n", "2 rows of 0 columns, expected some of both"),
    ];
    for (text, expected) in cases {
        let said = refusal(text, &classes());
        assert!(said.starts_with(expected), "{text:?}: {said}");
    }
}

#[test]
fn libsvm_rows_are_sparse_unless_most_of_each_is_there() {
    let sparse = read("3 1:1 9:2\n10 4:0.5\n", &classes()).unwrap();
    assert!(matches!(sparse.features, Features::Sparse(_)));
    assert_eq!(
        (sparse.features.n_rows(), sparse.features.n_columns(), sparse.index_base),
        (2, 9, IndexBase::One)
    );
    assert_eq!(class_names(&sparse), (vec!["3", "10"], &[0, 1][..]));
    let mut rows = [7.0; 18];
    sparse.features.gather(&[1, 0], &mut rows);
    assert_eq!(rows, [0., 0., 0., 0.5, 0., 0., 0., 0., 0., 1., 0., 0., 0., 0., 0., 0., 0., 2.]);
    let full = read("1 1:1 2:2\n-1 2:3\n", &wanting(Wanted::Numbers)).unwrap();
    assert_eq!(full.features, Features::Dense(arr2(&[[1.0, 2.0], [0.0, 3.0]])));
    assert_eq!(full.labels, Some(Labels::Numbers(vec![1.0, -1.0])));
    let held_out = PointsOptions { n_columns: Some(9), ..classes() };
    assert_eq!(
        read("3 1:1 11:2\n", &held_out).unwrap().features.n_columns(),
        9,
        "unknown columns are dropped"
    );
    assert_eq!(read("2:1\n1:1\n", &PointsOptions::default()).unwrap().labels, None, "no label is needed");
    assert!(refusal("2:1 3:1\n", &classes()).contains("expected a label"));
    assert!(
        refusal("1 2:1e39\n", &classes()).starts_with("row 1, column 1 is 1e39, beyond single precision")
    );
}

#[test]
fn a_matrix_market_design_has_its_labels_in_another_file() {
    let folder = Folder::new();
    let text = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2.5\n2 3 -1\n";
    let design = folder.file("data", text);
    let labels = folder.file("labels", "%%MatrixMarket matrix array real general\n2 1\n1\n0\n");
    let options = PointsOptions { labels: Some(labels), ..classes() };
    let points = read_points(&design, &options, &|_| {}).unwrap();
    assert_eq!(dense(&points), arr2(&[[2.5, 0.0, 0.0], [0.0, 0.0, -1.0]]));
    assert_eq!(class_names(&points), (vec!["0", "1"], &[1, 0][..]));
    assert!(refusal(text, &classes()).starts_with("holds no labels; --labels names the file that does"));
}

#[test]
fn arrays_of_every_type_are_read_and_flattened_to_rows() {
    let of = |bytes: Vec<u8>| dense(&read(bytes, &PointsOptions::default()).unwrap());
    let expected = arr2(&[[1.0, 0.0], [0.0, 200.0]]);
    let shape = || vec![2, 1, 2];
    macro_rules! check {
        ($($type:ty),*) => {$(
            let values: Vec<$type> = [1u8, 0, 0, 200].map(|x| <$type>::try_from(x).unwrap()).to_vec();
            assert_eq!(of(npy(&ndarray::ArrayD::from_shape_vec(shape(), values).unwrap())), expected);
        )*};
    }
    check!(f32, f64, u8, i16, u16, i32, u32, i64, u64);
    let columns =
        Array2::from_shape_vec(ndarray::ShapeBuilder::f((2, 2)), vec![1.0f64, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(of(npy(&columns.into_dyn())), arr2(&[[1.0, 3.0], [2.0, 4.0]]), "Fortran order");
}

#[test]
fn a_fault_of_an_array_is_named() {
    let options = PointsOptions::default();
    let list = npy(&Array1::from(vec![1.0f32, 2.0]).into_dyn());
    assert!(refusal(list, &options).starts_with("an array of rank 1, expected rows x columns"));
    let wrong = npy(&arr2(&[[1.0, f64::INFINITY]]).into_dyn());
    assert!(refusal(wrong, &options).starts_with("row 1, column 2 is inf"));
    let large = npy(&arr2(&[[1e300, 1.0]]).into_dyn());
    assert!(
        refusal(large, &options)
            .starts_with("row 1, column 1 is inf, expected a finite number of single precision")
    );
    let mut cut = npy(&arr2(&[[1.0f32, 2.0]]).into_dyn());
    cut.pop();
    assert!(refusal(cut, &options).starts_with("not a whole .npy file"));
    let said =
        refusal(npy(&arr2(&[[1.0f32, 2.0]]).into_dyn()), &PointsOptions { n_columns: Some(3), ..options });
    assert!(said.starts_with("2 columns of features, expected 3"), "{said}");
}

#[test]
fn labels_come_from_an_array_from_idx_or_from_lines() {
    let folder = Folder::new();
    let data = folder.file("data.npy", npy(&arr2(&[[1.0f32], [2.0], [3.0]]).into_dyn()));
    let files = [
        folder.file("y.npy", npy(&Array1::from(vec![10i64, 9, 10]).into_dyn())),
        folder.file("y.idx", idx(0x08, &[3], &[10, 9, 10])),
        folder.file("y.txt", "10\r\n9.0\r\n+10\r\n\r\n"),
    ];
    for file in files {
        let with = |wanted| PointsOptions { labels: Some(file.clone()), ..wanting(wanted) };
        let points = read_points(&data, &with(Wanted::Classes), &|_| {}).unwrap();
        assert_eq!(class_names(&points), (vec!["9", "10"], &[1, 0, 1][..]), "{}", file.display());
        let points = read_points(&data, &with(Wanted::Numbers), &|_| {}).unwrap();
        assert_eq!(points.labels, Some(Labels::Numbers(vec![10.0, 9.0, 10.0])));
    }
}

#[test]
fn a_fault_of_a_file_of_labels_is_named() {
    let folder = Folder::new();
    let data = folder.file("data.npy", npy(&arr2(&[[1.0f32], [2.0]]).into_dyn()));
    let said = |name: &str, bytes: &[u8], wanted| {
        let labels = Some(folder.file(name, bytes));
        let options = PointsOptions { labels, ..wanting(wanted) };
        read_points(&data, &options, &|_| {}).expect_err("it must be refused").to_string()
    };
    let few = said("few", b"1\n", Wanted::Classes);
    assert!(few.ends_with("few: 1 labels, expected one for each of the 2 rows"), "{few}");
    let gap = said("gap", b"1\n\n2\n", Wanted::Classes);
    assert!(gap.ends_with("gap:2: a blank line, expected a label"), "{gap}");
    let word = said("word", b"1\nred\n", Wanted::Numbers);
    assert!(word.ends_with("word: the label of row 2: red is not a number"), "{word}");
    let nan = said("nan", &npy(&Array1::from(vec![1.0, f64::NAN]).into_dyn()), Wanted::Classes);
    assert!(nan.contains("nan: the label of row 2: NaN is not a finite number"), "{nan}");
    let table = said("table", &npy(&arr2(&[[1.0, 2.0], [1.0, 2.0]]).into_dyn()), Wanted::Classes);
    assert!(table.ends_with("an array of shape [2, 2], expected one label a row"), "{table}");
    let images = said("images", &idx(0x08, &[2, 1], &[1, 2]), Wanted::Classes);
    assert!(images.ends_with("elements in rank 2, expected labels (rank 1)"), "{images}");
    let libsvm = folder.file("rows.svm", "1 1:2\n");
    let labels = Some(folder.file("one", "1\n"));
    let twice =
        read_points(&libsvm, &PointsOptions { labels, ..classes() }, &|_| {}).unwrap_err().to_string();
    assert!(twice.contains("rows.svm: holds labels of its own; leave out the file of labels"), "{twice}");
}

#[test]
fn classes_are_in_the_order_of_people_and_those_of_the_model_come_first() {
    let points = read("b10,1\nb9,1\n2,1\nb010,1\n-1,1\na,1\n", &classes()).unwrap();
    assert_eq!(class_names(&points), (vec!["-1", "2", "a", "b9", "b010", "b10"], &[5, 3, 1, 4, 0, 2][..]));
    let known = PointsOptions { classes: Some(vec!["b".into(), "a".into()]), ..classes() };
    let held_out = read("a,1\nz,1\nc,1\na,1\n", &known).unwrap();
    assert_eq!(class_names(&held_out), (vec!["b", "a", "c", "z"], &[1, 3, 2, 1][..]));
}

#[test]
fn what_was_read_is_told() {
    let folder = Folder::new();
    let path = folder.file("data", "a,1,2\nb,3,4\n");
    let told = std::sync::Mutex::new(Vec::new());
    read_points(&path, &classes(), &|news| {
        if let News::Fact(fact) = news {
            told.lock().unwrap().push(fact);
        }
    })
    .unwrap();
    assert_eq!(*told.lock().unwrap(), ["table, 2 rows x 2 columns, dense, 2 classes"]);
}

#[test]
fn the_shared_images_are_mnist() {
    let Some(folder) = std::env::var_os("SLACKLINE_DATA").map(PathBuf::from) else { return };
    let parts = find_parts(&folder.join("images/mnist"), None, None).unwrap();
    let train =
        read_points(&parts.data, &PointsOptions { labels: parts.labels, ..classes() }, &|_| {}).unwrap();
    assert_eq!((train.features.n_rows(), train.features.n_columns()), (60_000, 784));
    let (names, of) = class_names(&train);
    assert_eq!((names.len(), &of[..5]), (10, &[5, 0, 4, 1, 9][..]));
    // The mean of all pixels and its deviation are 0.1307 and 0.3081 in every tutorial.
    let values = train.features.to_dense();
    let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / values.len() as f64;
    assert!((mean - 0.1307).abs() < 1e-4, "{mean}");
}
