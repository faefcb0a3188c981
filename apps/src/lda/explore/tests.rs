//! What numpy says of a small model, and what must hold for any.

use std::fs;
use std::path::Path;

use ndarray::{Array1, Array2, arr2};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::candidates::Candidates;
use super::saliency::most_salient;
use super::*;
use crate::catalog::Array;
use crate::data::npy;

/// Three topics over four words that occur and one that does not.
fn small() -> TopicModel {
    TopicModel {
        topic_word: arr2(&[[0.5, 0.3, 0.1, 0.05, 0.05], [0.1, 0.1, 0.6, 0.1, 0.1], [0.2; 5]]),
        alpha: vec![0.1, 0.2, 0.3],
        words: ["a", "b", "<c>", "d e", "never"].map(str::to_owned).into(),
        topic_tokens: vec![30, 60, 10],
        word_tokens: vec![40, 30, 20, 10, 0],
    }
}

/// Topics that share no more than a floor, as a sampler leaves them.
fn random(topics: usize, words: usize) -> TopicModel {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut topic_word =
        Array2::from_shape_fn((topics, words), |_| 1e-4 + f32::powi(random.random::<f32>(), 12));
    topic_word.outer_iter_mut().for_each(|mut row| row /= row.sum());
    let counts = |n: usize, random: &mut Xoshiro256PlusPlus| -> Vec<u64> {
        (0..n).map(|_| u64::from(random.random::<u8>() / 4)).collect()
    };
    TopicModel {
        topic_word,
        alpha: vec![0.1; topics],
        words: (0..words).map(|word| word.to_string()).collect(),
        topic_tokens: counts(topics, &mut random),
        word_tokens: counts(words, &mut random),
    }
}

fn write(model: &TopicModel, directory: &Path) {
    let folder = directory.join("model");
    fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, array: &Array| npy::write(&folder.join(name), array).unwrap();
    let whole =
        |counts: &[u64]| Array::I64(counts.iter().map(|&n| n as i64).collect::<Array1<_>>().into_dyn());
    put("topic_word.npy", &Array::F32(model.topic_word.clone().into_dyn()));
    put("alpha.npy", &Array::F64(Array1::from(model.alpha.clone()).into_dyn()));
    put("topic_counts.npy", &whole(&model.topic_tokens));
    put("word_counts.npy", &whole(&model.word_tokens));
    fs::write(folder.join("vocab.txt"), model.words.join("\n") + "\n").unwrap();
}

#[test]
fn relevance_is_what_numpy_says() {
    let model = small();
    // numpy: lam * np.log(phi[0]) + (1 - lam) * np.log(phi[0] / (counts / counts.sum()))
    let cases =
        [(0.8, [-0.50988903, -0.96317824, -1.98069751]), (0.6, [-0.32663089, -0.7223837, -1.65880993])];
    for (lambda, expected) in cases {
        let top = Ranking::new(&model, lambda).top(0, 3);
        assert_eq!(top.iter().map(|ranked| ranked.word).collect::<Vec<_>>(), [0, 1, 2], "{lambda}");
        for (ranked, expected) in top.iter().zip(expected) {
            assert!((ranked.relevance - expected).abs() < 1e-6, "{lambda}: {ranked:?}");
        }
    }
    let rare = Ranking::new(&model, 0.0).top(2, 9);
    assert_eq!(
        rare.iter().map(|ranked| ranked.word).collect::<Vec<_>>(),
        [3, 2, 1, 0],
        "rare words come first"
    );
}

#[test]
fn divergences_are_what_numpy_says() {
    let found = divergences(&small().topic_word, &[0, 2, 1]);
    // numpy: .5 * np.sum(p * np.log(p / m)) + .5 * np.sum(q * np.log(q / m))
    let expected = [(0, 1, 0.094922176674), (0, 2, 0.206493952331), (1, 2, 0.086304621736)];
    for (row, column, expected) in expected {
        assert!((found.matrix[[row, column]] - expected).abs() < 1e-6);
        assert_eq!(found.matrix[[row, column]], found.matrix[[column, row]]);
    }
    assert!(found.covered > 0.999 && found.matrix.diag().iter().all(|x| *x == 0.0));
    let apart = divergences(&arr2(&[[1.0, 0.0], [0.0, 1.0]]), &[0, 1]).matrix[[0, 1]];
    assert!((apart - std::f64::consts::LN_2).abs() < 1e-12);
}

