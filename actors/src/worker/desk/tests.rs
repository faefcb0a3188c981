mod cluster;
mod early;

use super::*;
use crate::app::{Outcome, Step};
use crate::audit::Witness;
use crate::id::{BlockId, BlockKey, PageId};
use crate::message::{Failure, Page, Task, Version};
use crate::rule::{Beside, Rule, UpdateRule};
use crate::values::{Buffer, Content};

const ME: WorkerId = WorkerId(0);
const PAGE: PageKey = (TableId(0), PageId(0));

/// A desk of a job with one shared number, and one leased block per part.
fn desk(consistency: Consistency) -> Desk {
    desk_of(consistency, vec![shared(), leased()], 1)
}

fn desk_of(consistency: Consistency, tables: Vec<Table>, n_shards: usize) -> Desk {
    let tables = Arc::new(tables);
    let setting = setting(tables, n_shards, consistency);
    Desk::new(ME, setting, Arc::default())
}

fn shared() -> Table {
    Table::dense("sum", 1, 1)
}

fn leased() -> Table {
    Table::dense("blocks", 4, 1).leased_by_part(&[0, 1, 2, 3])
}

fn step(clock: u64, min: u64) -> Assign {
    Assign {
        clock: Clock(clock),
        min: Clock(min),
        staleness: None,
        commits: Vec::new(),
        flush: false,
        task: Task::train(PartId(clock as u32 % 4)),
    }
}

fn number(value: f32) -> Buffer {
    Buffer::F32(Content::Dense(vec![value]))
}

/// The answer to a pull, as a shard at `min` that has applied `applied` of this worker's pushes gives it.
fn answer(pull: &Pull, min: u64, applied: u64, value: f32) -> Rows {
    let lease = |(table, block): &BlockKey| Lease {
        table: *table,
        block: *block,
        version: Version::default(),
        rows: Arc::new(number(0.0)),
    };
    let page = |key: &PageKey| Page { table: key.0, page: key.1, seen: 0, rows: Arc::new(number(value)) };
    Rows {
        shard: ShardId(0),
        ticket: pull.ticket,
        min: Clock(min),
        applied: Arc::new(vec![applied]),
        pages: pull.pages.iter().map(page).collect(),
        withheld: Vec::new(),
        batches: Vec::new(),
        leases: pull.leases.iter().map(lease).collect(),
        copies: Vec::new(),
        known_leases: Vec::new(),
        known_copies: Vec::new(),
    }
}

fn pulls<'a>(actions: &'a [Action]) -> Vec<&'a Pull> {
    let pull = |action: &'a Action| match action {
        Action::Pull(_, pull) => Some(pull),
        _ => None,
    };
    actions.iter().filter_map(pull).collect()
}

fn reports<'a>(actions: &'a [Action]) -> Vec<&'a Report> {
    let report = |action: &'a Action| match action {
        Action::Report(report) => Some(report),
        _ => None,
    };
    actions.iter().filter_map(report).collect()
}

fn computing(actions: Vec<Action>) -> Option<Step> {
    actions.into_iter().find_map(|action| match action {
        Action::Compute(Prepared(step)) => Some(step),
        _ => None,
    })
}

/// What an app makes of a step: adds `value` to the shared number.
fn adding(mut step: Step, value: f32) -> Option<Outcome> {
    let mut delta = step.delta::<f32>("sum");
    delta.row(0)[0] = value;
    step.add(delta);
    Some(step.done(0.0))
}

fn setting(tables: Arc<Vec<Table>>, n_shards: usize, consistency: Consistency) -> Setting {
    Setting {
        tables,
        placement: Placement::over(n_shards),
        consistency,
        seed: 0,
        generation: 1,
        transactional: false,
        backed: Arc::default(),
        away: Arc::default(),
        budget: None,
        witness: Witness::default(),
    }
}

fn acknowledged(sequence: u64) -> Applied {
    Applied { shard: ShardId(0), sequence, backup: false }
}

