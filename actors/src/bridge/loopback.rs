//! An encoding that loops back into the same process: it proves that no two actors share memory.

use std::marker::PhantomData;

use actix::prelude::*;

use super::wire::{Parts, Wire};

/// A recipient of `M` that passes every message through its wire form on its way to `to`.
///
/// Must be called on a thread that runs actors; the proxy lives there.
pub fn encoded<M: Wire + Message<Result = ()> + Unpin>(to: Recipient<M>) -> Recipient<M> {
    Loopback { to, message: PhantomData }.start().recipient()
}

/// Stands for an actor behind an encoding.
struct Loopback<M: Message<Result = ()> + Send + 'static> {
    to: Recipient<M>,
    message: PhantomData<M>,
}

impl<M: Message<Result = ()> + Send + Unpin + 'static> Actor for Loopback<M> {
    type Context = Context<Self>;
}

impl<M: Wire + Message<Result = ()> + Unpin> Handler<M> for Loopback<M> {
    type Result = ();
    fn handle(&mut self, message: M, _: &mut Self::Context) {
        let copy = Parts::of(message).received().read();
        self.to.do_send(copy.expect("a message reads as it was written"));
    }
}
