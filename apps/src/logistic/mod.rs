//! (to come)
pub mod softmax;
