//! Frames over a connection.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::batch::Batch;
use super::frame::{Decoder, Frame, FrameError, Kind, Limits, Prefix};
use super::wire::Parts;

/// Bytes that are read ahead from a peer; from a stranger, as many as a hello takes.
const AHEAD: usize = 64 * 1024;
const AHEAD_OF_STRANGERS: usize = 1024;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("the other side hung up")]
    HungUp,
    #[error("it does not keep to the protocol: {0}")]
    Frame(#[from] FrameError),
    #[error("it does not keep to the protocol: {0}")]
    Lane(#[from] super::session::LaneError),
    #[error("it takes nothing in")]
    Stalled,
    #[error("it has said goodbye")]
    Goodbye,
}

/// The receiving side: bytes read ahead, and the frame they are part of.
#[derive(Debug)]
pub(crate) struct Inbound {
    decoder: Decoder,
    ahead: Vec<u8>,
    from: usize,
    to: usize,
}

impl Inbound {
    /// For somebody who has proved nothing.
    pub(crate) fn stranger() -> Self {
        Self { decoder: Decoder::new(Limits::STRANGER), ahead: vec![0; AHEAD_OF_STRANGERS], from: 0, to: 0 }
    }

    /// After the proof.
    pub(crate) fn trust(&mut self) {
        self.decoder.limit(Limits::PEER);
        self.ahead.resize(AHEAD, 0);
    }

    /// Whether no byte is left that was read ahead.
    pub(crate) fn is_drained(&self) -> bool {
        self.from == self.to
    }

    /// The next frame.
    pub(crate) async fn next(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<Frame, Broken> {
        self.next_telling(stream, || ()).await
    }

    /// The same; says when bytes have come that do not complete it.
    pub(crate) async fn next_telling(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        stirred: impl Fn(),
    ) -> Result<Frame, Broken> {
        loop {
            if !self.is_drained() {
                let mut input = &self.ahead[self.from..self.to];
                let frame = self.decoder.feed(&mut input)?;
                self.from = self.to - input.len();
                if let Some(frame) = frame {
                    return Ok(frame);
                }
            }
            let wants = self.decoder.wants();
            if wants.len() >= self.ahead.len() / 2 {
                let n = stream.read(wants).await?;
                if let Some(frame) = self.decoder.advance(some(n)?)? {
                    return Ok(frame);
                }
                stirred();
            } else {
                (self.from, self.to) = (0, some(stream.read(&mut self.ahead).await?)?);
            }
        }
    }
}

fn some(n: usize) -> Result<usize, Broken> {
    if n == 0 { Err(Broken::HungUp) } else { Ok(n) }
}

/// Writes all frames of a batch.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), batch: &mut Batch) -> io::Result<()> {
    while batch.bytes() > 0 {
        write_some(stream, batch).await?;
    }
    stream.flush().await
}

/// Writes what the stream takes at once.
pub(crate) async fn write_some(stream: &mut (impl AsyncWrite + Unpin), batch: &mut Batch) -> io::Result<()> {
    let n = {
        let slices = batch.slices();
        std::future::poll_fn(|cx| Pin::new(&mut *stream).poll_write_vectored(cx, &slices)).await?
    };
    if n == 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    batch.wrote(n);
    Ok(())
}

/// Writes a frame that is nothing but a head.
pub(crate) async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    kind: Kind,
    flags: u8,
    head: &[u8],
) -> io::Result<()> {
    let mut batch = Batch::default();
    let head = head[..head.len().min(Limits::STRANGER.head)].to_vec();
    let prefix = Prefix { flags, head: head.len(), ..Prefix::new(kind) };
    batch.push(prefix, &Parts { head, segments: Vec::new() });
    write(stream, &mut batch).await
}
