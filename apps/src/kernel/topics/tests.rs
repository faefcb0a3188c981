use super::super::special::digamma;
use super::*;

/// A padded row.
fn row(values: &[f32], padding: f32) -> Vec<f32> {
    let mut row = values.to_vec();
    row.resize(padded(values.len()), padding);
    row
}

/// `exp(ψ(x))` of all, up to a factor.
fn weights(x: &[f32]) -> Vec<f32> {
    let (x, n) = (row(x, 1.0), x.len());
    let mut shift = vec![0.0; n];
    shift.resize(x.len(), FAR_BELOW);
    let mut out = vec![0.0; x.len()];
    exp_digamma(&x, &shift, &mut out);
    out.truncate(n);
    out
}

#[test]
fn exponentials_of_digammas_are_those_of_double_precision_up_to_one_factor() {
    let x: Vec<f32> = (0..400).map(|k| 0.05 * (k as f32 * 0.05).exp()).collect(); // 0.05 to 2e7
    let found = weights(&x);
    let exact: Vec<f64> = x.iter().map(|&x| digamma(f64::from(x)).exp()).collect();
    let factor = f64::from(found[399]) / exact[399];
    for ((x, found), exact) in x.iter().zip(&found).zip(&exact) {
        let error = (f64::from(*found) / (exact * factor) - 1.0).abs();
        assert!(error < 2e-5, "{x}: {error}");
    }
}

#[test]
fn a_shift_is_taken_off_the_exponent() {
    let (x, mut out) = (vec![3.0; 16], vec![0.0; 16]);
    let shift: Vec<f32> = (0..16).map(|k| k as f32 * 0.5).collect();
    exp_digamma(&x, &shift, &mut out);
    for k in 1..16 {
        let ratio = f64::from(out[k] / out[0]);
        assert!((ratio / (-0.5 * k as f64).exp() - 1.0).abs() < 1e-6, "{k}");
    }
}

#[test]
fn no_number_however_odd_makes_one_that_is_none() {
    let odd = [0.0, -1.0, 1e-38, 1e-30, 1e-10, 1e18, 5e37, 1.0];
    assert!(weights(&odd).iter().all(|weight| weight.is_finite() && *weight > 0.0), "{:?}", weights(&odd));
}

/// The rounds of [`mixture`] in double precision with φ written out.
fn plain(rows: &[Vec<f32>], counts: &[f32], alpha: f64, rounds: u32) -> Vec<f64> {
    let n_topics = rows[0].len();
    let tokens: f32 = counts.iter().sum();
    let mut gamma = vec![alpha + f64::from(tokens) / n_topics as f64; n_topics];
    for _ in 0..rounds {
        let theta: Vec<f64> = gamma.iter().map(|gamma| digamma(*gamma).exp()).collect();
        gamma.fill(alpha);
        for (row, count) in rows.iter().zip(counts) {
            let phi: Vec<f64> = row.iter().zip(&theta).map(|(row, theta)| f64::from(*row) * theta).collect();
            let total: f64 = phi.iter().sum();
            gamma.iter_mut().zip(&phi).for_each(|(gamma, phi)| *gamma += f64::from(*count) * phi / total);
        }
    }
    gamma
}

#[test]
fn the_mixture_of_a_document_is_that_of_a_plain_loop_in_double_precision() {
    for (n_topics, n_words) in [(1, 3), (5, 8), (16, 1), (37, 11), (130, 40)] {
        let number = |word: usize, topic: usize| 0.01 + ((word * 31 + topic * 17) % 23) as f32 * 0.04;
        let words: Vec<Vec<f32>> =
            (0..n_words).map(|w| (0..n_topics).map(|k| number(w, k)).collect()).collect();
        let mut counts: Vec<f32> = (0..n_words).map(|w| (w % 4 + 1) as f32).collect();
        let expected = plain(&words, &counts, 0.1, 12);
        let mut rows: Vec<f32> = words.iter().flat_map(|word| row(word, 0.0)).collect();
        let even = counts.iter().sum::<f32>() / n_topics as f32;
        counts.resize(counts.len().next_multiple_of(4), 0.0);
        rows.resize(counts.len() * padded(n_topics), 1.0);
        let mut gamma = row(&vec![0.1 + even; n_topics], 1.0);
        let (alpha, shift) = (row(&vec![0.1; n_topics], 1.0), row(&vec![0.0; n_topics], FAR_BELOW));
        let (mut theta, mut sums) = (gamma.clone(), gamma.clone());
        let mut document =
            Mixture { alpha: &alpha, shift: &shift, gamma: &mut gamma, theta: &mut theta, sums: &mut sums };
        let rounds = mixture(&rows, &counts, &mut document, Limits { change: 0.0, rounds: 12 });
        assert_eq!(rounds, 12);
        for (found, expected) in gamma.iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-3 * expected, "{n_topics}: {found} {expected}");
        }
        // What a word gives to the topics is its count.
        let mut of_words = vec![0.0; counts.len()];
        shares(&rows, &counts, &theta, &mut of_words);
        let mut statistics = vec![0.0; n_words * (n_topics + 1)];
        let entries: Vec<u32> = (0..n_words as u32).rev().collect();
        let layout = Layout { stride: n_topics + 1, place: 1 };
        collect(&entries, &of_words, &theta[..n_topics], &mut statistics, layout);
        for (w, word) in words.iter().enumerate() {
            let place = (n_words - 1 - w) * (n_topics + 1) + 1;
            let given: f32 = word.iter().zip(&statistics[place..]).map(|(row, share)| row * share).sum();
            assert!((given - counts[w]).abs() < 1e-4 * counts[w], "{given} {}", counts[w]);
        }
    }
}

#[test]
fn rounds_end_when_the_change_is_small() {
    let rows: Vec<f32> = (0..4).flat_map(|word| row(&[0.9 - 0.2 * word as f32, 0.1], 0.0)).collect();
    let (alpha, shift) = (row(&[0.5, 0.5], 1.0), row(&[0.0, 0.0], FAR_BELOW));
    let rounds = |change: f32| {
        let mut gamma = row(&[5.5, 5.5], 1.0);
        let (mut theta, mut sums) = (gamma.clone(), gamma.clone());
        let mut document =
            Mixture { alpha: &alpha, shift: &shift, gamma: &mut gamma, theta: &mut theta, sums: &mut sums };
        mixture(&rows, &[3.0, 3.0, 2.0, 2.0], &mut document, Limits { change, rounds: 500 })
    };
    let (coarse, fine) = (rounds(0.1), rounds(1e-4));
    assert!(1 < coarse && coarse < fine && fine < 500, "{coarse} {fine}");
}
