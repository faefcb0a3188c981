//! What lies between two actors: nothing, or a bridge to another process.
//!
//! App and runtime code hold a [`Recipient`](actix::Recipient); whether the message moves or is encoded is the
//! recipient's business.

mod loopback;
pub mod settings;
mod wire;

pub use loopback::encoded;
pub use wire::{Bulk, Form, Lane, Number, Received, Segment, Wire, WireError, form, wire};
