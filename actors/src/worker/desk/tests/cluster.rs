//! Desks of a cluster: what they say of shards, and blocks that wander between nodes.

use super::*;

#[test]
fn in_a_cluster_a_report_names_the_shards_that_have_something_of_the_step() {
    let tables = Arc::new(vec![shared(), leased()]);
    let setting = Setting { transactional: true, ..setting(tables, 3, Consistency::Ssp(3)) };
    let mut desk = Desk::new(ME, setting, Arc::default());
    let commits = vec![(ShardId(0), 4), (ShardId(1), 5)];
    let actions = desk.assign(Assign { commits, ..step(1, 0) });
    let asked: Vec<_> = pulls(&actions).iter().map(|pull| pull.commits).collect();
    assert_eq!(asked, [4, 5], "the row is with shard 0, the block with shard 1");
    let rows: Vec<_> = pulls(&actions).iter().map(|pull| answer(pull, 0, 0, 0.0)).collect();
    let from = |number: u32, rows: &Rows| Rows { shard: ShardId(number), ..rows.clone() };
    desk.rows(from(0, &rows[0]));
    let step = computing(desk.rows(from(1, &rows[1]))).unwrap();
    desk.computed(Some(step.done(0.0)), Spent::default());
    let actions = desk.applied(Applied { shard: ShardId(1), sequence: 1, backup: false });
    assert_eq!(reports(&actions)[0].pushed, [ShardId(1)]);
}

#[test]
fn a_block_that_was_here_last_need_not_be_sent_again() {
    let tables = Arc::new(vec![Table::dense("blocks", 2, 1).leased_by_block(&[0, 1])]);
    let away = Arc::new([ShardId(0)].into());
    let setting = Setting { transactional: true, away, ..setting(tables, 1, Consistency::Ssp(9)) };
    let cache = Arc::<RowCache>::default();
    let mut desk = Desk::new(ME, setting.clone(), Arc::clone(&cache));
    let visit =
        |clock| Assign { task: Task { block: Some(BlockId(1)), ..step(clock, 0).task }, ..step(clock, 0) };
    let mut first = begin(&mut desk, visit(0), 0, 0.0);
    first.lease::<f32, 1>(["blocks"])[0].values()[0] = 8.0;
    desk.computed(Some(first.done(0.0)), Spent::default());
    desk.applied(acknowledged(1));

    let mut neighbour = Desk::new(WorkerId(1), setting, cache);
    let actions = neighbour.assign(visit(0));
    let (pull, block) = (pulls(&actions)[0], (TableId(0), BlockId(1)));
    assert_eq!(pull.known, [(block, Version(Some((ME, 1))))], "a node's workers know it from each other");
    let without = Rows { leases: Vec::new(), known_leases: vec![block], ..answer(pull, 0, 0, 0.0) };
    let mut second = computing(neighbour.rows(without)).unwrap();
    assert_eq!(second.lease::<f32, 1>(["blocks"])[0].values(), [8.0]);
    assert!(pulls(&desk.assign(visit(1)))[0].known.is_empty(), "it is in other hands");
}

#[test]
fn an_evaluation_is_sent_each_block_once_a_node() {
    let tables = Arc::new(vec![Table::dense("blocks", 2, 1).leased_by_block(&[0, 1])]);
    let away = Arc::new([ShardId(1)].into());
    let setting = Setting { transactional: true, away, ..setting(tables, 2, Consistency::Ssp(9)) };
    let mut desk = Desk::new(ME, setting, Arc::default());
    let look = |clock| Assign { task: Task::evaluate(PartId(0)), ..step(clock, 0) };
    let actions = desk.assign(look(0));
    let copy = |number| Lease {
        table: TableId(0),
        block: BlockId(number),
        version: Version(Some((WorkerId(3), 7))),
        rows: Arc::new(number_of(number)),
    };
    let number_of_shard = |pull: &Pull| pull.copies[0].1.0;
    let rows = |pull: &Pull| Rows {
        shard: ShardId(number_of_shard(pull)),
        copies: vec![copy(number_of_shard(pull))],
        ..answer(pull, 0, 0, 0.0)
    };
    let answers: Vec<_> = pulls(&actions).into_iter().map(rows).collect();
    let mut begun = answers.into_iter().filter_map(|rows| computing(desk.rows(rows)));
    let step = begun.next().unwrap();
    drop(begun);
    desk.computed(Some(step.done(0.0)), Spent::default());
    let actions = desk.assign(look(1));
    let known: Vec<_> = pulls(&actions).iter().map(|pull| pull.known.clone()).collect();
    assert_eq!(known, [vec![], vec![((TableId(0), BlockId(1)), Version(Some((WorkerId(3), 7))))]]);
}

fn number_of(block: u32) -> Buffer {
    number(block as f32)
}
