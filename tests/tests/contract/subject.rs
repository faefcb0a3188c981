//! What each app is tested on: small shipped data, the objective of its serial reference, and how near is near.

use std::path::{Path, PathBuf};

use slackline_apps::catalog::Request;

/// One case of the contract.
pub(crate) struct Subject {
    /// For the log.
    pub(crate) what: &'static str,
    data: PathBuf,
    test: PathBuf,
    one_sample: &'static str,
    options: &'static [(&'static str, &'static str)],
    /// Options that make a run too long to end before it is stopped.
    long: &'static [(&'static str, &'static str)],
    serial: fn(&Request) -> f64,
    /// How far an objective may be from the serial one, relative to it.
    pub(crate) tolerance: f64,
    /// The schedules of the app.
    pub(crate) schedules: &'static [&'static str],
    /// More parts than there are samples or columns.
    pub(crate) many: usize,
    /// A metric of `evaluate` and the same of training.
    pub(crate) test_metric: (&'static str, &'static str),
}

/// The cases of an app.
pub(crate) fn of(app: &str) -> Vec<Subject> {
    match app {
        "mf" => vec![mf()],
        other => panic!("{other} is in the catalog and not in the contract: say here what it is tested on"),
    }
}

impl Subject {
    /// The case with one worker and the app's own consistency and schedule.
    pub(crate) fn request(&self) -> Request {
        self.options.iter().fold(Request::on(&self.data), |request, (name, value)| request.with(name, value))
    }

    /// A run that goes on until it is stopped.
    pub(crate) fn long(&self) -> Request {
        self.long.iter().fold(self.request(), |request, (name, value)| request.with(name, value))
    }

    /// The objective of the serial reference.
    pub(crate) fn serial(&self) -> f64 {
        (self.serial)(&self.request())
    }

    /// Held-out data.
    pub(crate) fn test(&self) -> PathBuf {
        self.test.clone()
    }

    /// A data file of one sample.
    pub(crate) fn one_sample(&self) -> PathBuf {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("one-sample-{}.txt", self.what.replace(' ', "-")));
        std::fs::write(&path, self.one_sample).expect("the target folder can be written");
        path
    }
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/data").join(name)
}

fn mf() -> Subject {
    Subject {
        what: "ratings",
        data: shipped("ratings.train.tsv"),
        test: shipped("ratings.test.tsv"),
        one_sample: "1\t1\t3.5\n",
        options: &[("rank", "4"), ("epochs", "30")],
        long: &[("epochs", "1000000")],
        serial: |request| {
            use slackline_apps::data::read_ratings;
            use slackline_apps::matrix_factorization::{cells::Triples, params::Params, serial::Serial};
            let ratings = read_ratings(&request.data, &|_| {}).expect("shipped data");
            let triples = Triples { users: &ratings.users, items: &ratings.items, values: &ratings.values };
            let params = Params::parse(&request.options, request.workers).expect("good options");
            let epochs = params.epochs;
            let shape = (ratings.user_ids.len(), ratings.item_ids.len());
            let mut serial = Serial::new(&triples, shape, params, request.seed).expect("good ratings");
            for _ in 0..epochs {
                serial.pass().expect("it converges");
            }
            serial.score().objective()
        },
        tolerance: 0.02,
        schedules: &["rotation"],
        many: 200,
        test_metric: ("rmse", "test_rmse"),
    }
}
