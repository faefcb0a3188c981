//! A record of what was read, sent and folded in, from which the promises of a run can be proved afterwards.
//!
//! Each core tells a [`Witness`] what it does, where there is one; the record of a run is a file for each process,
//! written on a thread of its own. [`check`] replays the record and finds every place where a promise was broken.

mod check;
mod entry;
mod file;
mod witness;

pub use check::{Broken, Place, Verdict, check};
pub use entry::{Entry, PageRead, Reading, RowsRead};
pub use file::{Head, Record, RecordError, Recorder, clear, read, write};
pub use witness::Witness;
pub(crate) use witness::{Witnessed, made, pushed};
