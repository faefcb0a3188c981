//! One connection of a lane at work: what is queued goes out, what comes in is delivered.

use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use super::batch::Batch;
use super::frame::Kind;
use super::net::Stream;
use super::room::Room;
use super::wire::Lane;
use super::wired::{Broken, Inbound, send, write_some};

/// A peer is told what was received within this time, if no frame tells it before.
pub(crate) const ACK_WITHIN: Duration = Duration::from_millis(5);
/// While a frame comes in that takes long, the peer is told so, lest it takes this side for stuck.
pub(crate) const STIR_WITHIN: Duration = Duration::from_millis(250);
/// Frames that are dealt with in a row before others have a turn.
const IN_A_ROW: u32 = 64;

/// Runs until the connection ends; says why it did.
pub(crate) async fn run(room: Rc<Room>, lane: Lane, stream: Box<dyn Stream>, inbound: Inbound) -> Broken {
    let (mut reader, mut writer) = tokio::io::split(stream);
    tokio::select! {
        biased;
        end = receive(&room, lane, &mut reader, inbound) => end,
        end = transmit(&room, lane, &mut writer) => end,
    }
}

async fn receive(
    room: &Rc<Room>,
    lane: Lane,
    reader: &mut (impl AsyncRead + Unpin),
    mut inbound: Inbound,
) -> Broken {
    let mut in_a_row = 0;
    loop {
        let frame = match inbound.next_telling(reader, || room.stirred(lane)).await {
            Ok(frame) => frame,
            Err(broken) => return broken,
        };
        if let Err(broken) = room.frame(lane, frame).await {
            return broken;
        }
        in_a_row += 1;
        if inbound.is_drained() || in_a_row >= IN_A_ROW {
            room.heard();
            room.bag.tray(lane).wake.notify_one();
            if in_a_row >= IN_A_ROW {
                tokio::task::yield_now().await;
            }
            in_a_row = 0;
        }
    }
}

async fn transmit(room: &Rc<Room>, lane: Lane, writer: &mut (impl AsyncWrite + Unpin)) -> Broken {
    let (line, wake, patience) = (room.line(lane), &room.bag.tray(lane).wake, room.longest_silence());
    let mut batch = Batch::default();
    let alarm = sleep_until(Instant::now() + patience);
    tokio::pin!(alarm);
    loop {
        room.collect(lane);
        room.fill(lane, &mut batch);
        if batch.bytes() > 0 {
            match put(writer, &mut batch, patience).await {
                Ok(()) => continue,
                Err(broken) => return broken,
            }
        }
        if room.leaving.get() && lane == Lane::Control && room.is_flushed() {
            timeout(patience, send(writer, Kind::Goodbye, 0, &[])).await.ok(); // nobody listens: so be it
            return Broken::Goodbye;
        }
        let dead = line.heard.get() + patience;
        if dead <= Instant::now() {
            return Broken::Stalled;
        }
        let due =
            [Some(dead), Some(line.keep_alive(patience)), line.ack_due.get()].into_iter().flatten().min();
        rest(wake, alarm.as_mut(), due).await;
    }
}

/// Writes a batch; as long as the other side takes something in now and then, it takes as long as it takes.
async fn put(
    writer: &mut (impl AsyncWrite + Unpin),
    batch: &mut Batch,
    patience: Duration,
) -> Result<(), Broken> {
    while batch.bytes() > 0 {
        timeout(patience, write_some(writer, batch)).await.map_err(|_| Broken::Stalled)??;
    }
    timeout(patience, writer.flush()).await.map_err(|_| Broken::Stalled)??;
    Ok(())
}

/// Waits for work, or until something is due. The alarm may ring early: setting it anew for every wait costs more.
async fn rest(wake: &tokio::sync::Notify, mut alarm: std::pin::Pin<&mut Sleep>, due: Option<Instant>) {
    match due {
        None => wake.notified().await,
        Some(due) => {
            if due < alarm.deadline() || alarm.is_elapsed() {
                alarm.as_mut().reset(due);
            }
            tokio::select! {
                biased;
                () = wake.notified() => {}
                () = alarm => {}
            }
        }
    }
}
