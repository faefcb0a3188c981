//! Topic models as an entry of the catalog.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use super::explore::TopicModel;
use super::params::{GIBBS, SHARED};
use super::variational::params::OPTIONS as INFERENCE;
use super::{gibbs, predict, variational};
use crate::Error;
use crate::catalog::{App, News, OptionSpec, Request, Trained, Watch};
use crate::data::corpus::{self, CorpusOptions, Known, Vocabulary, read_documents};
use crate::lda::evaluation::{Completion, DenseTopics, likelihood};
use crate::options::Options;
use crate::prediction::{Predictions, Question};
use crate::run::{only_known, refuse};

/// `slackline train lda`.
pub struct Lda;

/// Those of reading documents, of both methods, and of each.
static OPTIONS: LazyLock<Vec<OptionSpec>> = LazyLock::new(|| {
    // Both methods have parts; the sampler's say so.
    let of_inference = INFERENCE.iter().filter(|option| option.name != "parts").copied();
    SHARED.iter().chain(GIBBS).copied().chain(of_inference).chain(corpus::OPTIONS).collect()
});

impl App for Lda {
    fn name(&self) -> &'static str {
        "lda"
    }

    fn about(&self) -> &'static str {
        "topics of documents (latent Dirichlet allocation), by Gibbs sampling over rotating words or by variational inference"
    }

    fn options(&self) -> &'static [OptionSpec] {
        &OPTIONS
    }

    fn train(&self, request: &Request, watch: &Watch) -> Result<Trained, Error> {
        only_known(self.name(), request, &OPTIONS)?;
        match Options(&request.options).text("method").unwrap_or("gibbs") {
            "gibbs" => {
                none_of(INFERENCE, GIBBS, request, "gibbs")?;
                gibbs::app::train(request, watch)
            }
            "svi" => {
                none_of(GIBBS, INFERENCE, request, "svi")?;
                variational::app::train(request, watch)
            }
            other => Err(refuse("method", other, "gibbs or svi")),
        }
    }

    fn evaluate(&self, directory: &Path, data: &Path) -> Result<BTreeMap<String, f64>, Error> {
        let model = TopicModel::read(directory)?;
        let vocabulary = Vocabulary::read(&directory.join("model/vocab.txt"), &|_| {})?;
        let known = Known { n_words: model.n_words(), vocabulary: Some(&vocabulary) };
        let new = read_documents(data, &known, &CorpusOptions::default(), &|_| {})?;
        let table: Vec<f64> = model.topic_word.t().iter().map(|share| f64::from(*share)).collect();
        let topics = DenseTopics::new(&table, model.n_topics());
        let completion = Completion::new(&new.corpus);
        let held_out = completion.measure(0..completion.n_docs(), &topics);
        let all = likelihood(&new.corpus, 0..new.corpus.n_docs(), &topics);
        Ok(BTreeMap::from([
            ("perplexity".to_owned(), held_out.perplexity()),
            ("log_likelihood".to_owned(), all.per_token()),
            ("documents".to_owned(), new.corpus.n_docs() as f64),
            ("tokens".to_owned(), all.tokens as f64),
            ("tokens_of_unknown_words".to_owned(), new.facts.unknown_tokens as f64),
        ]))
    }

    fn predict(
        &self,
        directory: &Path,
        data: &Path,
        question: &Question,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<Predictions, Error> {
        predict::predict(directory, data, question, tell)
    }
}

/// Refuses options of the other method.
fn none_of(other: &[OptionSpec], own: &[OptionSpec], request: &Request, method: &str) -> Result<(), Error> {
    let is_own = |name: &str| own.iter().any(|option| option.name == name);
    let stray = other.iter().find(|option| !is_own(option.name) && request.options.contains_key(option.name));
    match stray {
        None => Ok(()),
        Some(option) => {
            let value = &request.options[option.name];
            Err(refuse(option.name, value, &format!("absent: it is none of --method {method}")))
        }
    }
}
