//! The handshake over a connection, from both sides.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::common::Common;
use super::frame::{Frame, Kind};
use super::handshake::{Handshake, Hello, Identity, Next, Purpose, Refusal, random, reason};
use super::net::{Network, Stream};
use super::session::Progress;
use super::tls::Encryption;
use super::wired::{Broken, Inbound, send};

/// What every connection begins with, before encryption: that, and a byte for its purpose.
pub(crate) const OPENING: &[u8; 7] = b"SLACKLN";
/// The flag of a refusal that will pass by itself.
pub(crate) const SOFT: u8 = 1;
/// What somebody reads who speaks another protocol.
const LINE: &[u8] = b"this is a node of a slackline cluster; it speaks no other protocol\n";

/// Why two processes did not meet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// Refused for now, such as by a node to which there is a connection already.
    #[error("it has no use for the connection now: {0}")]
    Soft(String),
    #[error("{0}")]
    Broken(#[from] Broken),
    #[error("the handshake was not done within {0:.1?}")]
    Late(Duration),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.into())
    }
}

/// A connection to somebody who has proved who he is.
pub(crate) struct Met {
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) inbound: Inbound,
    pub(crate) peer: Hello,
}

/// What a dialler needs.
#[derive(Clone, Copy)]
pub(crate) struct Outset<'a> {
    pub(crate) network: &'a dyn Network,
    pub(crate) encryption: Option<&'a Encryption>,
    pub(crate) identity: &'a Identity,
    pub(crate) within: Duration,
}

impl Common {
    pub(crate) fn outset(&self) -> Outset<'_> {
        Outset {
            network: &*self.network,
            encryption: self.encryption.as_ref(),
            identity: &self.identity,
            within: self.settings.timing.handshake,
        }
    }
}

fn refuse(why: String) -> Failed {
    Failed::Refused(Refusal::Ours(why))
}

/// Connects, and proves who this is to who is there.
pub(crate) async fn dial(
    outset: Outset<'_>,
    purpose: Purpose,
    expected: Option<&str>,
    address: &str,
) -> Result<Met, Failed> {
    let meeting = async {
        let mut stream = outset.network.connect(address).await?;
        let mut opening = OPENING.to_vec();
        opening.push(purpose as u8);
        stream.write_all(&opening).await?;
        if let Some(encryption) = outset.encryption {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            stream = encryption.dial(stream, host).await?;
        }
        let nonce = random().map_err(refuse)?;
        let (mut handshake, hello) =
            Handshake::dial(outset.identity.clone(), purpose, expected.map(str::to_owned), nonce);
        send(&mut stream, Kind::Hello, 0, &hello).await?;
        converse(stream, &mut handshake).await.map(|(met, _)| met)
    };
    timeout(outset.within, meeting).await.map_err(|_| Failed::Late(outset.within))?
}

/// Lets somebody prove who he is; his purpose has been read. What comes back beside him is this side's proof, to be
/// sent once there is nothing against him.
pub(crate) async fn receive(
    outset: Outset<'_>,
    mut stream: Box<dyn Stream>,
    purpose: Purpose,
) -> Result<(Met, Vec<u8>), Failed> {
    if let Some(encryption) = outset.encryption {
        stream = encryption.accept(stream).await?;
    }
    let nonce = random().map_err(refuse)?;
    let mut handshake = Handshake::accept(outset.identity.clone(), purpose, nonce);
    let (met, proof) = converse(stream, &mut handshake).await?;
    Ok((met, proof.unwrap_or_default()))
}

/// Takes turns until the other side is proved. Whoever is refused is told why.
async fn converse(
    mut stream: Box<dyn Stream>,
    handshake: &mut Handshake,
) -> Result<(Met, Option<Vec<u8>>), Failed> {
    let mut inbound = Inbound::stranger();
    loop {
        let frame = match inbound.next(&mut stream).await {
            Ok(frame) => frame,
            Err(Broken::Frame(error)) => {
                let why = format!("it does not keep to the protocol: {error}");
                send(&mut stream, Kind::Refusal, 0, why.as_bytes()).await.ok();
                return Err(refuse(why));
            }
            Err(other) => return Err(other.into()),
        };
        soft(&frame)?;
        match handshake.take(frame.prefix.kind, &frame.head) {
            Ok(Next::Send(kind, head)) => send(&mut stream, kind, 0, &head).await?,
            Ok(Next::Proved { peer, proof }) => {
                inbound.trust();
                return Ok((Met { stream, inbound, peer }, proof));
            }
            Err(refusal) => {
                if let Refusal::Ours(why) = &refusal {
                    send(&mut stream, Kind::Refusal, 0, why.as_bytes()).await.ok(); // it is told if it still listens
                }
                return Err(refusal.into());
            }
        }
    }
}

/// A refusal that will pass is no failure of the handshake.
fn soft(frame: &Frame) -> Result<(), Failed> {
    if frame.prefix.kind == Kind::Refusal && frame.prefix.flags & SOFT != 0 {
        return Err(Failed::Soft(reason(&frame.head)));
    }
    Ok(())
}

/// Reads what a connection begins with.
pub(crate) async fn opening(stream: &mut Box<dyn Stream>) -> Result<Purpose, Failed> {
    let mut bytes = [0; OPENING.len() + 1];
    let mut have = 0;
    while have < bytes.len() {
        let n = stream.read(&mut bytes[have..]).await?;
        have += n;
        if have == 0 {
            return Err(Failed::Soft("it left without a word".to_owned())); // a probe, or a scan of ports
        }
        let matching = have.min(OPENING.len());
        if n == 0 || bytes[..matching] != OPENING[..matching] {
            let what = String::from_utf8_lossy(&bytes[..have]).escape_debug().to_string();
            if n > 0 {
                stream.write_all(LINE).await.ok(); // it is told if it listens
            }
            return Err(refuse(format!("it speaks another protocol: it began with \"{what}\"")));
        }
    }
    let code = bytes[OPENING.len()];
    Purpose::of(code).ok_or_else(|| refuse(format!("{code} is no purpose of a connection")))
}

/// What the other side says that it has; or why it wants no session.
pub(crate) async fn progress(met: &mut Met) -> Result<Progress, Failed> {
    let frame = met.inbound.next(&mut met.stream).await?;
    soft(&frame)?;
    match frame.prefix.kind {
        Kind::Resume => super::wire::read_head(&frame.head)
            .map_err(|error| refuse(format!("its state cannot be read: {error}"))),
        Kind::Refusal => Err(Refusal::Theirs(reason(&frame.head)).into()),
        kind => Err(refuse(format!("it sent {kind:?} where its state was due"))),
    }
}
