//! A process of the launch: its pipes, its end, and the ways to end it.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::node::{END, STOP};

/// What a process wrote or did. `number` tells the processes of a node apart that was started again.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) node: String,
    pub(super) number: u32,
    pub(super) what: What,
}

/// What a process wrote or did.
#[derive(Debug)]
pub(super) enum What {
    /// A line on stdout.
    Out(String),
    /// A line on stderr.
    Err(String),
    /// A file that should have been sent to it could not be.
    Unsent(String),
    /// It ended; all its lines have been reported.
    Ended(ExitStatus),
}

/// What goes into a process's standard input before it is left open.
pub(super) struct Parcel {
    /// The first line. It holds the token.
    pub(super) line: String,
    /// Files with their lengths, behind it.
    pub(super) files: Vec<(PathBuf, u64)>,
}

/// A process of the launch. Dropping it lets go of the process, and kills what does not end by itself.
pub(super) struct Running {
    pub(super) pid: u32,
    pub(super) number: u32,
    /// Lines for its standard input, which ends when this is dropped.
    lines: Option<UnboundedSender<&'static str>>,
    kill: Option<oneshot::Sender<()>>,
}

impl Running {
    /// Starts a process.
    pub(super) fn start(
        mut command: Command,
        (node, number): (&str, u32),
        parcel: Arc<Parcel>,
        reports: &Sender<Report>,
    ) -> std::io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let pid = child.id().unwrap_or_default();
        let mouth = Mouth { node: node.to_owned(), number, reports: reports.clone() };
        let out = child.stdout.take().map(|pipe| mouth.clone().read(pipe, What::Out));
        let err = child.stderr.take().map(|pipe| mouth.clone().read(pipe, What::Err));
        let (lines, orders) = unbounded_channel();
        if let Some(pipe) = child.stdin.take() {
            tokio::spawn(feed(pipe, parcel, orders, mouth.clone()));
        }
        let (kill, killed) = oneshot::channel();
        tokio::spawn(watch(child, killed, [out, err], mouth));
        Ok(Self { pid, number, lines: Some(lines), kill: Some(kill) })
    }

    /// Asks it to stop the run at a clock.
    pub(super) fn stop(&self) {
        if let Some(lines) = &self.lines {
            let _ = lines.send(STOP); // it may have ended
        }
    }

    /// Lets go of it: its standard input ends, and it ends by itself.
    pub(super) fn release(&mut self) {
        if let Some(lines) = self.lines.take() {
            let _ = lines.send(END); // it may have ended
        }
    }

    /// Kills it and whatever it started.
    pub(super) fn kill(&mut self) {
        if let Some(kill) = self.kill.take() {
            let _ = kill.send(()); // it may have ended
        }
    }
}

/// Reports about one process.
#[derive(Clone)]
struct Mouth {
    node: String,
    number: u32,
    reports: Sender<Report>,
}

impl Mouth {
    async fn say(&self, what: What) {
        let report = Report { node: self.node.clone(), number: self.number, what };
        let _ = self.reports.send(report).await; // the launch may be over
    }

    /// Reports every line of a pipe.
    fn read(self, pipe: impl AsyncRead + Unpin + Send + 'static, what: fn(String) -> What) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
                self.say(what(text)).await;
                line.clear();
            }
        })
    }
}

/// Waits for the end of a process, or kills it; reports when all that it said has been.
async fn watch(
    mut child: Child,
    killed: oneshot::Receiver<()>,
    pipes: [Option<JoinHandle<()>>; 2],
    mouth: Mouth,
) {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let status = tokio::select! {
        status = child.wait() => status,
        asked = killed => {
            if asked.is_ok() && let Some(pid) = pid {
                let _ = kill_process_group(pid, Signal::KILL); // it is not reaped yet, so the number is its own
            }
            child.wait().await
        }
    };
    for pipe in pipes.into_iter().flatten() {
        // What it started may hold the pipe open.
        let _ = tokio::time::timeout(Duration::from_millis(500), pipe).await;
    }
    if let Ok(status) = status {
        mouth.say(What::Ended(status)).await;
    }
}

/// Fills the standard input of a process and holds it open.
async fn feed(
    mut pipe: ChildStdin,
    parcel: Arc<Parcel>,
    mut lines: UnboundedReceiver<&'static str>,
    mouth: Mouth,
) {
    if pipe.write_all(format!("{}\n", parcel.line).as_bytes()).await.is_err() {
        return; // it has ended, and says why elsewhere
    }
    for (path, bytes) in &parcel.files {
        match send(&mut pipe, path, *bytes).await {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return,
            Err(error) => {
                return mouth.say(What::Unsent(format!("{}: {error}", path.display()))).await;
            }
        }
    }
    while let Some(line) = lines.recv().await {
        if pipe.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Sends a file and the sum over it; what is not read yet stays in the file.
async fn send(pipe: &mut ChildStdin, path: &PathBuf, bytes: u64) -> std::io::Result<()> {
    let mut file = File::open(path).await?;
    let (mut sum, mut left, mut chunk) = (crc32fast::Hasher::new(), bytes, vec![0; 64 << 10]);
    while left > 0 {
        let most = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut chunk[..most]).await?;
        if read == 0 {
            return Err(std::io::Error::other("became shorter while it was sent"));
        }
        sum.update(&chunk[..read]);
        pipe.write_all(&chunk[..read]).await?;
        left -= read as u64;
    }
    pipe.write_all(&sum.finalize().to_le_bytes()).await
}