#[test]
fn the_most_salient_words_are_what_numpy_says() {
    // numpy: pw * np.sum(ptw * np.log(ptw / pt[:, None]), 0) = 0.1108 0.0398 0.0392 0.0088
    assert_eq!(most_salient(&small(), 9), [0, 1, 2, 3]);
}

#[test]
fn the_plane_is_what_numpy_says_even_where_distances_are_not_of_points() {
    let n = 12;
    let distance = |i: usize, j: usize| i.abs_diff(j) as f64 * (1.0 + 0.1 * ((i * 7 + j * 7) % 5) as f64);
    let points = plane(&Array2::from_shape_fn((n, n), |(i, j)| distance(i, j).powi(2)));
    // numpy: w, v = np.linalg.eigh(-.5 * J @ d**2 @ J); v[:, [-1, -2]] * np.sqrt(w[[-1, -2]]), w[-2:] = 35.3 209.9
    let expected = [(0, [-6.2202512, 3.0696847]), (5, [-0.6139036, 1.0037323]), (11, [7.137478, -0.2643288])];
    for (point, expected) in expected {
        for axis in 0..2 {
            // The second axis points wherever its outermost point is.
            assert!((points[point][axis] - expected[axis]).abs() < 1e-5, "{:?}", points[point]);
        }
    }
}

#[test]
fn points_of_a_plane_keep_their_distances() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let given: Vec<[f64; 2]> = (0..60).map(|_| [random.random::<f64>() * 3.0, random.random()]).collect();
    let squared = |points: &[[f64; 2]], i: usize, j: usize| {
        (points[i][0] - points[j][0]).powi(2) + (points[i][1] - points[j][1]).powi(2)
    };
    let points = plane(&Array2::from_shape_fn((60, 60), |(i, j)| squared(&given, i, j)));
    for (i, j) in (0..60).flat_map(|i| (0..i).map(move |j| (i, j))) {
        assert!((squared(&points, i, j) - squared(&given, i, j)).abs() < 1e-9);
    }
    assert_eq!(plane(&Array2::zeros((1, 1))), [[0.0; 2]]);
    assert_eq!(plane(&Array2::zeros((15, 15))), [[0.0; 2]; 15], "all in one place");
    let two = plane(&arr2(&[[0.0, 4.0], [4.0, 0.0]]));
    assert!((two[0][0].abs() - 1.0).abs() < 1e-12 && (two[0][0] + two[1][0]).abs() < 1e-12);
}

#[test]
fn the_slider_can_bring_up_every_word_that_is_first_at_some_lambda() {
    let model = random(3, 500);
    for topic in 0..3 {
        let candidates = Candidates::new(&model, 10, 20).of(topic);
        assert!(candidates.len() < 200, "few of 500: {}", candidates.len());
        for step in 0..=20 {
            for ranked in Ranking::new(&model, f64::from(step) / 20.0).top(topic, 10) {
                assert!(candidates.contains(&ranked.word), "{topic} {step}");
            }
        }
    }
}

#[test]
fn words_outside_the_heads_change_a_divergence_by_no_more_than_is_said() {
    let (model, all) = (random(4, 700), [0, 1, 2, 3]);
    let few = divergence::with_heads(&model.topic_word, &all, 60);
    let whole = divergences(&model.topic_word, &all);
    assert!(few.covered < 0.999 && whole.covered >= 0.999, "{} {}", few.covered, whole.covered);
    for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let (part, whole) = (few.matrix[[i, j]], whole.matrix[[i, j]]);
        assert!(part <= whole + 1e-6, "merging words brings topics nearer");
        assert!(whole - part <= (1.0 - few.covered) * std::f64::consts::LN_2, "{part} {whole}");
    }
}

