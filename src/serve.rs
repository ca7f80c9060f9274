//! The stdio host protocol: JSON-RPC 2.0, one message a line, for hosts in any language.
//!
//! This face is part of the binary and not of the library, so that the compiler holds it to what every host has: sessions,
//! cells and outcomes.
//!
//! **Threads.** A reader thread owns the input and takes frames apart, a writer thread owns the output and puts them
//! together, and between them one thread runs all requests as tasks; it never blocks (artifacts are read on another), so that a cancellation is seen at
//! once whatever the cells, a slow client or a 50 MB answer do. No lock is held across anything that waits.
//!
//! **Order.** Every request is polled once where it is read, before the next line is looked at; with that first poll it has
//! taken its place in its session's queue. So requests of one session are served in order, and those of different ones
//! side by side. An answer goes out when it is ready: that of a cell which was cancelled while it waited does not wait for
//! the cells before it.
//!
//! **Memory.** A request holds permits from the moment it is read until its answer is on the wire: its bytes and a share
//! that lets at most [`WAITING_REQUESTS`] in. A client that asks faster than it reads is not read from until it catches
//! up. Streamed output has permits of its own; when they run out, the cell goes on, and what did not fit is counted in a
//! `gap` and stands in the outcome. An outcome is as large as its session's limits allow.

mod desk;
mod functions;
mod lines;
mod message;
mod opening;
mod params;
mod writer;

use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet};

use self::desk::Desk;
use self::lines::{Line, Lines};
use self::message::{Incoming, Outgoing, Problem};
use self::writer::{Mailbox, Writer};

/// The longest line that is taken, in bytes.
const LINE_BYTES: usize = 64 << 20;

/// The bytes that requests without a written answer may hold together.
const WAITING_BYTES: usize = 256 << 20;

/// How many requests may be without a written answer.
const WAITING_REQUESTS: usize = 1024;

/// How long cells may take to end once the input has ended. Longer than the grace after which a session answers anyway.
const CLOSING: Duration = Duration::from_secs(2);

/// How long a client may read nothing of what is left for it, once the input has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client until its input ends or it stops taking answers. Running cells are cancelled then, and every session
/// is closed. Sessions that name no folder for artifacts get `artifacts`.
pub(crate) fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    artifacts: Option<PathBuf>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start the runtime that serves requests")?;
    let (writer, mailbox, output_ended) =
        Writer::start(output).context("cannot start the thread that writes answers")?;
    let incoming = start_reader(input).context("cannot start the thread that reads requests")?;
    let tasks = LocalSet::new();
    let read = tasks.block_on(
        &runtime,
        dispatch(incoming, mailbox, output_ended, artifacts),
    );
    drop(tasks);
    writer
        .finish(PATIENCE)
        .context("cannot write to the client")?;
    read.context("cannot read from the client")
}

/// One line, taken apart, and how many bytes it had; or the end of all reading.
type Received = io::Result<(Incoming, usize)>;

fn start_reader(input: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<Received>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::Builder::new()
        .name("warmcell-reader".to_owned())
        .spawn(move || {
            let mut lines = Lines::new(BufReader::with_capacity(1 << 16, input), LINE_BYTES);
            while let Some(received) = receive(&mut lines).transpose() {
                let is_last = received.is_err();
                if sender.blocking_send(received).is_err() || is_last {
                    break;
                }
            }
        })?;
    Ok(receiver)
}

fn receive<R: io::BufRead>(lines: &mut Lines<R>) -> io::Result<Option<(Incoming, usize)>> {
    Ok(lines.next()?.map(|line| match line {
        Line::Whole(bytes) => (message::read(&bytes), bytes.len()),
        Line::TooLong => {
            let message = format!("the line has more than {LINE_BYTES} bytes, and was skipped");
            let problem = Problem::invalid_request(message);
            (Incoming::Fault(None, problem), 0)
        }
    }))
}

async fn dispatch(
    mut incoming: mpsc::Receiver<Received>,
    mailbox: Mailbox,
    mut output_ended: oneshot::Receiver<()>,
    artifacts: Option<PathBuf>,
) -> io::Result<()> {
    let waiting = Arc::new(Semaphore::new(WAITING_BYTES));
    let desk = Rc::new(Desk::new(mailbox.clone(), artifacts));
    let mut tasks = JoinSet::new();
    let result = loop {
        let received = tokio::select! {
            biased;
            _ = &mut output_ended => break Ok(()),
            received = incoming.recv() => received,
        };
        let (message, bytes) = match received {
            Some(Ok(received)) => received,
            Some(Err(error)) => break Err(error),
            None => break Ok(()),
        };
        let share = bytes + WAITING_BYTES / WAITING_REQUESTS;
        let permit = tokio::select! {
            biased;
            _ = &mut output_ended => break Ok(()),
            permit = waiting.clone().acquire_many_owned(share as u32) => permit.ok(),
        };
        match message {
            Incoming::Request(request) => {
                let mut task = Box::pin(desk.clone().serve(request, permit));
                if !is_done_at_once(task.as_mut()) {
                    tasks.spawn_local(task);
                }
            }
            Incoming::Fault(id, problem) => {
                mailbox.send(Outgoing::Answer(id, Err(problem)), permit)
            }
            Incoming::Answer(id, answered) => {
                if !desk.answered(&id, answered) {
                    log(&format!("ignored {}", message::UNASKED));
                }
            }
            Incoming::Blank => {}
            Incoming::Ignored(why) => log(&format!("ignored {why}")),
        }
        while tasks.try_join_next().is_some() {}
    };
    desk.close_all(&mut tasks);
    // After that long a cell has been given up by its own session; nothing is worth waiting for any more.
    let _ = tokio::time::timeout(CLOSING, async {
        while tasks.join_next().await.is_some() {}
    })
    .await;
    result
}

/// Lets a request take its place in its session's queue. Whoever polls it next brings a waker that works.
fn is_done_at_once(task: Pin<&mut impl Future<Output = ()>>) -> bool {
    task.poll(&mut TaskContext::from_waker(Waker::noop()))
        .is_ready()
}

/// Tells the person who looks at the server's standard error.
fn log(text: &str) {
    // Standard error may be gone; there is nobody to tell then.
    let _ = writeln!(io::stderr(), "warmcell serve: {text}");
}
