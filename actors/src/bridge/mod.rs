//! What lies between two actors: nothing, or a bridge to another process.
//!
//! App and runtime code hold a [`Recipient`](actix::Recipient); whether the message moves or is encoded is the
//! recipient's business.

mod address;
mod batch;
mod common;
mod delivery;
mod dialling;
mod directory;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod handle;
mod handshake;
mod hub;
mod lane;
mod link;
mod loopback;
mod meet;
pub mod net;
mod proxy;
mod pulse;
mod room;
mod roster;
mod session;
pub mod settings;
mod strangers;
mod tls;
mod traffic;
mod visit;
mod wire;
mod wired;

pub use address::{Actor, Address};
pub use directory::Directory;
pub use frame::LARGEST_BODY;
pub use handle::{Bridge, BridgeError};
pub use link::{AskError, Link, TOO_MUCH};
pub use loopback::encoded;
pub use roster::{Peer, PeerEvent};
pub use traffic::{Traffic, Volume};
pub use visit::ask_once;
pub use wire::{Bulk, Form, Lane, Number, Received, Segment, Wire, WireError, form, wire};
