//! What a message looks like on its way: a small head in MessagePack and raw segments of numbers.
//!
//! Bulk never passes through the MessagePack encoder, where a MiB costs three times the CPU: a message is *stripped*
//! of its bulk, which leaves as raw little-endian segments and is received straight into the vector it will live in.
//! What remains is the head, with named fields, so that versions of a message can differ.
//!
//! ```
//! use actix::prelude::*;
//! use serde::{Deserialize, Serialize};
//! use slackline::bridge::{Lane, wire};
//!
//! /// A message without bulk takes one line.
//! #[derive(Message, Serialize, Deserialize)]
//! #[rtype(result = "()")]
//! struct Greet { name: String }
//! wire!(Greet, "greet/1", Lane::Control);
//!
//! /// One with bulk says which of its fields are.
//! #[derive(Message)]
//! #[rtype(result = "()")]
//! struct Load { part: u32, values: Vec<f32> }
//! wire!(Load, "load/1", Lane::Bulk, plain { part: u32 }, bulk { values: Vec<f32> });
//! ```

mod forms;
mod messages;
mod parts;
mod sparse;

use actix::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use parts::{Bulk, Number, Received, Segment};
pub(crate) use parts::{Filled, Grain, Parts, read_head, write_head};

/// Which connection a message takes. Order holds within a lane; bulk never delays control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Assignments, reports, clocks, what nodes say about members.
    Control,
    /// Rows, updates, blocks, and what must not overtake them.
    Bulk,
}

impl Lane {
    pub(crate) const ALL: [Self; 2] = [Self::Control, Self::Bulk];

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// A value that can cross a bridge: a head, and bulk beside it.
pub trait Form: Sized + Send + 'static {
    /// What is left of the value without its bulk.
    type Head: Serialize + DeserializeOwned;
    /// Hands the bulk over, in an order that `restore` knows, and keeps the head.
    fn strip(self, bulk: &mut Bulk) -> Self::Head;
    /// Puts the value together again.
    ///
    /// # Errors
    /// When head and bulk do not belong together: they come from a stranger's hands.
    fn restore(head: Self::Head, bulk: &mut Received) -> Result<Self, WireError>;
}

/// A message that can cross a bridge; so can its result.
pub trait Wire: Message<Result: Form> + Form {
    /// Its name between processes, with a version: `pull/1`. Never the name of the type.
    const NAME: &'static str;
    /// The connection that it takes; its answer takes the same.
    const LANE: Lane;
}

/// Why what was received is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub(crate) String);

impl WireError {
    /// With a sentence that says what is wrong.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The number that stands for a message's name in a frame: FNV-1a.
pub(crate) const fn name_id(name: &str) -> u64 {
    let (bytes, mut hash, mut at) = (name.as_bytes(), 0xcbf2_9ce4_8422_2325_u64, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Makes a message cross bridges: [`Form`] and [`Wire`] in one line.
///
/// `wire!(Type, "name/1", Lane::Control)` for a message that is encoded whole (it is `Serialize` and `Deserialize`), or
/// with `plain { field: Type, … }, bulk { field: Type, … }`, which together name every field of the struct.
#[macro_export]
#[doc(hidden)]
macro_rules! __slackline_wire {
    ($message:ty, $name:literal, $lane:expr) => {
        $crate::bridge::form!($message);
        impl $crate::bridge::Wire for $message {
            const NAME: &'static str = $name;
            const LANE: $crate::bridge::Lane = $lane;
        }
    };
    ($message:ident, $name:literal, $lane:expr, $($fields:tt)+) => {
        $crate::bridge::form!($message, $($fields)+);
        impl $crate::bridge::Wire for $message {
            const NAME: &'static str = $name;
            const LANE: $crate::bridge::Lane = $lane;
        }
    };
}

/// Makes a value cross bridges as part of a message or as its result: [`Form`] in one line, written as [`wire!`].
#[macro_export]
#[doc(hidden)]
macro_rules! __slackline_form {
    ($value:ty) => {
        impl $crate::bridge::Form for $value {
            type Head = Self;
            fn strip(self, _: &mut $crate::bridge::Bulk) -> Self {
                self
            }
            fn restore(head: Self, _: &mut $crate::bridge::Received) -> Result<Self, $crate::bridge::WireError> {
                Ok(head)
            }
        }
    };
    ($value:ident, plain { $($plain:ident: $plain_type:ty),* $(,)? }, bulk { $($bulk:ident: $bulk_type:ty),+ $(,)? }) => {
        const _: () = {
            #[derive(serde::Serialize, serde::Deserialize)]
            pub struct Head {
                $($plain: $plain_type,)*
                $($bulk: <$bulk_type as $crate::bridge::Form>::Head,)+
            }
            impl $crate::bridge::Form for $value {
                type Head = Head;
                fn strip(self, bulk: &mut $crate::bridge::Bulk) -> Head {
                    $(let $bulk = $crate::bridge::Form::strip(self.$bulk, bulk);)+
                    Head { $($plain: self.$plain,)* $($bulk),+ }
                }
                fn restore(
                    head: Head,
                    bulk: &mut $crate::bridge::Received,
                ) -> Result<Self, $crate::bridge::WireError> {
                    $(let $bulk = $crate::bridge::Form::restore(head.$bulk, bulk)?;)+
                    Ok(Self { $($plain: head.$plain,)* $($bulk),+ })
                }
            }
        };
    };
}

#[doc(inline)]
pub use crate::{__slackline_form as form, __slackline_wire as wire};

#[cfg(test)]
mod tests;
