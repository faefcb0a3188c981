//! The contract: what every app of the catalog must do. An app that is not in `subject::of` fails here.

mod subject;

use std::path::Path;

use slackline_apps::catalog::{self, App, Array, News, Request, Trained, Watch};
use slackline_apps::data::npy;
use slackline_apps::prediction::{Cell, Kind, Predictions, Question};
use slackline_apps::{Error, StopSwitch};
use subject::Subject;

fn each(check: impl Fn(&dyn App, &Subject)) {
    for app in catalog::apps() {
        for subject in subject::of(app.name()) {
            eprintln!("{}: {}", app.name(), subject.what);
            check(*app, &subject);
        }
    }
}

fn train(app: &dyn App, request: &Request) -> Trained {
    app.train(request, &Watch::nobody()).unwrap_or_else(|error| panic!("{}: {error}", app.name()))
}

/// The bits of a model.
fn bits(trained: &Trained) -> Vec<(String, Vec<u64>)> {
    let of = |array: &Array| -> Vec<u64> {
        match array {
            Array::F32(array) => array.iter().map(|x| u64::from(x.to_bits())).collect(),
            Array::F64(array) => array.iter().map(|x| x.to_bits()).collect(),
            Array::I32(array) => array.iter().map(|x| u64::from(x.cast_unsigned())).collect(),
            Array::I64(array) => array.iter().map(|x| x.cast_unsigned()).collect(),
        }
    };
    trained.arrays.iter().map(|(name, array)| (name.clone(), of(array))).collect()
}

#[test]
fn under_bsp_the_same_seed_gives_the_same_bits() {
    each(|app, subject| {
        let request = Request { workers: 3, consistency: Some("bsp".to_owned()), ..subject.request() };
        let (first, second) = (train(app, &request), train(app, &request));
        assert_eq!(bits(&first), bits(&second));
        assert_eq!(first.objective.to_bits(), second.objective.to_bits());
    });
}

#[test]
fn no_two_actors_share_memory_an_encoded_run_has_the_same_bits() {
    each(|app, subject| {
        let request = Request { workers: 2, consistency: Some("bsp".to_owned()), ..subject.request() };
        let encoded = Request { encoded: true, ..request.clone() };
        assert_eq!(bits(&train(app, &request)), bits(&train(app, &encoded)));
    });
}

#[test]
fn one_worker_reaches_the_objective_of_the_serial_reference() {
    each(|app, subject| {
        let request = subject.request();
        let (objective, serial) = (train(app, &request).objective, subject.serial(&request));
        assert!(
            (objective - serial).abs() <= subject.tolerance * serial.abs(),
            "{objective} against {serial}"
        );
    });
}

#[test]
fn four_workers_under_every_consistency_reach_the_serial_objective() {
    each(|app, subject| {
        let serial = subject.serial(&subject.request());
        for consistency in ["bsp", "ssp:2", "essp:2", "async"] {
            let request =
                Request { workers: 4, consistency: Some(consistency.to_owned()), ..subject.request() };
            let objective = train(app, &request).objective;
            let off = (objective - serial) / serial.abs();
            assert!(off.abs() <= subject.tolerance, "{consistency}: {objective} against {serial}");
        }
    });
}

#[test]
fn every_schedule_of_the_app_reaches_the_serial_objective() {
    each(|app, subject| {
        let serial = subject.serial(&subject.request());
        for schedule in subject.schedules {
            let request = Request { workers: 2, schedule: Some((*schedule).to_owned()), ..subject.request() };
            let objective = train(app, &request).objective;
            let off = (objective - serial) / serial.abs();
            assert!(off.abs() <= subject.tolerance, "{schedule}: {objective} against {serial}");
        }
    });
}

#[test]
fn a_schedule_that_the_app_does_not_have_is_refused_by_name() {
    each(|app, subject| {
        let request = Request { schedule: Some("sometimes".to_owned()), ..subject.request() };
        let error = app.train(&request, &Watch::nobody()).expect_err("there is no such schedule").to_string();
        assert!(error.starts_with("--schedule is sometimes, must be "), "{error}");
    });
}

#[test]
fn a_consistency_that_is_none_is_refused_by_name() {
    each(|app, subject| {
        let request = Request { consistency: Some("ssp:-1".to_owned()), ..subject.request() };
        let error =
            app.train(&request, &Watch::nobody()).expect_err("a staleness is not negative").to_string();
        assert!(error.starts_with("--consistency is ssp:-1, must be "), "{error}");
    });
}

