//! [`Process`]: a worker as its host sees it. It is started, given orders, waited for, killed, and replaced by its backup.
//!
//! Nothing here blocks for longer than is said, whatever the worker does: what it sends is taken as it comes, what it does not
//! read is sent with a deadline.

mod life;
mod patience;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::backups::Backups;
use super::messages::{DISPLAY_BYTES, Hello, Notice, Order, Report, Urgent};
use super::sockets::{self, Channel, within};
use super::supervisor::Tag;
use super::temporary::Temporary;
use crate::capability::CapabilityError;
use crate::outcome::{Display, Json};
use crate::output::{Origin, Sink, Stream, Transcript};

/// How long the supervisor may take to do what is asked.
const SUPERVISING: Duration = Duration::from_secs(3);

/// How long a backup may take to take over.
pub(super) const WAKING: Duration = Duration::from_secs(3);

/// How long a worker may take to read an order.
const ORDERING: Duration = Duration::from_secs(10);

/// What a frame may have beyond the value in it: a display, or a failure with all that it tells.
const FRAME_BYTES: usize = DISPLAY_BYTES + (16 << 20);

/// How often a reader that is behind is looked at, while the worker waits for it.
const BEHIND: Duration = Duration::from_millis(2);

/// The bytes that are read from a pipe at once.
const READ_BYTES: usize = 1 << 16;

/// A worker.
pub(super) struct Process {
    control: Channel,
    urgent: Option<Channel>,
    pipes: [Pipe; 2],
    line: Channel,
    tag: Tag,
    supervisor: u32,
    program: PathBuf,
    /// Goes last, when nothing of the worker's is left to write to it.
    temporary: Option<Temporary>,
    id: i32,
    /// Can be read once it has ended, before its supervisor says so.
    end: Option<OwnedFd>,
    /// What it said of itself when it had come to life.
    hello: Option<Hello>,
    is_open: bool,
    backups: Backups,
    /// Why a backup that was awaited did not come.
    no_backup: Option<String>,
    reports: VecDeque<(Report, Vec<u8>)>,
    is_deaf: bool,
    status: Option<i32>,
    is_unsupervised: bool,
    is_held: bool,
}

struct Pipe {
    stream: Stream,
    descriptor: Option<OwnedFd>,
}

impl Pipe {
    fn raw(&self) -> Option<RawFd> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }
}

/// What waiting for a worker has come to.
#[derive(Debug)]
pub(super) enum Incoming {
    /// It says something that is not about output.
    Report(Report, Vec<u8>),
    /// It has died; the status is as `waitpid` gives it.
    Died(i32),
    /// The supervisor has died, and the worker with it.
    Unsupervised,
    /// It sent what is no report of ours.
    Garbage(String),
    /// The bell rang, or the time is over.
    Nothing,
}

/// In whose name output is taken, and where it goes.
pub(super) struct Listener<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) origin: Origin,
    pub(super) bell: Option<RawFd>,
}

impl Process {
    pub(super) fn id(&self) -> i32 {
        self.id
    }

    /// Whether there is a session in it.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Gives the worker an order.
    pub(super) fn order(&mut self, order: &Order, blob: &[u8]) -> Result<(), String> {
        self.control
            .send_until(order, blob, within(ORDERING))
            .map_err(|error| format!("the worker takes no orders: {error}"))
    }

    /// Tells the worker to stop the cell of `epoch`.
    pub(super) fn stop(&self, epoch: u64) {
        if let Some(urgent) = &self.urgent {
            // One that cannot be told is killed when its grace is over.
            let _ = urgent.send_until(&Urgent::Stop { epoch }, &[], Instant::now());
        }
    }

