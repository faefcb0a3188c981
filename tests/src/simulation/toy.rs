//! The toy app, and the guide of its priority schedule.

use slackline::message::{Findings, Phase};
use slackline::scheduler::policy::{Guide, Mark, Verdict};
use slackline::{BlockId, Outcome, PartId, Step, VariableId};

use super::invariants::{freshness, gate, own_writes};
use super::world::World;

/// The rows of the counts that a step on a part adds to.
pub(crate) fn touched(part: PartId, n_parts: usize) -> [usize; 2] {
    [part.index(), (part.index() * 3 + 1) % n_parts]
}

/// A number that depends on its arguments and on nothing else.
pub(crate) fn hash(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, n| {
        let mixed = (hash ^ n).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ (mixed >> 29)
    })
}

/// Computes a step of `worker`; `None` if the app panics.
pub(crate) fn compute(worker: usize, mut step: Step, world: &mut World) -> Option<Outcome> {
    gate::holds(world, worker, step.clock());
    freshness::holds(world, worker, &step);
    own_writes::holds(world, worker, &step);
    let (part, clock) = (step.part(), step.clock());
    let chance = hash(&[world.plan.seed, worker as u64, clock.0, 1]);
    if !world.plan.leases && chance.is_multiple_of(16) {
        return None;
    }
    if step.phase() == Phase::Evaluate {
        look(&mut step, world);
        return Some(step.done(1.0));
    }
    lease(worker, &mut step, world);
    if step.orders() == [Rounds::SWEEP] {
        let of_part = |v: u32| (VariableId(part.0 * 4 + v), (v % 3) as f32 + 1.0);
        let priorities = (0..4).map(of_part).collect();
        return Some(step.found(Findings { priorities, ..Findings::default() }));
    }
    let rows = touched(part, world.plan.parts);
    let mut counts = step.delta::<f64>("counts");
    let mut one = vec![0.0; world.plan.workers];
    one[worker] = 1.0;
    rows.iter().for_each(|row| counts.add_row(*row, &one));
    match chance % 2 {
        0 => step.send(counts),
        _ => step.add(counts),
    }
    let mut own = step.delta::<i32>("own");
    own.add_at(part.index(), u32::try_from(worker).expect("few workers"), 1);
    step.add(own);
    noise(&mut step);
    world.past.made[worker].push((clock, part));
    Some(step.done(1.0))
}

/// Computes a step that cannot count any more; nobody knows of it.
pub(crate) fn compute_in_vain(worker: usize, mut step: Step, world: &World) -> Outcome {
    let mut counts = step.delta::<f64>("counts");
    counts.add_row(0, &vec![1000.0 + worker as f64; world.plan.workers]);
    step.add(counts);
    step.done(1.0)
}

/// Adds numbers whose sum depends on the order of additions, and on what was read.
fn noise(step: &mut Step) {
    let read = step.read::<f32>("noise");
    let mut old = [0.0; 3];
    read.copy_row(0, &mut old);
    let scale = 10f32.powi((hash(&[u64::from(step.part().0), step.clock().0]) % 9) as i32 - 4);
    let mut delta = step.delta::<f32>("noise");
    delta.add_row(0, &[scale / 3.0, 0.1 * old[0], 1.0 / (1.0 + old[1].abs())]);
    delta.add_row(1, &[-scale, old[2], scale]);
    step.add(delta);
}

/// Appends this worker to the visits of the leased block, which must be exactly what was written before.
fn lease(worker: usize, step: &mut Step, world: &mut World) {
    let clock = step.clock();
    if !world.plan.leases {
        return;
    }
    let block = step.block().unwrap_or(BlockId(step.part().0));
    let [mut visits] = step.lease::<i32, 1>(["visits"]);
    let row = visits.sparse_row(0);
    let before = world.past.visits.entry(block).or_default();
    let seen: Vec<i32> = row.iter().map(|(_, worker)| *worker).collect();
    let written: Vec<i32> = before.iter().map(|(worker, _)| *worker).collect();
    assert_eq!(seen, written, "a leased block holds exactly what its holders wrote");
    let mark = i32::try_from(worker).expect("few workers") + 1;
    row.push((u32::try_from(row.len()).expect("few visits"), mark));
    before.push((mark, clock));
}

/// An evaluation sees every block as it is.
fn look(step: &mut Step, world: &World) {
    if !(world.plan.leases && world.plan.rotates()) {
        return;
    }
    for (number, block) in step.blocks::<i32>("visits").into_iter().enumerate() {
        let seen: Vec<i32> = block.sparse_row(0).iter().map(|(_, worker)| *worker).collect();
        let written = world.past.visits.get(&BlockId::at(number)).into_iter().flatten();
        assert_eq!(seen, written.map(|(worker, _)| *worker).collect::<Vec<_>>());
    }
}

/// A guide: a sweep, two rounds on the best variables, a sweep, the end.
pub(crate) struct Rounds {
    width: usize,
    sweeps: u32,
    rounds: u32,
    ending: bool,
}

impl Rounds {
    pub(crate) const SWEEP: f64 = -1.0;

    pub(crate) fn new(width: usize) -> Self {
        Self { width, sweeps: 0, rounds: 0, ending: false }
    }
}

impl Guide for Rounds {
    fn swept(&mut self, _: PartId, _: &Findings) {}

    fn after_sweep(&mut self) -> Verdict {
        self.sweeps += 1;
        if self.ending || self.sweeps == 2 { Verdict::Stop } else { Verdict::Focus { size: 9 } }
    }

    fn worked(&mut self, _: PartId, _: &Findings) {}

    fn after_round(&mut self) -> Verdict {
        self.rounds += 1;
        if self.ending || self.rounds == 2 { Verdict::Sweep } else { Verdict::Again }
    }

    fn orders(&self, sweep: bool) -> Vec<f64> {
        vec![if sweep { Self::SWEEP } else { 0.0 }]
    }

    fn width(&self) -> usize {
        self.width
    }

    fn mark(&mut self) -> Option<Mark> {
        None
    }

    fn wind_down(&mut self) {
        self.ending = true;
    }
}
