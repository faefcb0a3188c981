//! What a shard does with bulk: folding a dense update in, against a plain copy of as many bytes, and a million
//! small rows pulled.
//!
//! * `fold`: nobody else holds the pages, as when a worker has not read since. `fold, pages read`: a reader holds
//!   them, so that the shard writes to new ones.
//! * `pull`: a million rows of 16 `f32` (61 MiB) in whole pages of a thousand, in pages of one row, and gathered row
//!   by row; by the pure store, from the real actor on its own thread, and through an encoding both ways.

use std::sync::Arc;

use actix::prelude::*;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackline::bridge::encoded;
use slackline::id::{PageId, PageKey, ShardId, TableId};
use slackline::message::{Applied, Page, Pull, Push, Rows};
use slackline::placement::Placement;
use slackline::prelude::*;
use slackline::shard::{Introduce, Outgoing, Shard, Store, ToWorker};
use slackline::values::Content;
use slackline::{Element, Lifeline};
use slackline_benches::ProcessorTime;
use tokio::sync::{mpsc, oneshot};

/// Elements of a page, as tables have it unless told otherwise.
const PAGE: usize = 16 * 1024;
const MIB: usize = 1024 * 1024;
const ROWS: usize = 1_000_000;
const WIDTH: usize = 16;

fn store(table: Table) -> Store {
    Store::new(ShardId(0), Placement::over(1), Arc::new(vec![table]), Consistency::Async)
}

fn pull(n_pages: usize) -> Pull {
    let pages: Vec<PageKey> = (0..n_pages).map(|page| (TableId(0), PageId::at(page))).collect();
    let (leases, copies) = (Vec::new(), Vec::new());
    let (need, subscribe) = (Clock(0), false);
    Pull {
        worker: WorkerId(0),
        ticket: 1,
        need,
        after: 0,
        commits: 0,
        pages,
        rows: Vec::new(),
        leases,
        copies,
        known: Vec::new(),
        subscribe,
    }
}

fn fold<T: Element>(c: &mut Criterion<ProcessorTime>, one: T) {
    let name = format!("{:?}", T::KIND).to_lowercase();
    for mib in [1, 8] {
        let n = mib * MIB / size_of::<T>();
        let mut group = c.benchmark_group(format!("shard/{name}/{mib} MiB"));
        group.throughput(Throughput::Bytes((mib * MIB) as u64)).sample_size(30);

        let (from, mut to) = (vec![one; n], vec![T::default(); n]);
        group.bench_function("memcpy", |b| {
            b.iter(|| std::hint::black_box(&mut to[..]).copy_from_slice(std::hint::black_box(&from)));
        });

        let rows = Arc::new(T::erase(Content::Dense(vec![one; PAGE])));
        // An update has memory of its own for every page, as a worker's has.
        let deltas: Vec<Page> = (0..n / PAGE)
            .map(|page| Page {
                table: TableId(0),
                page: PageId::at(page),
                seen: 0,
                rows: Arc::new((*rows).clone()),
            })
            .collect();
        let mut store = store(Table::dense("row", 1, n).of::<T>().paged(PAGE));
        let mut sequence = 0;
        let mut push = |store: &mut Store| {
            sequence += 1;
            let (deltas, returns) = (deltas.clone(), Vec::new());
            store.push(Push {
                worker: WorkerId(0),
                sequence,
                clock: Clock(sequence),
                deltas,
                batches: Vec::new(),
                returns,
            })
        };
        group.bench_function("fold", |b| b.iter(|| push(&mut store)));
        let mut held = store.pull(pull(n / PAGE));
        group.bench_function("fold, pages read", |b| {
            b.iter(|| {
                let out = push(&mut store);
                held = store.pull(pull(n / PAGE));
                out
            });
        });
        drop(held);
        group.finish();
    }
}

/// A worker that only notes when its rows are there.
struct Reader(Option<oneshot::Sender<usize>>);

