//! The words that tell most about topics, over the whole model.
//!
//! Saliency of a word (Chuang, Manning and Heer, *Termite*, 2012): `p(w) Σ_t p(t|w) log (p(t|w) / p(t))`.

use rayon::prelude::*;

use super::TopicModel;

/// Words a task takes at once: their sums stay in the cache.
const STRETCH: usize = 4096;

/// The `n` most salient words, the most salient first.
pub(super) fn most_salient(model: &TopicModel, n: usize) -> Vec<usize> {
    let total = model.n_tokens().max(1) as f64;
    let starts: Vec<usize> = (0..model.n_words()).step_by(STRETCH).collect();
    let mut salient: Vec<(f64, usize)> =
        starts.into_par_iter().flat_map_iter(|start| stretch(model, start, total)).collect();
    salient.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    salient.into_iter().take(n).map(|(_, word)| word).collect()
}

/// The saliency of the words from `start` on that occur. As p(t|w) / p(t) = p(w|t) / S with S = Σ_t p(t) p(w|t), the sum over
/// topics is (Σ_t p(t) p(w|t) log p(w|t)) / S − log S.
fn stretch(model: &TopicModel, start: usize, total: f64) -> Vec<(f64, usize)> {
    let end = (start + STRETCH).min(model.n_words());
    let mut sums = vec![(0.0, 0.0); end - start];
    for topic in 0..model.n_topics() {
        let share = model.share(topic);
        for (sum, weight) in sums.iter_mut().zip(model.topic(topic).iter().skip(start)) {
            let weight = f64::from(*weight);
            if weight > 0.0 {
                sum.0 += share * weight;
                sum.1 += share * weight * weight.ln();
            }
        }
    }
    let tokens = &model.word_tokens[start..end];
    let salient = |((whole, logs), &count): ((f64, f64), &u64)| {
        if whole > 0.0 { count as f64 / total * (logs / whole - whole.ln()) } else { 0.0 }
    };
    let all = sums.into_iter().zip(tokens).map(salient).zip(start..end);
    all.zip(tokens).filter(|(_, count)| **count > 0).map(|(word, _)| word).collect()
}
