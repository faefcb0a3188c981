//! Membership: no two generations are at work at once, every holder of a generation has its rows when work begins, and
//! who was declared dead changes nothing any more.

use slackline::scheduler::Ending;

use super::exactly_once;
use crate::simulation::network::Life;
use crate::simulation::ring::Ring;

/// Work of one generation is under way: no member has actors of another one.
pub(crate) fn one_generation_at_work(ring: &Ring, generation: u32) {
    let members = ring
        .lead
        .iter()
        .flat_map(|lead| &lead.members)
        .filter(|(node, life)| ring.nodes[*node].life == *life && ring.nodes[*node].alive);
    for (node, _) in members {
        let other = ring.nodes[*node].cast.as_ref().map(|cast| cast.layout.generation);
        let other = other.filter(|other| *other != generation);
        assert_eq!(other, None, "node {node} is in another generation than {generation}, which is at work");
    }
}

/// All holders of the generation that is about to begin have the rows of all steps that count. A node that has just died
/// is left out: nobody knows yet.
pub(crate) fn holders_have_their_rows(ring: &Ring) {
    for backup in [false, true] {
        if let Some(model) = ring.model_of(backup) {
            exactly_once::holds(&ring.world.plan, &ring.world.past, &model);
        }
    }
}

/// What counts in a generation comes from the lives that it was made of.
pub(crate) fn is_of_the_generation(ring: &Ring, generation: u32, from: Life) {
    if ring.world.plan.cluster.is_some() && generation == ring.world.generation {
        let lead = ring.lead.as_ref().expect("a generation at work has a lead");
        assert!(lead.crew.contains(&from), "node {from:?} is not of generation {generation} and acts in it");
    }
}

/// A run ends, and if badly, for a reason that its plan explains.
pub(crate) fn ends_for_a_reason(ring: &Ring, ending: Option<&Ending>) -> bool {
    let reasons =
        ["for the 3rd time", "no worker is left", "was lost before training began", "did not come within"];
    let explained = |why: &str| reasons.iter().any(|reason| why.contains(reason));
    match &ring.over {
        Some(Ok(())) => true,
        Some(Err(why)) => {
            assert!(explained(why), "the run ended: {why}");
            false
        }
        None => {
            let lost = ring.lead.is_none();
            assert!(lost, "the run is stuck; its end was {ending:?}");
            false
        }
    }
}
