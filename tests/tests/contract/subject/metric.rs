//! What metric learning is tested on: the rows of k-means, with pairs drawn from their corners.

use slackline_apps::catalog::Request;
use slackline_apps::data::points::{Labels, PointsOptions, Standard, Wanted, read_points};
use slackline_apps::metric_learning::{Params, Setup, pairs::Pairs, serial::Serial};

use super::Subject;
use super::clusters::corners;

pub(super) fn from_labels() -> Subject {
    Subject {
        what: "a metric from labels",
        data: corners(),
        test: corners(),
        one_sample: "x,1,2,3,4,5\nx,5,4,3,2,1\ny,0,0,0,0,1\n",
        options: &[
            ("rank", "5"),
            ("lambda", "1"),
            ("n-pairs", "1200"),
            ("batch", "60"),
            ("epochs", "10"),
            ("baseline", "false"),
        ],
        long: &[("epochs", "1000000")],
        serial,
        tolerance: 0.05,
        schedules: &["shuffled"],
        many: 400,
        test_metric: ("pair_ap", "pair_ap"),
    }
}

fn serial(request: &Request) -> f64 {
    let options = PointsOptions { wanted: Wanted::Classes, ..PointsOptions::default() };
    let points = read_points(&request.data, &options, &|_| {}).expect("made data");
    let Some(Labels::Classes { of, .. }) = points.labels else { panic!("classes were wanted") };
    let params = Params::parse(request).expect("good options");
    let mut features = points.features;
    Standard::fit(&features).apply(&mut features);
    let pairs = Pairs::draw(&of, params.n_pairs, request.seed).expect("four classes");
    let setup = Setup::new(features, pairs, &params, request.seed).expect("all five columns");
    let mut serial = Serial::new(&setup);
    serial.run(request.seed);
    serial.objective()
}
