//! What fuzzing feeds with bytes of its own (`actors/fuzz`): the places where bytes of strangers are read.

use super::frame::{Decoder, Kind, Limits};
use super::handshake::{Handshake, Identity, Purpose};
use super::wire::{Received, Wire};
use crate::message::{Advance, Applied, Assign, Join, Pull, Push, Report, Rows, Snap, Snapshot, Stop};

/// A body as large as fuzzing may ask for.
const LIMITS: Limits = Limits { head: u16::MAX as usize, segments: 1 << 10, body: 1 << 20 };

/// Reads frames until an error.
pub fn frames(bytes: &[u8]) {
    for limits in [Limits::STRANGER, LIMITS] {
        let (mut decoder, mut input) = (Decoder::new(limits), bytes);
        while let Ok(Some(frame)) = decoder.feed(&mut input) {
            drop(frame.received());
        }
    }
}

/// Reads every frame as every message of the ring.
pub fn messages(bytes: &[u8]) {
    fn each<M: Wire>(bytes: &[u8]) {
        if let Some(received) = first(bytes) {
            received.read::<M>().ok();
        }
    }
    each::<Assign>(bytes);
    each::<Report>(bytes);
    each::<Join>(bytes);
    each::<Advance>(bytes);
    each::<Stop>(bytes);
    each::<Pull>(bytes);
    each::<Rows>(bytes);
    each::<Push>(bytes);
    each::<Applied>(bytes);
    each::<Snap>(bytes);
    first(bytes).map(Received::read::<Option<Snapshot>>);
}

fn first(mut bytes: &[u8]) -> Option<Received> {
    Decoder::new(LIMITS).feed(&mut bytes).ok()??.received().ok()
}

/// Takes bytes for what a dialler says, one frame after the other.
///
/// # Panics
/// When they prove anything.
pub fn hellos(bytes: &[u8]) {
    let identity = Identity {
        cluster: "c".to_owned(),
        node: "b".to_owned(),
        incarnation: 1,
        key: b"key of the cluster".to_vec(),
    };
    let mut acceptor = Handshake::accept(identity, Purpose::Control, [7; 32]);
    let (mut decoder, mut input) = (Decoder::new(Limits::STRANGER), bytes);
    while let Ok(Some(frame)) = decoder.feed(&mut input) {
        if let Ok(next) = acceptor.take(frame.prefix.kind, &frame.head) {
            assert!(
                matches!(next, super::handshake::Next::Send(Kind::Hello, _)),
                "a stranger proves nothing"
            );
        }
    }
}
