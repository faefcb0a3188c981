use super::*;
use proptest::prelude::*;

const WINDOW: u64 = 100;

/// One direction between two sides: what was pushed, what was delivered, and the frames on the present connection.
struct Pair {
    sender: LaneState<u64>,
    receiver: LaneState<u64>,
    sizes: Vec<u64>,
    wire: VecDeque<(u64, u64)>,
    delivered: Vec<u64>,
    /// Bytes delivered to the actor that it has not handled.
    open: VecDeque<u64>,
}

/// What may happen next.
#[derive(Debug, Clone, Copy)]
enum Event {
    Push(u64),
    Send,
    Receive,
    Handle,
    Acknowledge,
    Cut,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1u64..150).prop_map(Event::Push),
        4 => Just(Event::Send),
        4 => Just(Event::Receive),
        3 => Just(Event::Handle),
        3 => Just(Event::Acknowledge),
        1 => Just(Event::Cut),
    ]
}

impl Pair {
    fn new() -> Self {
        let (sender, receiver) = (LaneState::new(WINDOW), LaneState::new(WINDOW));
        let (sizes, wire, delivered, open) = (Vec::new(), VecDeque::new(), Vec::new(), VecDeque::new());
        Self { sender, receiver, sizes, wire, delivered, open }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Push(bytes) => {
                self.sender.push(self.sizes.len() as u64, bytes);
                self.sizes.push(bytes);
            }
            Event::Send => {
                if let Some((number, _, frame)) = self.sender.next() {
                    self.wire.push_back((number, *frame));
                }
            }
            Event::Receive => {
                if let Some((number, frame)) = self.wire.pop_front() {
                    let bytes = self.sizes[frame as usize];
                    if self.receiver.arrived(number, bytes).expect("the sender keeps to the window")
                        == Arrival::New
                    {
                        self.delivered.push(frame);
                        self.open.push_back(bytes);
                    }
                }
            }
            Event::Handle => {
                if let Some(bytes) = self.open.pop_front() {
                    self.receiver.handled(bytes);
                }
            }
            Event::Acknowledge => {
                let told = self.receiver.tell();
                drop(self.sender.acknowledged(told).expect("what it says is so"));
            }
            Event::Cut => {
                self.wire.clear();
                self.sender.resume(self.receiver.progress()).expect("what it says is so");
            }
        }
    }
}

proptest! {
    /// Wherever the connection is cut, every frame is delivered once and in order, and no more than a window is open.
    #[test]
    fn every_frame_is_delivered_once_and_in_order(events in proptest::collection::vec(event(), 0..400)) {
        let mut pair = Pair::new();
        for event in events {
            pair.happen(event);
            let open: u64 = pair.open.iter().sum();
            prop_assert!(open <= WINDOW || pair.open.len() == 1);
        }
        while pair.delivered.len() < pair.sizes.len() {
            [Event::Send, Event::Receive, Event::Handle, Event::Acknowledge].into_iter().for_each(|e| pair.happen(e));
        }
        prop_assert_eq!(pair.delivered, (0..pair.sizes.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_frame_that_came_before_is_dropped_and_a_gap_is_an_error() {
    let mut lane = LaneState::<()>::new(WINDOW);
    assert_eq!(lane.arrived(1, 10), Ok(Arrival::New));
    assert_eq!(lane.arrived(1, 10), Ok(Arrival::Again));
    assert_eq!(lane.arrived(3, 10), Err(LaneError::Gap { is: 3, due: 2 }));
}

#[test]
fn a_peer_that_sends_more_than_the_window_is_found_out() {
    let mut lane = LaneState::<()>::new(WINDOW);
    assert_eq!(lane.arrived(1, 500), Ok(Arrival::New), "a large frame may come alone");
    assert_eq!(lane.arrived(2, 1), Err(LaneError::Window { is: 501, window: WINDOW }));
}

#[test]
fn a_peer_cannot_acknowledge_what_was_never_sent() {
    let mut lane = LaneState::new(WINDOW);
    lane.push((), 10);
    let acked = |received, handled| Progress { received, handled };
    assert!(lane.acknowledged(acked(1, 0)).is_err());
    lane.next();
    assert!(lane.acknowledged(acked(1, 11)).is_err());
    assert!(lane.acknowledged(acked(1, 10)).is_ok());
    assert!(lane.resume(acked(0, 0)).is_err(), "it had the first frame before");
}

#[test]
fn a_frame_that_is_sent_again_is_marked() {
    let mut lane = LaneState::new(WINDOW);
    lane.push('a', 10);
    assert_eq!(lane.next(), Some((1, false, &'a')));
    assert_eq!(lane.resume(Progress { received: 0, handled: 0 }), Ok(vec![]));
    assert_eq!(lane.next(), Some((1, true, &'a')));
}
