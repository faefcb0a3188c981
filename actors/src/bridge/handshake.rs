//! Who is there? Both sides prove that they know the cluster's token, which never travels.
//!
//! ```text
//! dialler                                acceptor
//!   Hello ─────────────────────────────▶             version, cluster, node, incarnation, nonce
//!         ◀───────────────────────────── Hello
//!   Proof ─────────────────────────────▶             HMAC-SHA256(token, role, both hellos)
//!         ◀───────────────────────────── Proof
//! ```
//!
//! The dialler proves first: the acceptor signs nothing for strangers. Each hello has fresh random bytes, so that an
//! old proof proves nothing. Nothing takes effect, and nothing of the state is told, before the proof. This file does
//! no input and no output.

use ring::hmac;
use serde::{Deserialize, Serialize};

use super::frame::Kind;
use super::wire::{read_head, write_head};

/// The protocol versions that this program speaks.
const VERSIONS: (u16, u16) = (1, 1);
const NONCE: usize = 32;
/// Names longer than this are refused.
const LONGEST_NAME: usize = 200;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub(crate) enum Purpose {
    /// The control lane.
    Control = 0,
    /// The bulk lane.
    Bulk = 1,
    /// Signs of life.
    Pulse = 2,
    /// One question of a client that is no node.
    Visit = 3,
}

impl Purpose {
    pub(crate) fn of(code: u8) -> Option<Self> {
        [Self::Control, Self::Bulk, Self::Pulse, Self::Visit].get(usize::from(code)).copied()
    }
}

/// Who a process is.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) cluster: String,
    pub(crate) node: String,
    /// Drawn when the process starts.
    pub(crate) incarnation: u64,
    /// Empty where the cluster has no token.
    pub(crate) key: Vec<u8>,
}

/// What each side says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) oldest: u16,
    pub(crate) newest: u16,
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) incarnation: u64,
    pub(crate) purpose: Purpose,
    pub(crate) nonce: Vec<u8>,
}

/// Why a handshake ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// This side refuses, and tells the other.
    #[error("{0}")]
    Ours(String),
    /// The other side refused, and said why.
    #[error("it refused: {0}")]
    Theirs(String),
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send this and wait.
    Send(Kind, Vec<u8>),
    /// The peer is who it says. An acceptor sends its own proof once it has nothing against the peer.
    Proved { peer: Hello, proof: Option<Vec<u8>> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Dialler,
    Acceptor,
}

/// One side of a handshake.
pub(crate) struct Handshake {
    identity: Identity,
    role: Role,
    purpose: Purpose,
    /// Whom a dialler expects.
    expected: Option<String>,
    mine: Vec<u8>,
    theirs: Option<(Hello, Vec<u8>)>,
}

impl Handshake {
    /// The side that dialled; `expected` is the name that the peer must have. Returns the hello to send as well.
    pub(crate) fn dial(
        identity: Identity,
        purpose: Purpose,
        expected: Option<String>,
        nonce: [u8; NONCE],
    ) -> (Self, Vec<u8>) {
        let mine = hello(&identity, purpose, nonce);
        let hello = mine.clone();
        (Self { identity, role: Role::Dialler, purpose, expected, mine, theirs: None }, hello)
    }

    /// The side that was dialled; the purpose is what the connection began with.
    pub(crate) fn accept(identity: Identity, purpose: Purpose, nonce: [u8; NONCE]) -> Self {
        let mine = hello(&identity, purpose, nonce);
        Self { identity, role: Role::Acceptor, purpose, expected: None, mine, theirs: None }
    }

    /// Takes what the other side sent.
    pub(crate) fn take(&mut self, kind: Kind, head: &[u8]) -> Result<Next, Refusal> {
        match (kind, self.theirs.take()) {
            (Kind::Refusal, _) => Err(Refusal::Theirs(reason(head))),
            (Kind::Hello, None) => {
                let hello = self.judge(head)?;
                self.theirs = Some((hello, head.to_vec()));
                match self.role {
                    Role::Dialler => Ok(Next::Send(Kind::Proof, self.prove(self.role).as_ref().to_vec())),
                    Role::Acceptor => Ok(Next::Send(Kind::Hello, self.mine.clone())),
                }
            }
            (Kind::Proof, Some(theirs)) => {
                self.theirs = Some(theirs.clone());
                self.verify(head)?;
                let proof = (self.role == Role::Acceptor).then(|| self.prove(self.role).as_ref().to_vec());
                Ok(Next::Proved { peer: theirs.0, proof })
            }
            (kind, _) => Err(Refusal::Ours(format!("it sent {kind:?} where the handshake has another step"))),
        }
    }

