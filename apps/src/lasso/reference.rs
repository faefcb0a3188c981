//! The Lasso of the catalog on shipped data, against scikit-learn and against itself: alone, as a path, in parallel.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::Lasso;
use crate::catalog::{App, Array, News, Request, Trained, Watch};

/// scikit-learn 1.9.1, `Lasso(alpha, tol=1e-14, max_iter=10**7, fit_intercept).fit(X, y)` on `diabetes.svm`; the
/// objective is `r @ r / (2 * n) + alpha * abs(coef_).sum()`: alpha, intercept fitted, objective, non-zeros, coefficients.
#[rustfmt::skip]
const DIABETES: [(f64, bool, f64, f64, [f64; 10]); 6] = [
    (10.0, true, 2_125.720_350_374_742_3, 4.0,
        [0.0, 0.0, 22.599_070_2, 6.801_802_4, 0.0, 0.0, -3.089_040_3, 0.0, 19.585_925_8, 0.0]),
    (2.0, true, 1_620.599_554_032_655_3, 7.0,
        [0.0, -7.568_175_9, 24.622_854, 13.177_832_1, -2.716_884_8, 0.0, -10.053_513_7, 0.0, 23.147_991_2, 1.690_388_6]),
    (0.1, true, 1_444.301_715_207_037, 9.0,
        [-0.277_567, -11.160_681_6, 24.853_355_4, 15.242_065, -26.477_276, 13.756_457_7, 0.0, 7.043_046_2, 31.589_000_9, 3.158_840_3]),
    (10.0, false, 13_698.019_229_048_909, 4.0,
        [0.0, 0.0, 22.598_670_5, 6.802_177_3, 0.0, 0.0, -3.090_225_2, 0.0, 19.585_345_4, 0.0]),
    (2.0, false, 13_192.895_295_236_778, 7.0,
        [0.0, -7.568_016, 24.622_471_3, 13.178_184_2, -2.716_648_5, 0.0, -10.054_718_7, 0.0, 23.147_310_8, 1.690_275_6]),
    (0.1, false, 13_016.605_494_301_48, 9.0,
        [-0.277_862_3, -11.160_106, 24.853_251_1, 15.242_335_3, -26.477_999_3, 13.757_177_8, 0.0, 7.042_629_3, 31.589_189, 3.158_857]),
];

fn diabetes() -> Request {
    Request::on(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/diabetes.svm"))
}

fn train(request: &Request) -> Trained {
    Lasso.train(request, &Watch::nobody()).unwrap()
}

fn floats(trained: &Trained, name: &str) -> Vec<f64> {
    match trained.arrays.iter().find(|(n, _)| n == name) {
        Some((_, Array::F64(values))) => values.iter().copied().collect(),
        _ => panic!("no array of floats is called {name}"),
    }
}

fn integers(trained: &Trained, name: &str) -> Vec<i64> {
    match trained.arrays.iter().find(|(n, _)| n == name) {
        Some((_, Array::I64(values))) => values.iter().copied().collect(),
        _ => panic!("no array of integers is called {name}"),
    }
}

#[test]
fn diabetes_is_fitted_as_scikit_learn_fits_it() {
    for (alpha, intercept, objective, nonzero, coefficients) in DIABETES {
        for schedule in ["priority", "dependency"] {
            let mut request =
                diabetes().with("lambda", alpha).with("intercept", intercept).with("tol", 1e-12);
            (request.workers, request.schedule) = (2, Some(schedule.to_owned()));
            let fit = train(&request);
            let case = format!("{schedule}, alpha {alpha}, intercept {intercept}");
            assert!((fit.objective / objective - 1.0).abs() < 1e-9, "{case}: {}", fit.objective);
            assert_eq!((fit.metrics["nnz"], fit.metrics["converged"]), (nonzero, 1.0), "{case}");
            for (ours, theirs) in floats(&fit, "coefficients").iter().zip(coefficients) {
                assert!((ours - theirs).abs() < 2e-4, "{case}: {ours} {theirs}");
            }
        }
    }
}

/// As above with `alpha=2` on `(X - X.mean(0)) / X.std(0)`.
#[test]
fn standardizing_is_what_scikit_learn_finds_on_scaled_columns() {
    let fit = train(&diabetes().with("lambda", 2.0).with("standardize", true).with("tol", 1e-10));
    assert!((fit.objective / 1_620.599_612_565_809_8 - 1.0).abs() < 1e-9, "{}", fit.objective);
}

/// A path to λ = 0.5, by value or by share, and every penalty of it alone.
#[test]
fn a_path_is_what_single_fits_are_and_its_arrays_are_well_formed() {
    for (workers, option, value) in
        [(1, "lambda", 0.5), (2, "lambda", 0.5), (1, "lambda-ratio", 0.01), (2, "lambda-ratio", 0.01)]
    {
        let request = Request { workers, ..diabetes() }.with(option, value).with("path", 6);
        let path = train(&request);
        let again = train(&request);
        let [lambdas, objectives, gaps, data, intercepts] =
            ["lambda", "objective", "gap", "data", "intercept"].map(|n| floats(&path, &format!("path_{n}")));
        assert_eq!([lambdas.len(), objectives.len(), gaps.len(), intercepts.len()], [6; 4]);
        assert_eq!(objectives, floats(&again, "path_objective"), "the same bits for the same workers");
        assert_eq!(data, floats(&again, "path_data"), "the same bits for the same workers");
        let (indices, starts) = (integers(&path, "path_indices"), integers(&path, "path_indptr"));
        assert_eq!((starts[0], starts.len(), starts[6] as usize), (0, 7, data.len()));
        assert_eq!(indices.len(), data.len());
        assert_eq!(path.metrics["converged"], 1.0);
        for at in 0..6 {
            let row = &indices[starts[at] as usize..starts[at + 1] as usize];
            assert!(row.windows(2).all(|pair| pair[0] < pair[1]) && row.iter().all(|j| (0..10).contains(j)));
            assert!(gaps[at] <= 1e-6 * objectives[at], "gap {} of {}", gaps[at], objectives[at]);
            let alone = train(&diabetes().with("lambda", lambdas[at]));
            let off = (objectives[at] - alone.objective).abs();
            assert!(off <= 1e-6 * alone.objective, "{off} at {}", lambdas[at]);
        }
        let last = &data[starts[5] as usize..];
        let dense: Vec<f64> = floats(&path, "coefficients").into_iter().filter(|b| *b != 0.0).collect();
        assert_eq!(last, dense, "the model is the end of the path");
    }
}

#[test]
fn a_run_out_of_sweeps_says_that_it_did_not_converge() {
    let facts = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&facts);
    let tell = move |news| {
        if let News::Fact(fact) = news {
            told.lock().unwrap().push(fact);
        }
    };
    let watch = Watch { tell: Box::new(tell), ..Watch::nobody() };
    let request = diabetes().with("lambda", 0.1).with("max-sweeps", 1);
    let fit = Lasso.train(&request, &watch).unwrap();
    assert_eq!(fit.metrics["converged"], 0.0);
    let last = facts.lock().unwrap().last().cloned().unwrap();
    assert!(last.starts_with("not converged: the gap is "), "{last}");
    assert!(last.contains("--max-sweeps"), "{last}");
}