#[test]
fn a_picture_has_the_most_frequent_topic_first_and_its_words_by_number() {
    let picture = Picture::of(&small(), 2);
    assert_eq!(picture.topics.iter().map(|circle| circle.topic).collect::<Vec<_>>(), [1, 0, 2]);
    let first = &picture.topics[0];
    assert_eq!((first.tokens, first.share, first.alpha), (60, 0.6, 0.2));
    assert_eq!((picture.words[first.words[0]].word.as_str(), first.weights[0]), ("<c>", 0.6));
    let homes = &picture.words.iter().find(|entry| entry.word == "a").unwrap().homes;
    assert_eq!(
        *homes,
        [(1, 0.652), (0, 0.261), (2, 0.087)],
        "numpy: p(t|w), topics in the order of the page"
    );
    let one = TopicModel {
        topic_word: arr2(&[[0.5, 0.5]]),
        alpha: vec![1.0],
        words: vec![String::new(), "x".into()],
        topic_tokens: vec![0],
        word_tokens: vec![0, 0],
    };
    assert_eq!(Picture::of(&one, 30).topics.len(), 1, "a model of nothing can be looked at");
}

#[test]
fn a_model_is_read_back_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let model = small();
    write(&model, directory.path());
    let read = TopicModel::read(directory.path()).unwrap();
    assert_eq!((&read.topic_word, &read.alpha, &read.words), (&model.topic_word, &model.alpha, &model.words));
    assert_eq!((read.topic_tokens, read.word_tokens), (model.topic_tokens, model.word_tokens));
    let single = Array::F32(ndarray::arr1(&[0.5, 0.25, 0.125]).into_dyn());
    npy::write(&directory.path().join("model/alpha.npy"), &single).unwrap();
    assert_eq!(TopicModel::read(directory.path()).unwrap().alpha, [0.5, 0.25, 0.125]);
}

#[test]
fn what_is_wrong_with_a_model_is_said_in_a_sentence() {
    let said = |spoil: &dyn Fn(&mut TopicModel, &Path)| {
        let directory = tempfile::tempdir().unwrap();
        let mut model = small();
        write(&model, directory.path());
        spoil(&mut model, &directory.path().join("model"));
        let error = TopicModel::read(directory.path()).unwrap_err().to_string();
        error.replace(&directory.path().display().to_string(), "run")
    };
    let rewrite = |change: &dyn Fn(&mut TopicModel)| {
        said(&|model, folder| {
            change(model);
            write(model, folder.parent().unwrap());
        })
    };
    assert_eq!(
        rewrite(&|model| model.words.truncate(4)),
        "run/model/vocab.txt: is about 4 words, expected the 5 of topic_word.npy; the files are of different models"
    );
    assert!(
        rewrite(&|model| model.topic_tokens.push(1))
            .starts_with("run/model/topic_counts.npy: is about 4 topics")
    );
    let wrong =
        "run/model/topic_word.npy: topic 1 is no distribution: its weights must be 0 or more and sum to 1";
    assert_eq!(rewrite(&|model| model.topic_word[[1, 2]] = f32::NAN), wrong);
    assert_eq!(rewrite(&|model| model.topic_word[[1, 2]] = 0.5), wrong);
    assert!(
        rewrite(&|model| model.alpha[1] = 0.0)
            .ends_with("alpha.npy: has a weight that is not more than 0, expected a prior")
    );
    assert!(
        said(&|_, folder| fs::remove_file(folder.join("alpha.npy")).unwrap())
            .starts_with("run/model/alpha.npy: ")
    );
    let torn = said(&|_, folder| {
        let bytes = fs::read(folder.join("topic_word.npy")).unwrap();
        fs::write(folder.join("topic_word.npy"), &bytes[..bytes.len() - 3]).unwrap();
    });
    assert_eq!(torn, "run/model/topic_word.npy: the array is cut short; copy or write the file again");
    let foreign = said(&|_, folder| {
        let flat = Array::F32(ndarray::arr1(&[0.5, 0.5]).into_dyn());
        npy::write(&folder.join("topic_word.npy"), &flat).unwrap();
    });
    assert!(foreign.contains("has not the two dimensions topics x words"), "{foreign}");
    let kind = said(&|_, folder| {
        let counts = Array::I64(ndarray::arr1(&[1, 2, 3]).into_dyn());
        npy::write(&folder.join("alpha.npy"), &counts).unwrap();
    });
    assert!(kind.contains("alpha.npy: the numbers are of type") && kind.contains("(<f8)"), "{kind}");
    let below = said(&|_, folder| {
        let counts = Array::I64(ndarray::arr1(&[1, -2, 3]).into_dyn());
        npy::write(&folder.join("topic_counts.npy"), &counts).unwrap();
    });
    assert!(below.ends_with("has a number below 0, expected counts of tokens"), "{below}");
}
