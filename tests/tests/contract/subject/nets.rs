//! What nets are tested on.

use slackline_apps::data::points::{PointsOptions, Wanted, read_points};
use slackline_apps::mlp::params::Params;
use slackline_apps::mlp::problem::{Problem, Rows};
use slackline_apps::mlp::serial::Serial;

use super::{Subject, shipped};

/// Handwritten digits: weights that decay keep the minimum in one place, and a cosine comes to rest there.
pub(super) fn digits() -> Subject {
    Subject {
        what: "handwritten digits",
        data: shipped("digits.svm.zst"),
        test: shipped("digits.svm.zst"),
        one_sample: "1 1:1 3:-0.5\n",
        options: &[
            ("layers", "16"),
            ("epochs", "30"),
            ("parts", "30"),
            ("rate", "0.01"),
            ("decay", "0.01"),
            ("step", "cosine"),
            ("standardize", "true"),
        ],
        long: &[("epochs", "1000000")],
        serial: |request| {
            let options = PointsOptions { wanted: Wanted::Classes, ..PointsOptions::default() };
            let mut points = read_points(&request.data, &options, &|_| {}).expect("shipped data");
            slackline_apps::data::points::Standard::fit(&points.features).apply(&mut points.features);
            let rows =
                Rows { features: points.features, labels: points.labels.expect("digits have classes") };
            let params = Params::parse(&request.options).expect("good options");
            let epochs = params.epochs;
            let problem = Problem::new(rows, None, params, request.seed);
            let mut serial = Serial::new(&problem);
            (0..epochs).for_each(|_| serial.pass(1));
            serial.objective()
        },
        tolerance: 0.05,
        schedules: &["shuffled"],
        many: 200,
        test_metric: ("accuracy", "test_accuracy"),
    }
}
