use std::collections::BTreeSet;

use rand::SeedableRng;

use super::*;

const WORDS: usize = 40;

fn priors(n_topics: usize) -> Priors {
    let alpha = (0..n_topics).map(|k| 0.05 + 0.1 * (k % 3) as f64).collect();
    Priors { alpha, beta: 0.02, n_words: WORDS }
}

/// Tokens of words in documents, with random topics, and all counts of them.
struct State<P> {
    n_topics: usize,
    /// Documents of the tokens of each word.
    docs: Vec<Vec<u32>>,
    topics: Vec<Vec<i32>>,
    counts: Vec<Vec<i32>>,
    totals: Vec<i32>,
    lists: Lists<P>,
}

impl<P: Packing> State<P> {
    fn random(n_topics: usize, n_docs: usize, seed: u64) -> Self {
        use rand::RngExt;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lengths = vec![0; n_docs];
        let mut docs: Vec<Vec<u32>> = vec![Vec::new(); WORDS];
        for word in &mut docs {
            for doc in 0..n_docs as u32 {
                for _ in 0..random.random_range(0..4) {
                    word.push(doc);
                    lengths[doc as usize] += 1;
                }
            }
        }
        let mut lists = Lists::new(&lengths, n_topics);
        let mut totals = vec![0; n_topics];
        let (mut topics, mut counts) = (Vec::new(), Vec::new());
        for docs in &docs {
            let mut of_word = vec![<i32 as Topic>::NONE; docs.len()];
            let mut row = vec![0; n_topics];
            let mut tokens = Occurrences { docs, topics: &mut of_word };
            assign(&mut tokens, &mut lists, &mut random);
            for topic in &of_word {
                row[*topic as usize] += 1;
                totals[*topic as usize] += 1;
            }
            topics.push(of_word);
            counts.push(row);
        }
        Self { n_topics, docs, topics, counts, totals, lists }
    }

    /// Samples all words, those of odd number as lists.
    fn sweep(&mut self, sampler: &mut Sampler, random: &mut Xoshiro256PlusPlus) {
        sampler.begin(&self.totals);
        for word in 0..WORDS {
            let mut tokens = Occurrences { docs: &self.docs[word], topics: &mut self.topics[word] };
            if word % 2 == 0 {
                sampler.dense(&mut self.counts[word], &mut tokens, &mut self.lists, random);
            } else {
                let row = self.counts[word].iter().enumerate().filter(|(_, n)| **n > 0);
                let mut row = row.map(|(k, n)| (k as u32, *n)).collect();
                sampler.sparse(&mut row, &mut tokens, &mut self.lists, random);
                assert!(row.is_sorted_by(|a, b| a.0 < b.0), "topics ascend, each once");
                self.counts[word].fill(0);
                row.iter().for_each(|(k, n)| self.counts[word][*k as usize] = *n);
            }
        }
        self.totals.copy_from_slice(sampler.totals());
    }

    /// All counts are those of the tokens.
    fn check(&self) {
        let mut totals = vec![0; self.n_topics];
        let mut of_docs = vec![vec![0u32; self.n_topics]; self.lists.n_docs()];
        for ((docs, topics), counts) in self.docs.iter().zip(&self.topics).zip(&self.counts) {
            let mut row = vec![0; self.n_topics];
            for (doc, topic) in docs.iter().zip(topics) {
                row[*topic as usize] += 1;
                totals[*topic as usize] += 1;
                of_docs[*doc as usize][*topic as usize] += 1;
            }
            assert_eq!(&row, counts);
        }
        assert_eq!(totals, self.totals);
        for (doc, expected) in of_docs.iter().enumerate() {
            let mut row = vec![0; self.n_topics];
            for (topic, count) in self.lists.of(doc) {
                assert!(count > 0 && row[topic as usize] == 0, "each topic once");
                row[topic as usize] = count;
            }
            assert_eq!(&row, expected);
        }
    }
}

/// With every kind of instructions that this processor has.
fn samplers(n_topics: usize) -> Vec<Sampler> {
    let sampler = || Sampler::new(&priors(n_topics));
    let mut samplers = vec![sampler(), sampler().portable()];
    #[cfg(target_arch = "x86_64")]
    samplers.push(sampler().halved());
    samplers
}

#[cfg(target_arch = "x86_64")]
#[test]
fn registers_of_256_and_of_512_bits_draw_the_same_topics() {
    let sampler = || Sampler::new(&priors(300));
    if sampler().lanes != Instructions::Avx512 {
        return;
    }
    let drawn = |mut sampler: Sampler| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut state = State::<Narrow>::random(300, 12, 3);
        (0..5).for_each(|_| state.sweep(&mut sampler, &mut random));
        state.topics
    };
    assert_eq!(drawn(sampler()), drawn(sampler().halved()));
}

#[test]
fn counts_stay_those_of_the_tokens() {
    for n_topics in [1, 2, 15, 16, 17, 100, 300] {
        for mut sampler in samplers(n_topics) {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut narrow = State::<Narrow>::random(n_topics, 12, 3);
            let mut wide = State::<Wide>::random(n_topics, 12, 4);
            for _ in 0..5 {
                narrow.sweep(&mut sampler, &mut random);
                narrow.check();
                wide.sweep(&mut sampler, &mut random);
                wide.check();
            }
        }
    }
}

