//! The tie between the small copies and the real cores: along random walks both are told the same, and say the same.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use slackline::audit::Witness;
use slackline::id::ShardId;
use slackline::message::{Advance, Applied, Assign, Commit, Findings, Pull, Push, Report, Rows, Task};
use slackline::placement::Placement;
use slackline::scheduler::policy::{Mark, Next, Schedule};
use slackline::scheduler::{Dispatch, Halted, Order};
use slackline::shard::{Outgoing, Store};
use slackline::values::{Buffer, Content};
use slackline::worker::{Action as Act, Desk, RowCache, Setting, Spent};
use slackline::{Consistency, PartId, Step, Table, WorkerId};

use super::Protocol;
use super::parts::{Counts, Place, Rules, Said, Tasks, Word};
use super::system::{Action, Budget, Event, Lane, System, Told};

/// The tasks as a real schedule.
struct Queue(Tasks, u8);

impl Schedule for Queue {
    fn next(&mut self, _: WorkerId) -> Next {
        match self.0.next(self.1) {
            Ok(task) => {
                let part = PartId(u32::from(task % self.1));
                Next::Task(Task { orders: vec![f64::from(task)], ..Task::train(part) })
            }
            Err(true) => Next::Done,
            Err(false) => Next::Wait,
        }
    }

    fn finished(&mut self, task: &Task, _: &Findings) -> Option<Mark> {
        self.0.in_flight.remove(&number(task));
        None
    }

    fn put_back(&mut self, task: Task) {
        self.0.put_back(number(&task));
    }

    fn wind_down(&mut self) -> bool {
        false
    }
}

fn number(task: &Task) -> u8 {
    task.orders[0] as u8
}

/// A real message; the crews' words are only words here.
#[derive(Clone)]
enum Real {
    Assign(Assign),
    Pull(Pull),
    Rows(Rows),
    Push(Push),
    Applied(Applied),
    Report(Report),
    Commit(Commit),
    Advance(Advance),
    OfCrews(Word),
}

/// The real cores.
struct Cores {
    rules: Rules,
    tables: Arc<Vec<Table>>,
    dispatch: Dispatch,
    desks: BTreeMap<u8, Desk>,
    stores: BTreeMap<(u8, bool), Store>,
    steps: BTreeMap<u8, Step>,
    lanes: BTreeMap<Lane, VecDeque<Real>>,
}