    /// Gives the worker the answer to a call of its cell's.
    pub(super) fn answer_call(&self, call: u64, answer: Result<Json, CapabilityError>) {
        let Some(urgent) = &self.urgent else { return };
        let (value, error) = match answer {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error)),
        };
        let blob = value.as_ref().map_or("", Json::as_str).as_bytes();
        // A cell that gets no answer has its deadline.
        let _ = urgent.send_until(&Urgent::Answer { call, error }, blob, within(ORDERING));
    }

    /// The session has the effects of `cell` now; whether there will be a copy of that.
    pub(super) fn note_change(&mut self, cell: u64, is_copied: bool) {
        if is_copied {
            self.backups.expect(cell);
        } else {
            self.backups.abandon();
        }
    }

    /// Why there is no backup of the present state, when that was only found out after the reply.
    pub(super) fn take_no_backup(&mut self) -> Option<String> {
        self.no_backup.take()
    }

    /// Whether the session could go back to before `cell`.
    pub(super) fn can_undo(&self, cell: u64) -> bool {
        self.backups.has_one_without(cell)
    }

    /// Waits for something to do. Output and backups are taken in meanwhile.
    pub(super) fn wait(&mut self, listener: &Listener<'_>, until: Option<Instant>) -> Incoming {
        let mut is_over = false;
        loop {
            if let Err(text) = self.take_reports(listener) {
                return Incoming::Garbage(text);
            }
            if let Some((report, blob)) = self.reports.pop_front() {
                return Incoming::Report(report, blob);
            }
            if self.is_unsupervised {
                return Incoming::Unsupervised;
            }
            if let Some(status) = self.status {
                return Incoming::Died(status);
            }
            if is_over {
                return Incoming::Nothing;
            }
            let [out, err] = if self.is_held {
                [None; 2]
            } else {
                [self.pipes[0].raw(), self.pipes[1].raw()]
            };
            let control = (!self.is_deaf).then(|| self.control.raw());
            let end = self.end.as_ref().map(AsRawFd::as_raw_fd);
            let descriptors = [control, Some(self.line.raw()), out, err, listener.bell, end];
            let paced = self.is_held.then(|| within(BEHIND));
            let limit = match (until, paced) {
                (Some(until), Some(paced)) => Some(until.min(paced)),
                (until, paced) => until.or(paced),
            };
            let Ok([control, line, out, err, bell, end]) = sockets::wait(descriptors, limit) else {
                return Incoming::Garbage("nothing that could be waited for".to_owned());
            };
            if self.is_held {
                self.is_held = listener.transcript.is_ahead();
            }
            for (index, is_ready) in [out, err].into_iter().enumerate() {
                if is_ready {
                    self.read_pipe(index, READ_BYTES, listener);
                }
            }
            if end {
                self.await_status();
            }
            if line || end {
                self.hear_line();
                // What it said before it died comes before its death.
                while !self.is_deaf && self.hear() {}
                if self.status.is_some() || self.is_unsupervised {
                    self.drain(listener);
                }
            } else if control {
                self.hear();
            }
            is_over = bell || until.is_some_and(|until| Instant::now() >= until);
        }
    }

    /// Takes in what the worker sent. Says whether there was anything.
    fn hear(&mut self) -> bool {
        match self.control.take_in() {
            Ok(was_something) => was_something,
            // A program that closes the socket has no more to say, and is waited for all the same.
            Err(_) => {
                self.is_deaf = true;
                false
            }
        }
    }

    fn hear_line(&mut self) {
        match self.line.take_in() {
            Ok(_) => {
                while let Ok(Some(frame)) = self.line.next::<Notice>() {
                    self.note(&frame.header);
                }
            }
            Err(_) => self.is_unsupervised = true,
        }
    }

    /// The worker has ended: waits for its supervisor to say how.
    fn await_status(&mut self) {
        self.end = None;
        let until = within(SUPERVISING);
        while self.status.is_none() {
            match self.next_notice(until) {
                Ok(notice) => self.note(&notice),
                Err(_) => {
                    self.is_unsupervised = true;
                    return;
                }
            }
        }
    }

    fn note(&mut self, notice: &Notice) {
        if let Notice::Died { process, status } = notice
            && *process == self.id
        {
            self.status = Some(*status);
        }
    }

    /// Takes the reports that have come, up to one that is not about output.
    fn take_reports(&mut self, listener: &Listener<'_>) -> Result<(), String> {
        while self.reports.is_empty() {
            let frame = match self.control.next::<Report>() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            };
            match frame.header {
                Report::Late { stream } => {
                    listener
                        .transcript
                        .take_in(stream.into(), Origin::Background, &frame.blob);
                }
                Report::Flushed { stream } => {
                    self.drain(listener);
                    listener.transcript.flush(stream.into());
                }
                Report::Display => {
                    self.drain(listener);
                    let entry: Display = serde_json::from_slice(&frame.blob)
                        .map_err(|error| format!("a display that is none: {error}"))?;
                    listener.transcript.display(entry);
                }
                // It was sent once all was read that was printed before it; what is there by now may be of later.
                Report::Clear { wait } => listener.transcript.clear(wait),
                Report::Backup => {
                    let Some(socket) = self.control.take_descriptor() else {
                        return Err("a backup without a socket".to_owned());
                    };
                    self.backups.add(socket);
                }
                Report::NoBackup { text } => {
                    self.backups.abandon();
                    self.no_backup = Some(text);
                }
                report => {
                    self.drain(listener);
                    self.reports.push_back((report, frame.blob));
                }
            }
        }
        Ok(())
    }

    /// Reads what is in the pipes now; what comes later is of later.
    fn drain(&mut self, listener: &Listener<'_>) {
        for index in 0..self.pipes.len() {
            let Some(descriptor) = &self.pipes[index].descriptor else {
                continue;
            };
            let mut left = sockets::waiting_bytes(descriptor.as_fd());
            while left > 0 {
                let part = left.min(READ_BYTES);
                let read = self.read_pipe(index, part, listener);
                if read == 0 {
                    break;
                }
                left -= read;
            }
        }
    }

    /// Reads at most so many bytes. Gives how many there were.
    fn read_pipe(&mut self, index: usize, most: usize, listener: &Listener<'_>) -> usize {
        let mut buffer = [0; READ_BYTES];
        let buffer = &mut buffer[..most.min(READ_BYTES)];
        let pipe = &mut self.pipes[index];
        let Some(descriptor) = &pipe.descriptor else {
            return 0;
        };
        match sockets::read(descriptor.as_fd(), buffer) {
            Ok(0) => {
                pipe.descriptor = None;
                0
            }
            Ok(read) => {
                let is_ahead =
                    listener
                        .transcript
                        .take_in(pipe.stream, listener.origin, &buffer[..read]);
                self.is_held |= is_ahead;
                read
            }
            Err(error) => {
                if !matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) {
                    pipe.descriptor = None;
                }
                0
            }
        }
    }
}