/// `(n_dk + α_k) (n_wk + β) / (n_k + V β)` of one token, in double precision from plain counts.
fn conditional<P: Packing>(state: &State<P>, word: usize, token: usize) -> Vec<f64> {
    let priors = priors(state.n_topics);
    let (doc, old) = (state.docs[word][token], state.topics[word][token] as usize);
    let mut of_doc = vec![0.0; state.n_topics];
    state.lists.of(doc as usize).for_each(|(k, n)| of_doc[k as usize] = f64::from(n));
    let weight = |k: usize| {
        let less = f64::from(u8::from(k == old));
        let of_word = f64::from(state.counts[word][k]) - less + priors.beta;
        let total = f64::from(state.totals[k]) - less + priors.beta * WORDS as f64;
        (of_doc[k] - less + priors.alpha[k]) * of_word / total
    };
    let weights: Vec<f64> = (0..state.n_topics).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Draws of one token from the same state again and again are distributed as the conditional says (chi-square).
#[test]
fn a_topic_is_drawn_from_its_conditional_distribution() {
    const DRAWS: usize = 40_000;
    for (n_topics, as_list) in [(5, false), (40, false), (40, true), (300, true)] {
        for mut sampler in samplers(n_topics) {
            let start = State::<Narrow>::random(n_topics, 8, 9);
            let (word, token) = (7, start.docs[7].len() / 2);
            let expected = conditional(&start, word, token);
            let mut drawn = vec![0usize; n_topics];
            let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
            for _ in 0..DRAWS {
                let mut topic = [start.topics[word][token]];
                let mut lists = start.lists.clone();
                let mut tokens = Occurrences { docs: &start.docs[word][token..=token], topics: &mut topic };
                sampler.begin(&start.totals);
                if as_list {
                    let row = start.counts[word].iter().enumerate().filter(|(_, n)| **n > 0);
                    let mut row = row.map(|(k, n)| (k as u32, *n)).collect();
                    sampler.sparse(&mut row, &mut tokens, &mut lists, &mut random);
                } else {
                    sampler.dense(&mut start.counts[word].clone(), &mut tokens, &mut lists, &mut random);
                }
                drawn[topic[0] as usize] += 1;
            }
            // Topics of less than ten expected draws are taken together.
            let (mut chi_square, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
            for (expected, drawn) in expected.iter().zip(&drawn) {
                let (expected, drawn) = (expected * DRAWS as f64, *drawn as f64);
                if expected < 10.0 {
                    rest = (rest.0 + expected, rest.1 + drawn);
                } else {
                    chi_square += (drawn - expected).powi(2) / expected;
                    cells += 1.0;
                }
            }
            if rest.0 > 10.0 {
                chi_square += (rest.1 - rest.0).powi(2) / rest.0;
                cells += 1.0;
            }
            // Mean and deviation of chi-square: the seed is fixed, so that this either holds or does not.
            let bound = cells + 4.5 * f64::sqrt(2.0 * cells);
            assert!(chi_square < bound, "{n_topics} topics: {chi_square} for {cells} cells");
        }
    }
}

#[test]
fn totals_that_are_behind_are_sampled_with_and_kept_account_of() {
    let mut sampler = Sampler::new(&priors(20));
    let mut state = State::<Narrow>::random(20, 12, 3);
    let truth = state.totals.clone();
    let behind: Vec<i32> =
        truth.iter().enumerate().map(|(k, n)| if k % 2 == 0 { 0 } else { n - 3 }).collect();
    state.totals.copy_from_slice(&behind);
    state.sweep(&mut sampler, &mut Xoshiro256PlusPlus::seed_from_u64(5));
    let moved: Vec<i32> =
        sampler.totals().iter().zip(&behind).map(|(after, before)| after - before).collect();
    state.totals = truth.iter().zip(&moved).map(|(before, more)| before + more).collect();
    state.check();
}

#[test]
fn a_change_is_told_from_others() {
    let (mut changes, mut states) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..50 {
        let mut state = State::<Narrow>::random(10, 6, 1);
        let mut sampler = Sampler::new(&priors(10));
        sampler.begin(&state.totals);
        let mut tokens = Occurrences { docs: &state.docs[0], topics: &mut state.topics[0] };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        changes.insert(sampler.dense(&mut state.counts[0], &mut tokens, &mut state.lists, &mut random));
        states.insert(state.topics[0].clone());
    }
    assert!(states.len() > 20);
    assert_eq!(changes.len(), states.len());
}

#[test]
#[should_panic(expected = "has the topic 10")]
fn a_topic_that_is_not_there_is_refused() {
    let mut state = State::<Narrow>::random(10, 6, 1);
    state.topics[0][0] = 10;
    state.sweep(&mut Sampler::new(&priors(10)), &mut Xoshiro256PlusPlus::seed_from_u64(1));
}

#[test]
#[should_panic(expected = "its list lacks it")]
fn tokens_and_lists_of_different_states_are_refused() {
    let mut state = State::<Narrow>::random(200, 6, 1);
    let doc = state.docs[0][0] as usize;
    let there: Vec<u32> = state.lists.of(doc).map(|entry| entry.0).collect();
    state.topics[0][0] = (0..200).find(|k| !there.contains(k)).unwrap().cast_signed();
    state.sweep(&mut Sampler::new(&priors(200)), &mut Xoshiro256PlusPlus::seed_from_u64(1));
}

#[test]
#[should_panic(expected = "do not fit")]
fn lists_that_are_too_narrow_are_refused() {
    let _ = Lists::<Narrow>::new(&[3], 70_000);
}
