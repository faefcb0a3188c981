//! An actor that stands for one on another node: what it is sent goes over the link, answers come back the same way.
//!
//! A handler cannot tell a tell from an ask, but a [`MessageResponse`] can: it is given the asker, if there is one. When
//! there is no answer to give, the asker is dropped and sees what it would see of a dead local actor.

use std::time::Duration;

use actix::dev::{MessageResponse, OneshotSender};
use actix::prelude::*;
use tokio::time::Instant;

use super::address::Address;
use super::frame::Kind;
use super::link::{AskError, Asked, Asker, Link};
use super::wire::{Received, Wire};

/// An ask through a proxy has no deadline of its own: it goes when whoever asked does, and after a day in any case.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Stands for the actor at an address of another node.
struct Proxy {
    link: Link,
    to: Address,
}

impl Actor for Proxy {
    type Context = Context<Self>;
}

impl Link {
    /// An actor that stands for the remote one: tells and asks go to the other node as they would to a neighbour.
    ///
    /// While more than 4 MiB are queued for the node the proxy takes no message out of its mailbox, so that whoever
    /// awaits or uses `try_send` is slowed down to what the node takes in. `do_send` is not: what it sends waits in the
    /// proxy's mailbox, by pointer. Must be called on a thread that runs actors; the proxy lives there.
    pub fn recipient<M: Wire>(&self, to: Address) -> Recipient<M> {
        Proxy { link: self.clone(), to }.start().recipient()
    }
}

impl<M: Wire> Handler<M> for Proxy {
    type Result = Forward<M>;
    fn handle(&mut self, message: M, _: &mut Self::Context) -> Forward<M> {
        Forward { message, link: self.link.clone(), to: self.to }
    }
}

/// A message that is about to leave.
struct Forward<M> {
    message: M,
    link: Link,
    to: Address,
}

impl<M: Wire> MessageResponse<Proxy, M> for Forward<M> {
    fn handle(self, ctx: &mut Context<Proxy>, asker: Option<OneshotSender<M::Result>>) {
        let Self { message, link, to } = self;
        let posted = match asker {
            None => link.post(Kind::Tell, to, message, None),
            Some(asker) => {
                let asker = Box::new(Direct::<M>(asker));
                let asked = Asked { deadline: Instant::now() + A_DAY, name: M::NAME, asker };
                link.post(Kind::Ask, to, message, Some(asked))
            }
        };
        if let Err(why) = posted {
            link.give_up(why);
        }
        if link.is_full() {
            ctx.wait(actix::fut::wrap_future(async move { link.room().await }));
        }
    }
}

/// Whoever asked a proxy.
struct Direct<M: Message>(OneshotSender<M::Result>);

impl<M: Wire> Asker for Direct<M> {
    fn answer(self: Box<Self>, result: Result<Received, AskError>) {
        match result.map(Received::read) {
            Ok(Ok(result)) => drop(self.0.send(result)), // whoever asked may have left
            Ok(Err(error)) => tracing::warn!("the answer to a message {} cannot be read: {error}", M::NAME),
            Err(error) => tracing::debug!("a message {} has no answer: {error}", M::NAME),
        }
    }

    fn has_left(&self) -> bool {
        self.0.is_closed()
    }
}
