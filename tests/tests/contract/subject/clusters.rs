//! What k-means is tested on: rows around four corners, made from a small generator.

use std::fmt::Write as _;
use std::path::PathBuf;

use slackline_apps::catalog::Request;
use slackline_apps::data::points::{LabelColumn, PointsOptions, read_points};
use slackline_apps::kmeans::centres::Rows;
use slackline_apps::kmeans::{Method, Params, Setup, seeding, serial::Serial};

use super::{Subject, made};

/// 320 rows of five columns around four corners, the corner of each as its label.
pub(super) fn corners() -> PathBuf {
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24) - 0.5
    };
    let mut text = String::from("corner,a,b,c,d,e\n");
    for row in 0..320 {
        let corner = row % 4;
        let at = [f64::from(corner % 2), f64::from(corner / 2), 0.0, 0.0, 0.0];
        let values: Vec<String> = at.iter().map(|at| format!("{:.4}", 3.0 * at + 2.0 * noise())).collect();
        writeln!(text, "corner-{corner},{}", values.join(",")).expect("a string takes everything");
    }
    made("corners.csv", &text)
}

pub(super) fn by_all_rows() -> Subject {
    Subject {
        what: "clusters by all rows",
        data: corners(),
        test: corners(),
        one_sample: "x,1,2,3,4,5\ny,5,4,3,2,1\nz,0,0,0,0,1\nw,9,9,9,9,9\n",
        options: &[("clusters", "4"), ("label-column", "first")],
        long: &[("restarts", "1000000")],
        serial,
        tolerance: 0.02,
        schedules: &["fixed"],
        many: 400,
        test_metric: ("inertia", "test_inertia"),
    }
}

pub(super) fn by_batches() -> Subject {
    Subject {
        what: "clusters by mini-batches",
        options: &[
            ("clusters", "4"),
            ("label-column", "first"),
            ("method", "batch"),
            ("batch", "32"),
            ("epochs", "20"),
        ],
        long: &[("epochs", "1000000"), ("tol", "0")],
        schedules: &["shuffled"],
        ..by_all_rows()
    }
}

fn serial(request: &Request) -> f64 {
    let options = PointsOptions { label_column: LabelColumn::First, ..PointsOptions::default() };
    let points = read_points(&request.data, &options, &|_| {}).expect("made data");
    let params = Params::parse(request).expect("good options");
    let rows = Rows::new(points.features);
    let seeds = seeding::seeds(&rows, params.clusters, request.seed, 1).expect("enough rows");
    let setup = Setup::new(rows, seeds, &params, request.seed);
    let mut serial = Serial::new(&setup);
    match params.method {
        Method::Full => serial.full(params.epochs, 0.0),
        Method::Batch => serial.batches(&setup, params.epochs, request.seed),
    }
    serial.inertia()
}
