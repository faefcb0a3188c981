use std::path::PathBuf;

use super::problem::{Problem, Rows};
use super::serial::Serial;
use super::*;
use crate::Error;
use crate::catalog::{App, Array, Request, Trained, Watch};
use crate::data::points::{Features, Labels};

/// Rows on a spiral of three arms, their class the arm: no straight line parts them.
fn spiral(n: usize, seed: u64) -> String {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut row = |number: usize| {
        let (arm, radius) = (number % 3, rng.random_range(0.1f64..1.0));
        let angle = 3.0 * radius + 2.1 * arm as f64 + rng.random_range(-0.1..0.1);
        let name = ["left", "right", "third"][arm];
        format!("{name},{},{}\n", radius * angle.cos(), radius * angle.sin())
    };
    (0..n).map(&mut row).collect()
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        std::fs::write(files.path("train.csv"), spiral(600, 1)).unwrap();
        std::fs::write(files.path("test.csv"), spiral(300, 2)).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn request(&self, options: &[(&str, &str)]) -> Request {
        let request = Request { test: Some(self.path("test.csv")), ..Request::on(self.path("train.csv")) };
        options.iter().fold(request, |request, (name, value)| request.with(name, value))
    }
}

fn train(request: &Request) -> Trained {
    Mlp.train(request, &Watch::nobody()).unwrap()
}

fn weights(trained: &Trained, name: &str) -> Vec<f32> {
    match &trained.arrays.iter().find(|(found, _)| found == name).unwrap().1 {
        Array::F32(array) => array.iter().copied().collect(),
        _ => panic!("weights are of single precision"),
    }
}

/// The problem of [`Files::request`] as the serial reference has it.
fn problem(request: &Request) -> Problem {
    let rows = std::fs::read_to_string(&request.data).unwrap();
    let (mut values, mut of) = (Vec::new(), Vec::new());
    for line in rows.lines() {
        let mut cells = line.split(',');
        let class = cells.next();
        let place = ["left", "right", "third"].iter().position(|name| Some(*name) == class);
        of.push(u32::try_from(place.unwrap()).unwrap());
        values.extend(cells.map(|cell| cell.parse::<f32>().unwrap()));
    }
    let features = Features::Dense(ndarray::Array2::from_shape_vec((values.len() / 2, 2), values).unwrap());
    let names = ["left", "right", "third"].map(str::to_owned).to_vec();
    let params = params::Params::parse(&request.options).unwrap();
    Problem::new(Rows { features, labels: Labels::Classes { names, of } }, None, params, request.seed)
}

const OPTIONS: [(&str, &str); 5] =
    [("layers", "32,16"), ("epochs", "3"), ("batch", "50"), ("rate", "0.01"), ("decay", "0.001")];

/// The largest difference between weights of a run and of the serial reference.
fn difference(trained: &Trained, serial: &Serial<'_>) -> f32 {
    let mut most = 0.0f32;
    for (layer, (expected, bias)) in serial.weights().enumerate() {
        let pairs = weights(trained, &format!("weight_{layer}")).into_iter().zip(expected.iter().copied());
        let biases = weights(trained, &format!("bias_{layer}")).into_iter().zip(bias.iter().copied());
        most = pairs.chain(biases).fold(most, |most, (a, b)| most.max((a - b).abs()));
    }
    most
}

#[test]
fn workers_under_bsp_do_what_the_serial_reference_does_with_as_many_batches_at_once() {
    let files = Files::new();
    for optimizer in ["adam", "sgd", "adagrad"] {
        for workers in [1, 2, 4] {
            let request = files.request(&OPTIONS).with("optimizer", optimizer).with("dropout", 0.2);
            let request = Request { workers, consistency: Some("bsp".to_owned()), seed: 5, ..request };
            let problem = problem(&request);
            let mut serial = Serial::new(&problem);
            (0..3).for_each(|_| serial.pass(workers));
            let trained = train(&request);
            let off = difference(&trained, &serial);
            assert!(off < 2e-5, "{optimizer}, {workers} workers: {off}");
            assert!((trained.objective - serial.objective()).abs() < 1e-4, "{}", trained.objective);
        }
    }
}

#[test]
fn two_workers_under_bsp_take_the_step_of_a_batch_twice_as_large_at_twice_the_rate() {
    let files = Files::new();
    let descent = |workers: usize, batch: &str, rate: &str| {
        let request =
            files.request(&[("optimizer", "sgd"), ("epochs", "1"), ("batch", batch), ("rate", rate)]);
        let request = request.with("step", "constant");
        train(&Request { workers, consistency: Some("bsp".to_owned()), ..request })
    };
    let (two, one) = (descent(2, "300", "0.1"), descent(1, "600", "0.2"));
    for name in ["weight_0", "bias_0", "weight_1", "bias_1"] {
        let pairs = weights(&two, name).into_iter().zip(weights(&one, name));
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5), "{name}");
    }
}

