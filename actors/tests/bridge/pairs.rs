//! Two nodes, nothing in between.

use slackline::bridge::{AskError, PeerEvent};

use crate::stage::{Answer, LONG, Node, Note, Notes, Question, SCRIBE, settings};

fn numbers(n: u64) -> Vec<u64> {
    (0..n).collect()
}

#[actix::test]
async fn what_is_told_arrives_once_and_in_order() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    let link = a.bridge.link("b");
    (0..1000).for_each(|n| link.tell(SCRIBE, Note(n))); // before there is a session
    a.dial(&b, "b");
    b.written(1000).await;
    assert_eq!(*b.book.lock().unwrap(), numbers(1000));
    assert!(matches!(b.events.recv_timeout(LONG), Ok(PeerEvent::Up(peer)) if peer.node == "a"));
    assert!(matches!(a.events.recv_timeout(LONG), Ok(PeerEvent::Up(peer)) if peer.node == "b"));
}

#[actix::test]
async fn bulk_arrives_whatever_its_size() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    a.dial(&b, "b");
    let link = a.bridge.link("b");
    let sizes = [0, 1, 499, 500, 501, 16_000, 40_000, 300_000, 2_000_000];
    for (first, n) in (0..).zip(sizes.into_iter().cycle().take(40)) {
        link.tell(SCRIBE, Notes { first, values: vec![first as f32; n] });
    }
    b.written(40).await;
    assert_eq!(*b.book.lock().unwrap(), numbers(40));
}

#[actix::test]
async fn a_question_is_answered_whoever_dialled() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    a.dial(&b, "b");
    for (from, to) in [(&a, "b"), (&b, "a")] {
        let answer = from.bridge.link(to).ask(SCRIBE, Question(7), LONG).await;
        assert_eq!(answer, Ok(Answer { number: 7, so_far: vec![] }));
    }
}

#[actix::test]
async fn a_proxy_is_spoken_to_like_the_actor_itself() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    a.dial(&b, "b");
    let link = a.bridge.link("b");
    let (note, question) = (link.recipient::<Note>(SCRIBE), link.recipient::<Question>(SCRIBE));
    note.do_send(Note(1));
    note.send(Note(2)).await.unwrap(); // answered when it is written down
    assert_eq!(*b.book.lock().unwrap(), [1, 2]);
    assert_eq!(question.send(Question(3)).await.unwrap(), Answer { number: 3, so_far: vec![1, 2] });
}

#[actix::test]
async fn a_question_to_nobody_is_refused_and_one_without_an_answer_times_out() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    let link = a.bridge.link("b");
    let early = link.ask(SCRIBE, Question(1), std::time::Duration::from_millis(50)).await;
    assert_eq!(early, Err(AskError::Timeout));
    a.dial(&b, "b");
    b.directory.withdraw(SCRIBE.generation);
    let why = "nobody listens for it at the scheduler of generation 1".to_owned();
    assert_eq!(link.ask(SCRIBE, Question(1), LONG).await, Err(AskError::Refused(why)));
    link.tell(SCRIBE, Note(1)); // dropped there, and counted
    link.ask(SCRIBE, Question(1), LONG).await.unwrap_err();
    let dropped = b.bridge.traffic().into_iter().find(|traffic| traffic.message == "note/1").unwrap().dropped;
    assert_eq!(dropped.frames, 1);
}

#[actix::test]
async fn a_node_that_stops_says_goodbye_when_all_has_arrived() {
    let (a, b) = (Node::start(settings("a")), Node::start(settings("b")));
    a.dial(&b, "b");
    let link = a.bridge.link("b");
    (0..100).for_each(|n| link.tell(SCRIBE, Note(n)));
    (100..110).for_each(|first| link.tell(SCRIBE, Notes { first, values: vec![first as f32; 100_000] }));
    let bridge = a.bridge.clone();
    tokio::task::spawn_blocking(move || bridge.stop()).await.unwrap();
    b.written(110).await;
    assert!(matches!(b.events.recv_timeout(LONG), Ok(PeerEvent::Up(_))));
    let mut later = std::iter::from_fn(|| b.events.recv_timeout(LONG).ok());
    assert!(
        later.any(|event| matches!(event, PeerEvent::Goodbye(_))),
        "slow machines make it suspect before"
    );

    assert_eq!(link.ask(SCRIBE, Question(1), LONG).await, Err(AskError::Closed));
}