/// Assigns a step and answers its pull; returns the step that begins to compute.
fn begin(desk: &mut Desk, assign: Assign, applied: u64, value: f32) -> Step {
    let min = assign.min.0;
    let actions = desk.assign(assign);
    let pull = pulls(&actions)[0].clone();
    computing(desk.rows(answer(&pull, min, applied, value))).expect("it has all it needs")
}

#[test]
fn a_step_is_computed_when_its_rows_and_leases_are_there() {
    let mut desk = desk(Consistency::Bsp);
    let actions = desk.assign(step(0, 0));
    let [Action::Pull(ShardId(0), pull)] = &actions[..] else { panic!("one message to the one shard") };
    assert_eq!((&pull.pages[..], &pull.leases[..]), (&[PAGE][..], &[(TableId(1), BlockId(0))][..]));
    let mut step = computing(desk.rows(answer(pull, 0, 0, 7.0))).unwrap();
    assert_eq!(step.read::<f32>("sum").row(0), [7.0]);
    assert_eq!(step.lease::<f32, 1>(["blocks"])[0].rows(), 0..1);
}

#[test]
fn a_step_waits_for_every_shard_it_asked() {
    let mut desk = desk_of(Consistency::Bsp, vec![Table::dense("two", 2, 1).paged(1)], 2);
    let actions = desk.assign(step(0, 0));
    let asked = pulls(&actions);
    assert_eq!(asked.len(), 2);
    assert!(computing(desk.rows(answer(asked[0], 0, 0, 0.0))).is_none());
    let second = Rows { shard: ShardId(1), ..answer(asked[1], 0, 0, 0.0) };
    assert!(computing(desk.rows(second)).is_some());
}

#[test]
fn the_next_steps_rows_are_on_their_way_while_this_one_computes() {
    let mut desk = desk(Consistency::Ssp(2));
    begin(&mut desk, step(0, 0), 0, 0.0);
    let actions = desk.assign(step(1, 0));
    assert_eq!(pulls(&actions)[0].leases, [(TableId(1), BlockId(1))]);
    let prefetched = answer(pulls(&actions)[0], 0, 0, 0.0);
    assert!(desk.rows(prefetched).is_empty(), "it waits for the step before it");
}

#[test]
fn a_prefetched_step_reads_what_this_worker_wrote_after_the_prefetch() {
    let mut desk = desk(Consistency::Ssp(2));
    let first = begin(&mut desk, step(0, 0), 0, 10.0);
    desk.assign(step(1, 0)); // its page comes from the cache, as it was before the first step
    let prefetched = desk.waiting[0].ticket;
    let lease = Pull { pages: Vec::new(), ..lease_of(1, prefetched) };
    desk.rows(answer(&lease, 0, 0, 0.0));
    let second = computing(desk.computed(adding(first, 5.0), Spent::default())).unwrap();
    assert_eq!(second.read::<f32>("sum").row(0), [15.0]);
}

fn lease_of(block: u32, ticket: u64) -> Pull {
    Pull {
        worker: ME,
        ticket,
        need: Clock(0),
        after: 0,
        commits: 0,
        pages: Vec::new(),
        rows: Vec::new(),
        leases: vec![(TableId(1), BlockId(block))],
        copies: Vec::new(),
        known: Vec::new(),
        subscribe: false,
    }
}

#[test]
fn an_update_that_a_reading_contains_is_not_counted_twice() {
    let mut desk = desk_of(Consistency::Ssp(0), vec![shared()], 1);
    let first = begin(&mut desk, step(0, 0), 0, 0.0);
    desk.computed(adding(first, 5.0), Spent::default());
    desk.applied(acknowledged(1));
    let second = begin(&mut desk, step(1, 1), 1, 5.0);
    assert_eq!(second.read::<f32>("sum").row(0), [5.0]);
}