impl Cores {
    fn new(protocol: &Protocol, system: &System) -> Self {
        let rules = protocol.rules.clone();
        let starts: Vec<u32> = (0..u32::from(rules.parts)).collect();
        let width = usize::from(rules.tasks);
        let sum = Table::dense("sum", rules.shards.into(), width).paged(width);
        let visits = Table::dense("visits", rules.parts.into(), 1).leased_by_part(&starts);
        let tables = Arc::new(vec![sum, visits]);
        let consistency = Consistency::Ssp(rules.s.into());
        let queue = Queue(system.scheduler.tasks.clone(), rules.parts);
        let dispatch = Dispatch::new(consistency, Box::new(queue), protocol.workers.into()).transactional();
        let placement = Placement::over(rules.shards.into());
        let store = |(shard, backup): &(u8, bool)| {
            let store = Store::new(ShardId((*shard).into()), placement, Arc::clone(&tables), consistency);
            let mut store = store.transactional();
            store.stand_by(*backup);
            ((*shard, *backup), store)
        };
        let stores = system.shards.keys().map(store).collect();
        let (desks, steps, lanes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut cores = Self { rules, tables, dispatch, desks, stores, steps, lanes };
        (0..protocol.workers).for_each(|worker| cores.seat(worker));
        cores
    }

    fn seat(&mut self, worker: u8) {
        let both =
            |shard: &u8| [false, true].iter().all(|backup| self.stores.contains_key(&(*shard, *backup)));
        let backed = (0..self.rules.shards).filter(both).map(|shard| ShardId(shard.into()));
        let setting = Setting {
            tables: Arc::clone(&self.tables),
            placement: Placement::over(self.rules.shards.into()),
            consistency: Consistency::Ssp(self.rules.s.into()),
            seed: 0,
            generation: 1,
            transactional: true,
            backed: Arc::new(backed.collect()),
            away: Arc::default(),
            budget: None,
            witness: Witness::default(),
        };
        self.desks.insert(worker, Desk::new(WorkerId(worker.into()), setting, Arc::new(RowCache::default())));
        self.steps.remove(&worker);
    }

    /// Does what the small copies did, and compares what follows.
    fn follow(&mut self, action: Action, event: Option<Event>, system: &System) {
        match action {
            Action::Die(worker) => drop(self.desks.remove(&worker)),
            Action::DieShard(shard) => drop(self.stores.remove(&(shard, false))),
            _ => {}
        }
        let heard = match action {
            Action::Deliver(lane) => self.lanes.get_mut(&lane).and_then(VecDeque::pop_front),
            Action::DeliverTwice(lane) => self.lanes[&lane].front().cloned(),
            _ => None,
        };
        if let Some(Event { told, said, prepared }) = event {
            let (from, really) = match &told {
                Told::Word((from, to)) => (*to, self.hear(*from, *to, heard.expect("there is a word"))),
                Told::Computed(worker) => (Place::Worker(*worker), self.compute(*worker)),
                Told::Regrouped { workers } => {
                    self.dispatch.regroup(workers.len());
                    self.lanes.retain(|(from, to), _| {
                        *to != Place::Scheduler
                            && (*from != Place::Scheduler || matches!(to, Place::Shard(..)))
                    });
                    (Place::Scheduler, Vec::new())
                }
            };
            let words: Vec<Said> = really.iter().map(|(to, real)| (*to, word(*to, real))).collect();
            assert_eq!(words, said, "{told:?}");
            if let Some(prepared) = prepared {
                let Place::Worker(worker) = from else { panic!("workers prepare steps") };
                assert_eq!(reads(&self.steps[&worker], &self.rules), prepared.reads, "{told:?}");
            }
            self.send(from, really, system);
        }
        self.keep_what_is_kept(system);
    }

    fn send(&mut self, from: Place, said: Vec<(Place, Real)>, system: &System) {
        let mut by_lane: BTreeMap<Lane, Vec<Real>> = BTreeMap::new();
        said.into_iter().for_each(|(to, real)| by_lane.entry((from, to)).or_default().push(real));
        for (lane, reals) in by_lane {
            let held = self.lanes.entry(lane).or_default();
            if system.lanes.get(&lane).is_some_and(|words| words.len() >= held.len() + reals.len()) {
                held.extend(reals); // the others went to somebody who is gone, or of another generation
            }
        }
    }

    /// Lanes that are gone there are gone here; what crews say has no core of its own.
    fn keep_what_is_kept(&mut self, system: &System) {
        self.lanes.retain(|lane, _| system.lanes.contains_key(lane));
        for (lane, words) in &system.lanes {
            let held = self.lanes.entry(*lane).or_default();
            held.extend(words.iter().skip(held.len()).map(|word| Real::OfCrews(word.clone())));
            assert_eq!(held.len(), words.len(), "{lane:?} holds {words:?}");
        }
    }

    fn hear(&mut self, from: Place, to: Place, real: Real) -> Vec<(Place, Real)> {
        match (to, real) {
            (_, Real::OfCrews(Word::Deploy { min })) => {
                self.deploy(to, min);
                vec![(Place::Scheduler, Real::OfCrews(Word::Deployed))]
            }
            (Place::Scheduler, real) => {
                let Place::Worker(worker) = from else { panic!("workers report") };
                let orders = match real {
                    Real::Report(report) => self.dispatch.report(report),
                    _ => self.dispatch.join(WorkerId(worker.into())),
                };
                self.ordered(orders)
            }
            (Place::Worker(worker), real) => {
                let desk = self.desks.get_mut(&worker).expect("is there");
                let actions = match real {
                    Real::Assign(assign) => desk.assign(assign),
                    Real::Rows(rows) => desk.rows(rows),
                    Real::Applied(applied) => desk.applied(applied),
                    _ => panic!("no such arrow"),
                };
                self.acted(worker, actions)
            }
            (Place::Shard(shard, backup), real) => {
                let store = self.stores.get_mut(&(shard, backup)).expect("is there");
                let out = match real {
                    Real::Pull(pull) => store.pull(pull).into_iter().collect(),
                    Real::Push(push) => store.push(push),
                    Real::Commit(commit) => store.commit(commit),
                    Real::Advance(advance) => store.advance(advance),
                    _ => panic!("no such arrow"),
                };
                out.into_iter().map(answered).collect()
            }
        }
    }

    fn deploy(&mut self, place: Place, min: u8) {
        match place {
            Place::Worker(worker) => self.seat(worker),
            Place::Shard(shard, backup) => {
                let mut store = self.stores.remove(&(shard, backup)).expect("is there");
                store.regroup(&Halted { min: slackline::Clock(min.into()), finished: Vec::new() });
                let stands_by = backup && self.stores.contains_key(&(shard, false));
                store.stand_by(stands_by);
                self.stores.insert((shard, stands_by), store);
            }
            Place::Scheduler => {}
        }
    }

    fn ordered(&self, orders: Vec<Order>) -> Vec<(Place, Real)> {
        let told = |these: &dyn Fn(ShardId) -> bool, real: &Real| {
            let holders = self.stores.keys().filter(|(shard, _)| these(ShardId((*shard).into())));
            holders.map(|(shard, backup)| (Place::Shard(*shard, *backup), real.clone())).collect()
        };
        let said = |order| match order {
            Order::Assign(worker, assign) => vec![(Place::Worker(worker.0 as u8), Real::Assign(assign))],
            Order::Advance(min) => told(&|_| true, &Real::Advance(Advance { min })),
            Order::Commit(worker, clock, pushed) => {
                told(&|shard| pushed.contains(&shard), &Real::Commit(Commit { worker, clock }))
            }
            Order::End(_) | Order::Mark(_) | Order::Enter(_) | Order::Checkpoint => Vec::new(),
        };
        orders.into_iter().flat_map(said).collect()
    }

    fn acted(&mut self, worker: u8, actions: Vec<Act>) -> Vec<(Place, Real)> {
        let mut said = Vec::new();
        for action in actions {
            match action {
                Act::Pull(shard, pull) => said.push((Place::Shard(shard.0 as u8, false), Real::Pull(pull))),
                Act::Push(shard, push) => {
                    let places = [false, true].map(|backup| (shard.0 as u8, backup));
                    let places = places
                        .into_iter()
                        .filter(|(shard, backup)| !backup || self.stores.contains_key(&(*shard, true)));
                    said.extend(
                        places.map(|(shard, backup)| (Place::Shard(shard, backup), Real::Push(push.clone()))),
                    );
                }
                Act::Report(report) => said.push((Place::Scheduler, Real::Report(report))),
                Act::Got(_) => panic!("shards send nothing by themselves"),
                Act::Compute(prepared) => drop(self.steps.insert(worker, prepared.0)),
            }
        }
        said
    }

    fn compute(&mut self, worker: u8) -> Vec<(Place, Real)> {
        let mut step = self.steps.remove(&worker).expect("a step is ready");
        let task = step.orders()[0] as usize;
        let mut sum = step.delta::<f32>("sum");
        (0..usize::from(self.rules.shards)).for_each(|row| sum.row(row)[task] += 1.0);
        step.add(sum);
        let [mut visits] = step.lease::<f32, 1>(["visits"]);
        visits.row(0)[0] += 1.0;
        let outcome = step.done(0.0);
        let desk = self.desks.get_mut(&worker).expect("computes");
        let actions = desk.computed(Some(outcome), Spent::default());
        self.acted(worker, actions)
    }
}

/// A real message in few words.
fn word(to: Place, real: &Real) -> Word {
    match real {
        Real::Assign(Assign { clock, min, task, .. }) => {
            Word::Assign { clock: clock.0 as u8, min: min.0 as u8, task: number(task) }
        }
        Real::Pull(pull) => Word::Pull {
            ticket: pull.ticket as u8,
            need: pull.need.0 as u8,
            page: !pull.pages.is_empty(),
            lease: pull.leases.first().map(|(_, block)| block.0 as u8),
        },
        Real::Rows(rows) => Word::Rows {
            ticket: rows.ticket as u8,
            min: rows.min.0 as u8,
            applied: match to {
                Place::Worker(worker) => rows.applied.get(usize::from(worker)).map_or(0, |n| *n as u8),
                _ => 0,
            },
            page: rows.pages.first().map(|page| counts(&page.rows)),
            lease: rows.leases.first().map(|lease| (lease.block.0 as u8, counts(&lease.rows)[0])),
        },
        Real::Push(push) => Word::Push {
            sequence: push.sequence as u8,
            clock: push.clock.0 as u8,
            task: counts(&push.deltas[0].rows).iter().position(|n| *n > 0).expect("adds for its task") as u8,
            returns: push.returns.first().map(|lease| (lease.block.0 as u8, counts(&lease.rows)[0])),
        },
        Real::Applied(applied) => Word::Applied { sequence: applied.sequence as u8 },
        Real::Report(report) => Word::Report { clock: report.clock.0 as u8 },
        Real::Commit(Commit { worker, clock }) => {
            Word::Commit { worker: worker.0 as u8, clock: clock.0 as u8 }
        }
        Real::Advance(Advance { min }) => Word::Advance { min: min.0 as u8 },
        Real::OfCrews(word) => word.clone(),
    }
}

fn answered(out: Outgoing) -> (Place, Real) {
    match out {
        Outgoing::Rows(worker, rows) => (Place::Worker(worker.0 as u8), Real::Rows(rows)),
        Outgoing::Applied(worker, applied) => (Place::Worker(worker.0 as u8), Real::Applied(applied)),
        Outgoing::Snapshot(..) => panic!("nobody asked for a snapshot"),
    }
}

fn counts(rows: &Buffer) -> Counts {
    let Buffer::F32(Content::Dense(values)) = rows else { panic!("dense numbers") };
    values.iter().map(|value| *value as u8).collect()
}

fn reads(step: &Step, rules: &Rules) -> Vec<Counts> {
    let sum = step.read::<f32>("sum");
    let row = |row: u8| {
        let mut values = vec![0.0; rules.tasks.into()];
        sum.copy_row(row.into(), &mut values);
        values.iter().map(|value| *value as u8).collect()
    };
    (0..rules.shards).map(row).collect()
}

#[test]
fn the_copies_say_what_the_real_cores_say() {
    for seed in 0..2000 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (shards, tasks) = (rng.random_range(1..3), rng.random_range(1..9));
        let budget = Budget { duplicates: 2, worker_deaths: 1, promotions: 1 };
        let protocol = Protocol::new(shards, tasks, rng.random_range(1..5), rng.random_range(0..4));
        let protocol = Protocol { budget, backed: rng.random(), workers: rng.random_range(1..4), ..protocol };
        let mut system = protocol.start();
        let mut cores = Cores::new(&protocol, &system);
        cores.keep_what_is_kept(&system);
        loop {
            let actions = system.actions();
            let Some(action) = actions.get(rng.random_range(0..actions.len().max(1))) else { break };
            let event = system.act(*action, &protocol.rules);
            cores.follow(*action, event, &system);
            assert_eq!(system.known.broken, None);
        }
        assert!(system.is_done() && system.all_is_in());
    }
}