impl Actor for Reader {
    type Context = Context<Self>;
}

impl Handler<Rows> for Reader {
    type Result = ();
    fn handle(&mut self, rows: Rows, _: &mut Self::Context) {
        self.0.take().expect("one answer").send(n_rows(&rows)).expect("the bench waits");
    }
}

impl Handler<Applied> for Reader {
    type Result = ();
    fn handle(&mut self, _: Applied, _: &mut Self::Context) {}
}

/// Rows of the table that came.
fn n_rows(rows: &Rows) -> usize {
    let values =
        rows.pages.iter().map(|page| &page.rows).chain(rows.batches.iter().map(|batch| &batch.values));
    values.map(|values| values.n_values()).sum::<usize>() / WIDTH
}

/// Has the shard answer `pull`, after it was told about a new reader.
async fn round(shard: &Addr<Shard>, pull: Pull, through_encoding: bool) {
    let (done, arrived) = oneshot::channel();
    let reader = Reader(Some(done)).start();
    let (rows, applied) = (reader.clone().recipient(), reader.recipient());
    let (rows, to_shard) = match through_encoding {
        true => (encoded(rows), encoded(shard.clone().recipient())),
        false => (rows, shard.clone().recipient()),
    };
    shard.do_send(Introduce([(WorkerId(0), ToWorker { rows, applied })].into()));
    to_shard.do_send(pull);
    assert_eq!(arrived.await.expect("rows arrive"), ROWS);
}

/// A million rows by name, by how they are asked for.
fn ways() -> [(&'static str, Table, Pull); 3] {
    let table = |rows_per_page| Table::dense("rows", ROWS, WIDTH).paged(rows_per_page * WIDTH);
    let numbers = (0..ROWS as u32).collect();
    let singly = Pull { rows: vec![(TableId(0), Arc::new(numbers))], ..pull(0) };
    [
        ("whole pages", table(1024), pull(ROWS.div_ceil(1024))),
        ("one row a page", table(1), pull(ROWS)),
        ("single rows", table(1024), singly),
    ]
}

fn pulls(c: &mut Criterion<ProcessorTime>) {
    let mut group = c.benchmark_group("shard/pull of 1e6 rows");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(10);
    for (name, table, pull) in ways() {
        let mut store = store(table);
        group.bench_function(format!("store/{name}"), |b| {
            b.iter(|| {
                let Some(Outgoing::Rows(_, rows)) = store.pull(pull.clone()) else { panic!("rows are due") };
                assert_eq!(n_rows(&rows), ROWS);
                rows
            });
        });
    }
    group.finish();
}

/// By the clock on the wall: the shard has a thread of its own.
fn pulls_from_the_actor(c: &mut Criterion) {
    let mut group = c.benchmark_group("shard/pull of 1e6 rows");
    group.throughput(Throughput::Elements(ROWS as u64)).sample_size(10);
    for (name, table, pull) in ways() {
        let system = System::new();
        let arbiter = system.block_on(async { Arbiter::new() });
        let lifeline = Lifeline::new("shard".to_owned(), Arc::default(), mpsc::unbounded_channel().0);
        let start = move |_: &mut Context<Shard>| Shard::new(store(table), lifeline);
        let shard = Shard::start_in_arbiter(&arbiter.handle(), start);
        for (route, through_encoding) in [("actor", false), ("encoded", true)] {
            group.bench_function(format!("{route}/{name}"), |b| {
                b.iter(|| system.block_on(round(&shard, pull.clone(), through_encoding)));
            });
        }
        arbiter.stop();
    }
    group.finish();
}

fn folds(c: &mut Criterion<ProcessorTime>) {
    fold::<f32>(c, 1.0);
    fold::<f64>(c, 1.0);
}

criterion_group!(actor, pulls_from_the_actor);
criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(ProcessorTime);
    targets = folds, pulls
}
criterion_main!(benches, actor);
