//! The inner loops: the few lines that all the time goes into, behind a safe interface.
//!
//! `scalar` is the definition of correct: plain loops anyone can check. `fast` computes the same with several
//! accumulators and without bounds checks, and is the only file of the crate with unsafe code. What makes it
//! safe is established once, when a type is built: an [`Indices`] knows that all its indices are below its bound,
//! so one comparison with the length of the vector covers a whole column.

mod dense;
mod fast;
mod gemm;
pub mod gibbs;
mod indices;
pub mod normal;
pub mod optimizer;
pub mod scalar;
pub mod sgd;
pub mod special;
pub mod topics;

pub use dense::sum_and_square;
pub use fast::{axpy, axpy_single, distance_square, dot, dot_and_axpy};
pub use fast::{gather_dot, gather_square, gather_sum};
pub use fast::{scatter_add, scatter_axpy, scatter_axpy_weighted, scatter_weighted};
pub use gemm::gemm;
pub use indices::{IndexSlice, Indices};
