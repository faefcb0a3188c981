//! A trained topic model as people look at it: which words a topic is made of, and which topics are alike.
//!
//! * [`TopicModel`] reads the model of a run.
//! * [`Ranking`] orders the words of a topic by relevance (Sievert and Shirley, *LDAvis*, 2014).
//! * [`divergences`] says how far topics are from each other, [`plane`] puts them on a map.
//! * [`Picture`] is all of it together, as a page shows it.

mod candidates;
mod divergence;
mod model;
mod picture;
mod ranking;
mod saliency;
mod scaling;

pub use divergence::{Divergences, divergences};
pub use model::TopicModel;
pub use picture::{Circle, Entry, Picture};
pub use ranking::{RankedWord, Ranking};
pub use scaling::plane;

#[cfg(test)]
mod tests;
