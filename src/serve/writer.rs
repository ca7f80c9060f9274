//! [`Writer`]: the thread that owns the protocol's output.
//!
//! Messages come through an unbounded channel, so that nobody who has one waits; what bounds the channel are the permits
//! that travel in it (see the head of [`crate::serve`]) and go back once their message is on the wire. The thread ends
//! at [`Writer::finish`] or when the output fails, and tells so by closing `ended`: functions of a closed session may keep a
//! [`Mailbox`] for as long as the process lives.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::message::Outgoing;

/// A message with what it holds until it is written.
type Parcel = (Outgoing, Option<OwnedSemaphorePermit>);

/// What lies in the channel: a message, or that there will be no more.
type Mail = Option<Parcel>;

/// Where messages for the client are left.
#[derive(Clone)]
pub(crate) struct Mailbox(mpsc::Sender<Mail>);

impl Mailbox {
    /// Leaves a message. When the output is gone, so is the message: nobody could read it.
    pub(crate) fn send(&self, message: Outgoing, permit: Option<OwnedSemaphorePermit>) {
        let _ = self.0.send(Some((message, permit)));
    }
}

/// The thread, from outside.
pub(crate) struct Writer {
    mailbox: Mailbox,
    progress: Arc<AtomicU64>,
    outcome: mpsc::Receiver<io::Result<()>>,
}

impl Writer {
    /// Starts the thread. `ended` closes when it takes nothing any more.
    pub(crate) fn start(
        output: impl Write + Send + 'static,
    ) -> io::Result<(Self, Mailbox, oneshot::Receiver<()>)> {
        let (mailbox, messages) = mpsc::channel();
        let (report, outcome) = mpsc::channel();
        let (alive, ended) = oneshot::channel::<()>();
        let progress = Arc::new(AtomicU64::new(0));
        let shared = progress.clone();
        thread::Builder::new()
            .name("warmcell-writer".to_owned())
            .spawn(move || {
                let result = write_all(output, &messages, &shared);
                drop((messages, alive));
                // Nobody listens when the process is on its way out already.
                let _ = report.send(result);
            })?;
        let mailbox = Mailbox(mailbox);
        let writer = Self {
            mailbox: mailbox.clone(),
            progress,
            outcome,
        };
        Ok((writer, mailbox, ended))
    }

    /// Ends the thread once everything is written that was left until now, and waits for that, as long as the client takes something every `patience`.
    pub(crate) fn finish(self, patience: Duration) -> io::Result<()> {
        // One that has ended already is asked for its outcome below.
        let _ = self.mailbox.0.send(None);
        let mut seen = self.progress.load(Ordering::Relaxed);
        loop {
            match self.outcome.recv_timeout(patience) {
                // A client that left has all it wanted.
                Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that writes answers is gone"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.progress.load(Ordering::Relaxed);
                    if now == seen {
                        return Err(io::Error::new(
                            io::ErrorKind::TimedOut,
                            "the client does not read its answers",
                        ));
                    }
                    seen = now;
                }
            }
        }
    }
}

fn write_all(
    mut output: impl Write,
    messages: &mpsc::Receiver<Mail>,
    progress: &AtomicU64,
) -> io::Result<()> {
    while let Ok(Some((message, permit))) = messages.recv() {
        let line = message.into_line();
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match output.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            progress.fetch_add(1, Ordering::Relaxed);
        }
        drop(permit);
    }
    output.flush()
}