#[test]
fn every_option_refuses_nonsense_by_name() {
    each(|app, subject| {
        for option in app.options() {
            let request = subject.request().with(option.name, "nonsense");
            let error = app.train(&request, &Watch::nobody()).err();
            let error = error.unwrap_or_else(|| panic!("--{} took nonsense", option.name)).to_string();
            let names_it = error.starts_with(&format!("--{} is nonsense, must be ", option.name));
            // A file that is not there is named, or the option where the data has no use for it.
            let of_file = error.starts_with("nonsense: ") || error.contains(&format!("--{}", option.name));
            assert!(names_it || option.value.contains("FILE") && of_file, "--{}: {error}", option.name);
        }
    });
}

#[test]
fn an_unknown_option_is_refused_with_the_nearest_known_one() {
    each(|app, subject| {
        let known = app.options()[0].name;
        let request = subject.request().with(&format!("{known}x"), 1);
        match app.train(&request, &Watch::nobody()) {
            Err(Error::UnknownOption { option, nearest, .. }) => {
                assert_eq!((option, nearest), (format!("--{known}x"), Some(format!("--{known}"))));
            }
            Err(other) => panic!("--{known}x is refused with another sentence: {other}"),
            Ok(_) => panic!("--{known}x was accepted: begin with run::only_known"),
        }
    });
}

#[test]
fn more_workers_than_parts_and_empty_parts_are_fine() {
    each(|app, subject| {
        for parts in [1, 2, subject.many] {
            let request = Request { workers: 5, ..subject.request() }.with("parts", parts);
            let objective = train(app, &request).objective;
            let serial = subject.serial(&request);
            assert!(
                (objective - serial).abs() <= subject.tolerance * serial.abs(),
                "{parts} parts: {objective}"
            );
        }
    });
}

#[test]
fn a_part_of_one_sample_is_fine() {
    each(|app, subject| {
        let trained = train(app, &Request { data: subject.one_sample(), workers: 2, ..subject.request() });
        assert!(trained.objective.is_finite());
    });
}

#[test]
fn a_stop_ends_the_run_at_a_clock_with_a_model() {
    each(|app, subject| {
        let stop = StopSwitch::default();
        let at_first = stop.clone();
        let tell = move |news: News| {
            if matches!(news, News::Progress(_)) {
                at_first.throw();
            }
        };
        let watch = Watch { tell: Box::new(tell), stop };
        let request = Request { workers: 2, ..subject.long() };
        let trained = app.train(&request, &watch).expect("a stop is no failure");
        assert!(trained.stopped, "{} clocks", trained.clocks);
        assert!(trained.objective.is_finite() && !trained.arrays.is_empty());
    });
}

#[test]
fn a_written_model_scores_as_it_did_in_training() {
    each(|app, subject| {
        let trained = train(app, &Request { test: Some(subject.test()), ..subject.request() });
        let directory = tempfile::tempdir().expect("a temporary directory");
        write(&trained, &directory.path().join("model"));
        let scores = app.evaluate(directory.path(), &subject.test()).unwrap_or_else(|e| panic!("{e}"));
        let (name, in_training) = subject.test_metric;
        let (score, expected) = (scores[name], trained.metrics[in_training]);
        assert!((score - expected).abs() <= 1e-5 * expected.abs(), "{name}: {score} against {expected}");
    });
}

#[test]
fn a_written_model_predicts_a_row_of_finite_numbers_for_each_of_the_data() {
    each(|app, subject| {
        let trained = train(app, &subject.request());
        let directory = tempfile::tempdir().expect("a temporary directory");
        write(&trained, &directory.path().join("model"));
        let said = app.predict(directory.path(), &subject.test(), &Question::default(), &|_| {});
        let Predictions { columns, n_rows, rows } = said.unwrap_or_else(|e| panic!("{e}"));
        assert!(n_rows > 1 && columns.iter().any(|column| column.kind != Kind::Name));
        let whole = |row: &Vec<Cell>| {
            let number = |cell: &Cell| !matches!(cell, Cell::Number(number) if !number.is_finite());
            row.len() == columns.len() && row.iter().all(number)
        };
        assert_eq!(rows.filter(whole).count(), n_rows);
    });
}

#[test]
fn a_directory_without_a_model_is_refused_by_name() {
    each(|app, subject| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (path, question) = (directory.path(), Question::default());
        let scored = app.evaluate(path, &subject.test()).err();
        let predicted = app.predict(path, &subject.test(), &question, &|_| {}).err();
        for error in [scored, predicted] {
            let error = error.expect("there is no model").to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    });
}

fn write(trained: &Trained, folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder for the model");
    for (name, array) in &trained.arrays {
        npy::write(&folder.join(format!("{name}.npy")), array).expect("the array is written");
    }
    for (name, lines) in &trained.texts {
        slackline_apps::data::text::write_lines(&folder.join(name), lines).expect("the text is written");
    }
}
