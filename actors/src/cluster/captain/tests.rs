use super::*;
use std::time::Duration;

fn expected(names: &[&str]) -> Vec<Expected> {
    names.iter().map(|name| Expected { name: (*name).to_owned(), workers: 1, shards: 1 }).collect()
}

fn arrival(name: &str, incarnation: u64) -> Arrival {
    Arrival {
        name: name.to_owned(),
        incarnation,
        address: format!("{name}:1"),
        workers: 1,
        shards: 1,
        late: false,
        generation: 0,
    }
}

/// A run of these nodes, the first one leading, in its first generation.
fn running(names: &[&str], replicas: usize) -> Captain {
    let mut captain = Captain::new(expected(names), replicas, false);
    names.iter().for_each(|name| drop(captain.came(arrival(name, 1))));
    let commands: Vec<_> = names.iter().flat_map(|name| captain.ready(name)).collect();
    assert!(matches!(&commands[..], [Command::Deploy(layout, Origin::Saved)] if layout.generation == 1));
    complete(&mut captain);
    captain
}

/// Everyone deploys, and rows are brought where they lack; returns what was commanded.
fn complete(captain: &mut Captain) -> Vec<Command> {
    let generation = captain.layout().generation;
    let names: Vec<_> = captain.members.keys().cloned().collect();
    let mut commands: Vec<_> = names.iter().flat_map(|name| captain.deployed(name, generation)).collect();
    if matches!(commands[..], [Command::Fill { .. }]) {
        commands.extend(captain.filled(generation));
    }
    assert_eq!(commands.last(), Some(&Command::Begin(generation)));
    commands
}

fn deployed_layout(commands: &[Command]) -> (Layout, Origin) {
    let deploy = |command: &Command| match command {
        Command::Deploy(layout, origin) => Some((layout.clone(), *origin)),
        _ => None,
    };
    commands.iter().find_map(deploy).expect("a new generation")
}

#[test]
fn a_worker_has_the_number_that_the_topology_gives_it_whoever_comes_first() {
    let mut captain = Captain::new(expected(&["a", "b", "c"]), 0, false);
    ["c", "a", "b"].iter().for_each(|name| drop(captain.came(arrival(name, 1))));
    let layout = ["c", "a", "b"].iter().flat_map(|name| captain.ready(name)).collect::<Vec<_>>();
    let (layout, _) = deployed_layout(&layout);
    let workers: Vec<_> = layout.workers.iter().map(|(worker, name)| (worker.0, name.as_str())).collect();
    assert_eq!(workers, [(0, "a"), (1, "b"), (2, "c")]);
}

#[test]
fn with_replicas_a_dead_nodes_rows_are_kept_and_new_backups_are_filled() {
    let mut captain = running(&["a", "b", "c"], 1);
    let commands = captain.lost("b", "silent", false);
    let (layout, origin) = deployed_layout(&commands);
    assert_eq!((layout.generation, origin), (2, Origin::Kept));
    assert_eq!(layout.workers.len(), 2);
    let commands = complete(&mut captain);
    assert!(
        matches!(&commands[0], Command::Fill { origin: Origin::Kept, backups, .. } if backups.len() == 2)
    );
}

#[test]
fn without_replicas_the_run_goes_back_to_what_was_saved() {
    let mut captain = running(&["a", "b", "c"], 0);
    let commands = captain.lost("b", "silent", false);
    let (layout, origin) = deployed_layout(&commands);
    assert_eq!(origin, Origin::Saved);
    assert!(layout.shards.iter().all(|holders| holders.primary != "b"));
    assert!(commands.iter().any(|c| matches!(c, Command::Fence(name, 1, _) if name == "b")));
}

#[test]
fn a_second_death_while_rows_are_brought_counts_only_holders_that_had_theirs() {
    let mut captain = running(&["a", "b", "c"], 1);
    captain.lost("b", "silent", false); // the shard of b is with c, and a is to stand by for it
    let (_, origin) = deployed_layout(&captain.lost("c", "silent", false));
    assert_eq!(origin, Origin::Saved, "a had not got the rows yet");
}

