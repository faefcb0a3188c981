//! Who can be reached from other nodes.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use actix::prelude::*;

use super::address::Address;
use super::wire::{Parts, Received, Wire, WireError, name_id};

/// The actors that other nodes can reach, by address and message. All clones are one directory.
#[derive(Clone, Default)]
pub struct Directory(Arc<RwLock<Inner>>);

#[derive(Default)]
struct Inner {
    targets: HashMap<(Address, u64), Arc<dyn Target>>,
    names: HashMap<u64, &'static str>,
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.0.read().unwrap_or_else(PoisonError::into_inner).targets.len();
        write!(f, "a directory of {n} ears")
    }
}

/// What becomes of a message: its answer, ready to be sent; nothing if the actor is gone.
pub(crate) type Delivery = Pin<Box<dyn Future<Output = Option<Parts>>>>;

/// An actor's ear for one kind of message.
pub(crate) trait Target: Send + Sync {
    /// The message's name.
    fn name(&self) -> &'static str;
    /// Puts the message into the actor's mailbox at the first poll; ends when the actor has handled it.
    fn deliver(&self, message: Received, answer: bool) -> Result<Delivery, WireError>;
}

struct Ear<M: Message + Send>(Recipient<M>)
where
    M::Result: Send;

impl<M: Wire> Target for Ear<M>
where
    M::Result: Send,
{
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn deliver(&self, message: Received, answer: bool) -> Result<Delivery, WireError> {
        let handled = self.0.send(message.read::<M>()?);
        Ok(Box::pin(async move {
            let result = handled.await.ok()?;
            Some(if answer { Parts::of(result) } else { Parts::default() })
        }))
    }
}

impl Directory {
    /// Lets others send `M` to the actor at this address; replaces whoever was there.
    ///
    /// # Panics
    /// When two messages have names that cannot be told apart on the wire: one must be renamed.
    pub fn expose<M: Wire>(&self, at: Address, to: Recipient<M>)
    where
        M::Result: Send,
    {
        let mut inner = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let id = name_id(M::NAME);
        let name = *inner.names.entry(id).or_insert(M::NAME);
        assert!(name == M::NAME, "{name} and {} cannot be told apart on the wire: rename one", M::NAME);
        inner.targets.insert((at, id), Arc::new(Ear(to)));
    }

    /// Takes all addresses of a generation out: messages for them are dropped from now on.
    pub fn withdraw(&self, generation: u32) {
        let mut inner = self.0.write().unwrap_or_else(PoisonError::into_inner);
        inner.targets.retain(|(address, _), _| address.generation != generation);
    }

    /// The ear for a message at an address.
    pub(crate) fn find(&self, at: Address, name: u64) -> Option<Arc<dyn Target>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).targets.get(&(at, name)).cloned()
    }

    /// What a message is called, if anything here is an ear for it.
    pub(crate) fn name(&self, id: u64) -> Option<&'static str> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).names.get(&id).copied()
    }
}
