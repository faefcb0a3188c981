//! A trained topic model as people look at it.

mod model;

pub use model::TopicModel;