    /// Whether a hello is one to go on with.
    fn judge(&self, head: &[u8]) -> Result<Hello, Refusal> {
        let refuse = |why: String| Err(Refusal::Ours(why));
        let hello: Hello = match read_head(head) {
            Ok(hello) => hello,
            Err(error) => return refuse(format!("its hello cannot be read: {error}")),
        };
        let (oldest, newest) = VERSIONS;
        if hello.newest < oldest || hello.oldest > newest {
            let theirs = format!("{} to {}", hello.oldest, hello.newest);
            return refuse(format!("it speaks protocol {theirs}, this node speaks {oldest} to {newest}"));
        }
        if hello.cluster.len() > LONGEST_NAME || hello.node.len() > LONGEST_NAME {
            return refuse(format!("its name has more than {LONGEST_NAME} bytes"));
        }
        if hello.cluster != self.identity.cluster {
            return refuse(format!(
                "it belongs to cluster {:?}, this is {:?}",
                hello.cluster, self.identity.cluster
            ));
        }
        if hello.nonce.len() != NONCE || hello.purpose != self.purpose {
            return refuse("its hello does not fit the connection".to_owned());
        }
        if let Some(expected) = self.expected.as_ref().filter(|expected| **expected != hello.node) {
            return refuse(format!("node {:?} answers where {expected:?} should", hello.node));
        }
        if hello.node == self.identity.node && self.purpose != Purpose::Visit {
            return refuse(format!("two nodes have the name {:?}", hello.node));
        }
        Ok(hello)
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.identity.key)
    }

    /// What a side signs: its role and both hellos, the dialler's first, each with its length.
    fn transcript(&self, role: Role) -> Vec<u8> {
        let theirs = self.theirs.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        let (dialler, acceptor) = match self.role {
            Role::Dialler => (&self.mine[..], theirs),
            Role::Acceptor => (theirs, &self.mine[..]),
        };
        let mut text = Vec::with_capacity(dialler.len() + acceptor.len() + 40);
        text.extend_from_slice(match role {
            Role::Dialler => b"slackline dialler",
            Role::Acceptor => b"slackline acceptor",
        });
        for hello in [dialler, acceptor] {
            text.extend_from_slice(&(hello.len() as u64).to_le_bytes());
            text.extend_from_slice(hello);
        }
        text
    }

    fn prove(&self, role: Role) -> hmac::Tag {
        hmac::sign(&self.key(), &self.transcript(role))
    }

    fn verify(&self, proof: &[u8]) -> Result<(), Refusal> {
        let other = match self.role {
            Role::Dialler => Role::Acceptor,
            Role::Acceptor => Role::Dialler,
        };
        hmac::verify(&self.key(), &self.transcript(other), proof)
            .map_err(|_| Refusal::Ours("it does not know the cluster's token".to_owned()))
    }
}

fn hello(identity: &Identity, purpose: Purpose, nonce: [u8; NONCE]) -> Vec<u8> {
    write_head(&Hello {
        oldest: VERSIONS.0,
        newest: VERSIONS.1,
        cluster: identity.cluster.clone(),
        node: identity.node.clone(),
        incarnation: identity.incarnation,
        purpose,
        nonce: nonce.to_vec(),
    })
}

/// The sentence of a refusal, made fit to be shown.
pub(crate) fn reason(head: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(head).chars().filter(|c| !c.is_control()).take(300).collect();
    if text.is_empty() { "it did not say why".to_owned() } else { text }
}

/// Random bytes of the operating system.
///
/// # Errors
/// A sentence, when it has none.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random numbers: {error}"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
