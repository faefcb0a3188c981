//! What lies between two actors: nothing, or an encoding.
//!
//! App and runtime code hold a [`Recipient`]; whether the message moves or is encoded is the recipient's business.
//! Here the encoding loops back into the same process: it proves that no two actors share memory.

pub mod settings;
pub mod stub;
pub use stub::*;

use std::marker::PhantomData;

use actix::prelude::{Actor as _, Context, Handler, Message, Recipient};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A recipient of `M` that passes every message through MessagePack on its way to `to`.
///
/// Must be called on a thread that runs actors; the proxy lives there.
pub fn encoded<M>(to: Recipient<M>) -> Recipient<M>
where
    M: Message<Result = ()> + Serialize + DeserializeOwned + Send + Unpin + 'static,
{
    Loopback { to, message: PhantomData }.start().recipient()
}

/// Stands for an actor behind an encoding.
struct Loopback<M: Message<Result = ()> + Send + 'static> {
    to: Recipient<M>,
    message: PhantomData<M>,
}

impl<M: Message<Result = ()> + Send + Unpin + 'static> actix::Actor for Loopback<M> {
    type Context = Context<Self>;
}

impl<M> Handler<M> for Loopback<M>
where
    M: Message<Result = ()> + Serialize + DeserializeOwned + Send + Unpin + 'static,
{
    type Result = ();
    fn handle(&mut self, message: M, _: &mut Self::Context) {
        let bytes = rmp_serde::to_vec_named(&message).expect("messages are plain values");
        let copy = rmp_serde::from_slice(&bytes).expect("a message reads as it was written");
        self.to.do_send(copy);
    }
}
