//! A worker: it gathers what a step needs, has the app compute it, and sees its updates home.
//!
//! [`Desk`] decides (pure), [`Worker`] moves messages in and out; [`RowCache`] is shared by the workers of a process,
//! [`Outbox`] remembers a worker's own updates until every row it may read contains them.

mod actor;
mod cache;
mod desk;
mod kept;
mod outbox;

pub use actor::{Renew, Routes, ToHolders, Worker};
pub(crate) use cache::Cached;
pub use cache::RowCache;
pub use desk::{Action, Desk, Prepared, Setting, Spent};
pub(crate) use kept::Kept;
pub(crate) use outbox::Makers;
pub use outbox::{Outbox, Updates};
