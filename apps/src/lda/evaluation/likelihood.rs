//! Log-likelihoods of parts, added up.

use std::ops::AddAssign;

/// The log-likelihood of some tokens, in natural logarithms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LogLikelihood {
    /// The sum over the tokens.
    pub log: f64,
    /// How many tokens there are.
    pub tokens: u64,
}

impl LogLikelihood {
    /// The mean over the tokens; not a number if there are none.
    pub fn per_token(self) -> f64 {
        self.log / self.tokens as f64
    }

    /// `exp` of minus the mean: from how many equally likely words each token might as well have been drawn.
    pub fn perplexity(self) -> f64 {
        (-self.per_token()).exp()
    }
}

impl AddAssign for LogLikelihood {
    fn add_assign(&mut self, other: Self) {
        self.log += other.log;
        self.tokens += other.tokens;
    }
}
