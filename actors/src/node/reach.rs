//! How an actor of one node reaches another: directly if it is here, through the bridge if it is not.

use actix::prelude::*;

use crate::bridge::{self, Address, Bridge, Directory, Wire, encoded};
use crate::cluster::Layout;

/// The way between nodes.
#[derive(Clone)]
pub(crate) struct Post {
    pub(crate) bridge: Bridge,
    pub(crate) directory: Directory,
}

/// How this node reaches the actors of a generation.
pub(super) struct Reach<'a> {
    pub(super) layout: &'a Layout,
    pub(super) post: Option<&'a Post>,
    /// Whether messages between actors of this process are encoded too.
    pub(super) encoded: bool,
}

impl Reach<'_> {
    /// The way to an actor on `node`; `local` is the actor if that is this node.
    pub(super) fn to<M, A>(&self, node: &str, actor: bridge::Actor, local: Option<&Addr<A>>) -> Recipient<M>
    where
        M: Wire + Message<Result = ()> + Unpin,
        A: Actor<Context = Context<A>> + Handler<M>,
    {
        match (local, self.post) {
            (Some(local), _) if self.encoded => encoded(local.clone().recipient()),
            (Some(local), _) => local.clone().recipient(),
            (None, Some(post)) => post.bridge.link(node).recipient(self.address(actor)),
            (None, None) => unreachable!("without a cluster every actor is here"),
        }
    }

    /// The way to an actor that answers.
    pub(super) fn ask<M, A>(&self, node: &str, actor: bridge::Actor, local: Option<&Addr<A>>) -> Recipient<M>
    where
        M: Wire,
        M::Result: Send,
        A: Actor<Context = Context<A>> + Handler<M>,
    {
        match (local, self.post) {
            (Some(local), _) => local.clone().recipient(),
            (None, Some(post)) => post.bridge.link(node).recipient(self.address(actor)),
            (None, None) => unreachable!("without a cluster every actor is here"),
        }
    }

    /// Makes an actor of this node known to the others.
    pub(super) fn expose<M, A>(&self, actor: bridge::Actor, local: &Addr<A>)
    where
        M: Wire,
        M::Result: Send,
        A: Actor<Context = Context<A>> + Handler<M>,
    {
        if let Some(post) = self.post {
            post.directory.expose::<M>(self.address(actor), local.clone().recipient());
        }
    }

    fn address(&self, actor: bridge::Actor) -> Address {
        Address { generation: self.layout.generation, actor }
    }
}