#[test]
fn under_ssp_a_cached_row_serves_until_it_is_too_old() {
    let mut desk = desk_of(Consistency::Ssp(2), vec![shared()], 1);
    let mut step_0 = Some(begin(&mut desk, step(0, 0), 0, 0.0));
    for clock in 1..3 {
        let actions = desk.assign(step(clock, clock));
        assert!(pulls(&actions).is_empty(), "clock {clock} may read what was read at 0");
        step_0 = computing(desk.computed(step_0.map(|step| step.done(0.0)), Spent::default()));
        assert!(step_0.is_some());
    }
    let actions = desk.assign(step(3, 3));
    assert_eq!(pulls(&actions)[0].need, Clock(1));
}

#[test]
fn a_fresh_step_reads_past_the_cache() {
    let mut desk = desk_of(Consistency::Ssp(9), vec![shared()], 1);
    let first = begin(&mut desk, step(0, 0), 0, 0.0);
    desk.computed(Some(first.done(0.0)), Spent::default());
    let fresh = Assign { task: Task { fresh: true, ..Task::train(PartId(0)) }, ..step(4, 4) };
    let actions = desk.assign(fresh);
    assert_eq!(pulls(&actions)[0].need, Clock(4));
}

#[test]
fn workers_of_a_process_share_what_they_read() {
    let tables = Arc::new(vec![shared()]);
    let setting = setting(tables, 1, Consistency::Ssp(1));
    let cache = Arc::new(RowCache::default());
    let mut mine = Desk::new(ME, setting.clone(), Arc::clone(&cache));
    let mut yours = Desk::new(WorkerId(1), setting, cache);
    begin(&mut mine, step(0, 0), 0, 3.0);
    let step = computing(yours.assign(step(0, 0))).expect("nothing to pull");
    assert_eq!(step.read::<f32>("sum").row(0), [3.0]);
}

#[test]
fn a_step_is_reported_when_every_shard_has_acknowledged_its_updates() {
    let mut desk = desk_of(Consistency::Bsp, vec![shared()], 1);
    let first = begin(&mut desk, step(0, 0), 0, 0.0);
    let actions = desk.computed(adding(first, 1.0), Spent::default());
    assert!(matches!(&actions[..], [Action::Push(ShardId(0), Push { sequence: 1, .. })]));
    assert_eq!(reports(&desk.applied(acknowledged(1))).len(), 1);
    assert!(desk.applied(acknowledged(1)).is_empty(), "acknowledged again: reported once");
}

#[test]
fn a_step_without_updates_is_reported_at_once() {
    let mut desk = desk_of(Consistency::Bsp, vec![shared()], 1);
    let first = begin(&mut desk, step(0, 0), 0, 0.0);
    let actions = desk.computed(Some(first.done(2.5)), Spent { computed: 3, waited: 4 });
    let report = reports(&actions)[0];
    assert_eq!((report.computed, report.waited), (3, 4));
    assert_eq!(report.result.as_ref().unwrap().cost, 2.5);
}

#[test]
fn reports_come_in_clock_order_however_acknowledgements_come() {
    let mut desk = desk_of(Consistency::Ssp(2), vec![shared()], 1);
    let first = begin(&mut desk, step(0, 0), 0, 0.0);
    desk.assign(step(1, 0));
    let second = computing(desk.computed(adding(first, 1.0), Spent::default())).unwrap();
    desk.computed(adding(second, 1.0), Spent::default());
    assert!(desk.applied(acknowledged(2)).is_empty(), "clock 0 is not acknowledged");
    let actions = desk.applied(acknowledged(1));
    let clocks: Vec<u64> = reports(&actions).iter().map(|report| report.clock.0).collect();
    assert_eq!(clocks, [0, 1]);
}

#[test]
fn a_panic_without_leases_can_be_tried_again() {
    let mut desk = desk_of(Consistency::Bsp, vec![shared()], 1);
    drop(begin(&mut desk, step(0, 0), 0, 0.0));
    let actions = desk.computed(None, Spent::default());
    let why = "worker 0: the app panicked on part 0 at clock 0".to_owned();
    assert_eq!(reports(&actions)[0].result, Err(Failure::Again(why)));
}