#[test]
fn a_node_that_comes_back_has_none_of_the_rows_it_had() {
    let mut captain = running(&["a", "b", "c"], 1);
    captain.lost("b", "silent", false);
    captain.came(arrival("b", 2));
    let (layout, origin) = deployed_layout(&captain.ready("b"));
    assert_eq!(
        (origin, layout.shards[1].primary.as_str()),
        (Origin::Kept, "c"),
        "b had shard 1, in another life"
    );
    let commands = complete(&mut captain);
    let [Command::Fill { backups, .. }, ..] = &commands[..] else { panic!("{commands:?}") };
    let stands_by = |shard: &&ShardId| layout.shards[shard.index()].backup.as_deref() == Some("b");
    let b_stands_by = layout.shards_of("b").count();
    assert_eq!(
        backups.iter().filter(stands_by).count(),
        b_stands_by,
        "b is brought all the rows that it is to have"
    );
}

#[test]
fn nobody_waits_for_a_dead_node_that_hosts_nothing() {
    let mut captain = Captain::new(expected(&["a", "b"]), 0, false);
    captain.came(arrival("a", 1));
    captain.came(Arrival { workers: 0, shards: 0, ..arrival("b", 1) });
    captain.ready("a");
    captain.ready("b");
    captain.deployed("a", 1);
    let commands = captain.lost("b", "silent", false);
    assert!(matches!(commands.last(), Some(Command::Fill { .. })), "{commands:?}");
}

#[test]
fn a_death_while_everything_is_rebuilt_has_it_rebuilt_again() {
    let mut captain = running(&["a", "b", "c"], 0);
    captain.lost("b", "silent", false);
    let (layout, origin) = deployed_layout(&captain.lost("c", "silent", false));
    assert_eq!((origin, layout.generation), (Origin::Saved, 3));
    assert!(layout.shards.iter().all(|holders| holders.primary == "a"));
}

#[test]
fn words_of_an_older_generation_change_nothing() {
    let mut captain = running(&["a", "b", "c"], 1);
    captain.lost("b", "silent", false);
    assert_eq!(captain.deployed("a", 1), []);
    assert_eq!(captain.filled(1), []);
}

#[test]
fn nodes_that_do_not_come_are_named() {
    let mut captain = Captain::new(expected(&["a", "b", "c"]), 0, false);
    captain.came(arrival("a", 1));
    let commands = captain.lose_patience(Duration::from_secs(60));
    let [Command::End(Err(why))] = &commands[..] else { panic!("{commands:?}") };
    assert!(why.starts_with("b, c did not come within 60 s"), "{why}");
}

#[test]
fn a_lead_that_was_started_again_goes_on_with_those_who_are_there() {
    let mut captain = Captain::new(expected(&["a", "b", "c"]), 0, true);
    for name in ["a", "c"] {
        captain.came(Arrival { generation: 7, ..arrival(name, 1) });
        captain.ready(name);
    }
    let (layout, origin) = deployed_layout(&captain.lose_patience(Duration::from_secs(10)));
    assert_eq!((layout.generation, origin), (8, Origin::Saved));
    assert_eq!(layout.shards.len(), 3);
    assert!(layout.shards.iter().all(|holders| holders.primary != "b"));
}

#[test]
fn one_who_joins_gets_new_workers_and_the_run_goes_on() {
    let mut captain = running(&["a", "b"], 0);
    let late = Arrival { late: true, shards: 0, workers: 2, ..arrival("d", 1) };
    assert_eq!(captain.admit(&late), Ok(()));
    captain.came(late);
    let (layout, origin) = deployed_layout(&captain.ready("d"));
    assert_eq!(origin, Origin::Kept);
    assert_eq!(layout.workers_of("d").collect::<Vec<_>>(), [WorkerId(2), WorkerId(3)]);
}

#[test]
fn strangers_and_doubles_are_refused_by_name() {
    let captain = running(&["a", "b"], 0);
    let why = captain.admit(&arrival("x", 1)).unwrap_err();
    assert_eq!(why, "x is not in the topology, which has a, b");
    let why = captain.admit(&arrival("b", 2)).unwrap_err();
    assert_eq!(why, "a node called b is in the run already");
}

#[test]
fn without_a_worker_the_run_ends() {
    let mut captain = Captain::new(expected(&["a", "b"]), 0, false);
    captain.came(Arrival { workers: 0, ..arrival("a", 1) });
    captain.came(arrival("b", 1));
    captain.ready("a");
    captain.ready("b");
    complete(&mut captain);
    let commands = captain.lost("b", "silent", false);
    assert!(commands.contains(&Command::End(Err("no worker is left".to_owned()))));
}