#[test]
fn adarevision_knows_how_late_gradients_are_and_learns_with_many_in_flight() {
    let files = Files::new();
    let options = [("optimizer", "adarevision"), ("rate", "0.1"), ("epochs", "60"), ("batch", "30")];
    let request = Request { workers: 4, consistency: Some("ssp:2".to_owned()), ..files.request(&options) };
    let accuracy = train(&request).metrics["test_accuracy"];
    assert!(accuracy > 0.95, "{accuracy}");
}

#[test]
fn a_net_parts_what_no_straight_line_does() {
    let files = Files::new();
    let options = [("epochs", "100"), ("rate", "0.01"), ("batch", "50")];
    let net = train(&files.request(&options)).metrics["test_accuracy"];
    let linear = train(&files.request(&options).with("layers", "none")).metrics["test_accuracy"];
    assert!(net > 0.97 && linear < 0.85, "{net} and {linear}");
}

#[test]
fn the_weights_handed_over_are_those_that_did_best_on_held_out_rows() {
    let files = Files::new();
    // A rate so high that the loss goes up and down.
    let options =
        [("epochs", "40"), ("rate", "0.3"), ("batch", "20"), ("hold-out", "0.25"), ("patience", "3")];
    let request = Request { workers: 2, consistency: Some("bsp".to_owned()), ..files.request(&options) };
    let losses = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&losses);
    let tell = move |news: crate::catalog::News| {
        if let crate::catalog::News::Progress(progress) = news {
            let value = |name: &str| progress.metrics.iter().find(|(found, _)| found == name).unwrap().1;
            told.lock().unwrap().push((value("held_out_loss"), value("test_accuracy")));
        }
    };
    let trained = Mlp.train(&request, &Watch { tell: Box::new(tell), ..Watch::nobody() }).unwrap();
    let losses = losses.lock().unwrap();
    let best = losses.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert_eq!(trained.metrics["held_out_loss"], best.0);
    let folder = files.path("model");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, array) in &trained.arrays {
        crate::data::npy::write(&folder.join(format!("{name}.npy")), array).unwrap();
    }
    for (name, lines) in &trained.texts {
        crate::data::text::write_lines(&folder.join(name), lines).unwrap();
    }
    let scored = Mlp.evaluate(files.0.path(), &files.path("test.csv")).unwrap()["accuracy"];
    assert!((scored - best.1).abs() < 1e-9, "{scored} is not {}", best.1);
}

#[test]
fn numbers_are_predicted_and_columns_of_any_size_standardised() {
    let files = Files::new();
    let row = |x: u32| format!("{},{}\n", f64::from(x % 17) * 0.25 - 2.0, 1e4 + f64::from(x % 17) * 1e3);
    let text: String = (0..400).map(row).collect();
    std::fs::write(files.path("numbers.csv"), &text).unwrap();
    let options = [("targets", "numbers"), ("standardize", "true"), ("epochs", "60"), ("rate", "0.01")];
    let request = Request { test: Some(files.path("numbers.csv")), ..files.request(&options) };
    let trained = train(&Request { data: files.path("numbers.csv"), ..request });
    let rmse = trained.metrics["test_rmse"];
    assert!(rmse < 0.1, "{rmse}");
}

#[test]
fn a_rate_too_high_ends_the_run_with_advice() {
    let files = Files::new();
    let request =
        files.request(&[("optimizer", "sgd"), ("loss", "squared"), ("rate", "1000"), ("layers", "64,64")]);
    let error = Mlp.train(&request, &Watch::nobody()).unwrap_err();
    assert!(matches!(&error, Error::Run(said) if said.contains("rate 1000")), "{error}");
}

#[test]
fn a_wide_layer_is_spread_evenly_over_shards() {
    use slackline::id::{PageId, TableId};
    use slackline::placement::{Geometry, Placement};
    let geometry = Geometry::new(4096, 4096, tables::page(4096));
    assert_eq!((geometry.n_pages(), geometry.rows(PageId(1))), (64, 64..128));
    for n_shards in [2, 3, 5, 8] {
        let placement = Placement::over(n_shards);
        let mut load = vec![0usize; n_shards];
        for page in (0..geometry.n_pages()).map(PageId::at) {
            let size = geometry.rows(page).len() * geometry.columns(page).len();
            load[placement.of_page(TableId(0), page).index()] += size;
        }
        let (least, most) = (load.iter().min().unwrap(), load.iter().max().unwrap());
        assert!(most * 4 <= least * 5, "{load:?}");
    }
}
