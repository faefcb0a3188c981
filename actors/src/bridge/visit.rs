//! A client without a session, such as one that asks how a run is doing: it proves the token, asks once, and leaves.

use std::time::Duration;

use tokio::time::timeout;

use super::address::Address;
use super::batch::{Batch, Parcel};
use super::common::{Common, identity};
use super::frame::{Frame, GONE, Kind, Prefix};
use super::handle::BridgeError;
use super::handshake::{Purpose, random, reason};
use super::meet::{Met, Outset, dial};
use super::net::Tcp;
use super::settings::Settings;
use super::tls::Encryption;
use super::wire::{Parts, Wire, name_id};
use super::wired::{Broken, write};

/// The longest that a visitor is answered later.
const LONGEST_VISIT: Duration = Duration::from_secs(60);

/// Connects to a node, proves the token, asks one thing, leaves.
///
/// # Errors
/// See [`BridgeError`].
pub async fn ask_once<M: Wire>(
    settings: &Settings,
    address: &str,
    to: Address,
    message: M,
    within: Duration,
) -> Result<M::Result, BridgeError> {
    let failed = |why: String| BridgeError::Ask { address: address.to_owned(), why };
    let encryption =
        settings.tls.as_ref().map(Encryption::load).transpose().map_err(BridgeError::Settings)?;
    let identity = identity(settings, u64::from_le_bytes(random().map_err(BridgeError::Settings)?));
    let outset = Outset {
        network: &Tcp,
        encryption: encryption.as_ref(),
        identity: &identity,
        within: settings.timing.handshake,
    };
    let prefix = Prefix { to, name: name_id(M::NAME), ..Prefix::new(Kind::Ask) };
    let parcel = Parcel::new(prefix, Parts::of(message)).map_err(failed)?;
    let asking = async {
        let mut met =
            dial(outset, Purpose::Visit, None, address).await.map_err(|error| failed(error.to_string()))?;
        say(&mut met, parcel).await.map_err(|error| failed(error.to_string()))
    };
    let frame = timeout(within, asking)
        .await
        .map_err(|_| failed(format!("no answer came within {within:.1?}")))??;
    if frame.prefix.flags & GONE != 0 {
        return Err(failed(reason(&frame.head)));
    }
    let received = frame.received().map_err(|error| failed(error.to_string()))?;
    received.read().map_err(|error| failed(error.to_string()))
}

async fn say(met: &mut Met, parcel: Parcel) -> Result<Frame, Broken> {
    let mut batch = Batch::default();
    batch.push(parcel.prefix, &parcel.parts);
    write(&mut met.stream, &mut batch).await?;
    met.inbound.next(&mut met.stream).await
}

/// Answers a visitor.
pub(crate) async fn serve(common: &Common, mut met: Met) {
    let served = timeout(LONGEST_VISIT, answer(common, &mut met)).await;
    match served {
        Ok(Ok(())) | Ok(Err(Broken::HungUp)) => {}
        Ok(Err(broken)) => tracing::debug!(visitor = met.peer.node, "{broken}"),
        Err(_) => tracing::debug!(visitor = met.peer.node, "had no answer in time"),
    }
}

async fn answer(common: &Common, met: &mut Met) -> Result<(), Broken> {
    let frame = met.inbound.next(&mut met.stream).await?;
    let prefix = frame.prefix;
    if prefix.kind != Kind::Ask {
        return Ok(());
    }
    let (flags, parts) = match deliver(common, frame) {
        Ok(delivery) => match delivery.await {
            Some(parts) => (0, parts),
            None => (GONE, Parts::default()),
        },
        Err(why) => (GONE, Parts { head: why.into_bytes(), segments: Vec::new() }),
    };
    let prefix = Prefix { flags, name: prefix.name, ..Prefix::new(Kind::Reply) };
    if let Ok(parcel) = Parcel::new(prefix, parts) {
        say_only(met, &parcel).await?;
    }
    Ok(())
}

async fn say_only(met: &mut Met, parcel: &Parcel) -> Result<(), Broken> {
    let mut batch = Batch::default();
    batch.push(parcel.prefix, &parcel.parts);
    Ok(write(&mut met.stream, &mut batch).await?)
}

fn deliver(common: &Common, frame: Frame) -> Result<super::directory::Delivery, String> {
    let prefix = frame.prefix;
    let target = common.directory.find(prefix.to, prefix.name);
    let target = target.ok_or_else(|| format!("nobody listens for it at {}", prefix.to))?;
    let received = frame.received().map_err(|error| error.to_string())?;
    target.deliver(received, true).map_err(|error| error.to_string())
}