#[test]
fn a_panic_with_leased_rows_is_fatal() {
    let mut desk = desk(Consistency::Bsp);
    drop(begin(&mut desk, step(0, 0), 0, 0.0));
    let actions = desk.computed(None, Spent::default());
    let why = "worker 0: the app panicked on part 0 at clock 0 with leased rows in its hands, which are lost";
    assert_eq!(reports(&actions)[0].result, Err(Failure::Fatal(why.to_owned())));
}

#[test]
fn a_cost_that_is_not_finite_is_fatal() {
    let mut desk = desk_of(Consistency::Bsp, vec![shared()], 1);
    let first = begin(&mut desk, step(3, 3), 0, 0.0);
    let actions = desk.computed(Some(first.done(f64::INFINITY)), Spent::default());
    let why = "the objective of part 3 is inf at clock 3: the run diverged".to_owned();
    assert_eq!(reports(&actions)[0].result, Err(Failure::Fatal(why)));
}

#[test]
fn leased_blocks_go_back_with_the_updates() {
    let mut desk = desk(Consistency::Bsp);
    let mut first = begin(&mut desk, step(0, 0), 0, 0.0);
    first.lease::<f32, 1>(["blocks"])[0].values()[0] = 8.0;
    let actions = desk.computed(adding(first, 1.0), Spent::default());
    let [Action::Push(_, push)] = &actions[..] else { panic!("one push") };
    assert_eq!((push.deltas.len(), &*push.returns[0].rows), (1, &number(8.0)));
}

#[test]
fn an_evaluation_looks_at_every_block_that_the_schedule_leases() {
    let blocks = Table::dense("blocks", 4, 1).leased_by_block(&[0, 1, 3]);
    let mut desk = desk_of(Consistency::Bsp, vec![blocks], 1);
    let actions = desk.assign(Assign { task: Task::evaluate(PartId(0)), ..step(0, 0) });
    let pull = pulls(&actions)[0];
    assert_eq!((pull.leases.len(), pull.copies.len()), (0, 3));
}

#[derive(Debug)]
struct Halve;

impl UpdateRule for Halve {
    fn fold(&self, page: &mut Buffer, delta: &Buffer, _: Beside<'_>) {
        page.add(delta);
    }
}

#[test]
fn where_the_shard_runs_its_own_rule_a_worker_reads_after_it_wrote() {
    let table = shared().rule(Rule::Custom(Arc::new(Halve)));
    let mut desk = desk_of(Consistency::Ssp(3), vec![table], 1);
    let first = begin(&mut desk, step(0, 0), 0, 0.0);
    assert!(desk.assign(step(1, 0)).is_empty(), "no prefetch: the first step's update must be in");
    let actions = desk.computed(adding(first, 1.0), Spent::default());
    let [Action::Push(_, push), Action::Pull(_, pull)] = &actions[..] else { panic!("push, then pull") };
    assert_eq!((push.sequence, pull.after), (1, 1));
}

#[test]
fn a_step_says_how_old_its_oldest_row_was() {
    let mut desk = desk_of(Consistency::Ssp(2), vec![shared()], 1);
    let actions = desk.assign(step(2, 1));
    let pull = pulls(&actions)[0].clone();
    let first = computing(desk.rows(answer(&pull, 1, 0, 0.0))).unwrap();
    let actions = desk.computed(Some(first.done(0.0)), Spent::default());
    assert_eq!(reports(&actions)[0].staleness, 1);
}

#[test]
fn the_outbox_does_not_grow_with_the_run() {
    for consistency in [Consistency::Bsp, Consistency::Ssp(3), Consistency::Essp(3), Consistency::Async] {
        let mut desk = desk_of(consistency, vec![shared()], 1);
        for clock in 0..50 {
            let mut actions = desk.assign(step(clock, clock));
            if let Some(pull) = pulls(&actions).first().copied().cloned() {
                actions = desk.rows(answer(&pull, clock, clock, 0.0));
            }
            let step = computing(actions).unwrap();
            desk.computed(adding(step, 1.0), Spent::default());
            desk.applied(acknowledged(clock + 1));
            assert!(desk.outbox.len() <= 4, "{consistency}: {} updates kept", desk.outbox.len());
        }
    }
}
