//! Audit: what the cores themselves recorded proves that every promise was kept.

use crate::simulation::ring::Ring;

/// A run that came to its end stands up to its audit. The record of a lead that died is gone, and with it what it let
/// through.
pub(crate) fn holds(ring: &Ring) {
    if ring.nodes[0].life <= 1 {
        let cast = ring.nodes[0].cast.as_ref().expect("the model was gathered from somebody");
        ring.record.stands_up(&ring.world.plan, cast.layout.generation);
    }
}
