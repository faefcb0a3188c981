//! What a process must know to speak to others: its name, where it listens, the secret they share.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a process must know to speak to others.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The cluster's name: who belongs to another is refused.
    pub cluster: String,
    /// This node's name.
    pub node: String,
    /// Where it listens; with port 0 the system chooses one.
    pub listen: SocketAddr,
    /// What all nodes of the cluster know and nobody else; needed off loopback.
    pub token: Option<Token>,
    /// Certificates, where the connections are to be encrypted.
    pub tls: Option<Tls>,
    /// How long to wait for what.
    pub timing: Timing,
}

/// A secret that proves membership. It never travels and is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// The fewest characters of a token.
const SHORTEST: usize = 16;

impl Token {
    /// A token as it is written in a file or in the environment; white space around it does not count.
    ///
    /// # Errors
    /// When it has fewer than 16 characters: it could be guessed.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            return Err(format!("the token has {} characters, must have {SHORTEST} or more", text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Its bytes, to compute with.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// Files in PEM format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificates of this node, its own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority that signed the certificates of all nodes.
    pub authority: PathBuf,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two signs of life.
    pub pulse: Duration,
    /// A node that gives no sign of life for so long is dead.
    pub dead: Duration,
    /// For a handshake, from the first byte to the last.
    pub handshake: Duration,
    /// For nodes that have not come yet, and for the lead when it is started again.
    pub patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            pulse: Duration::from_millis(250),
            dead: Duration::from_secs(2),
            handshake: Duration::from_secs(5),
            patience: Duration::from_secs(60),
        }
    }
}
