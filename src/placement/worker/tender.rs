//! [`Tender`]: the thread that serves one session: it takes jobs in order, has its worker do them, and says what became of the session.
//!
//! The ladder of a cell that should end: the worker is told to stop it; after a grace it is killed. When a worker has died its
//! backup takes its place, with the state from before the cell; when there is none, the next cell meets a fresh worker. The cell
//! that was running is never run again, in any case.
//!
//! The thread owns the [`Process`] and all that is known of the session. It waits in one place, for the worker, the supervisor
//! and the bell at once; the bell is rung after a job was sent and when a stop was asked for. It holds no lock of its own.

mod answers;
mod fate;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};
use serde::de::DeserializeOwned;

use self::answers::Answers;
use self::fate::after;
use super::child::PANICKED;
use super::death::{Death, describe};
use super::messages::{Ended, Order, Report};
use super::plan::Plan;
use super::process::{Incoming, Listener, Process};
use super::sockets::{self, Bell};
use super::spares;
use super::watch::{self, Watch};
use crate::cell::source;
use crate::engine::{Completion, EXHAUSTED, Variable};
use crate::outcome::{Failure, FailureKind, Json, SessionState};
use crate::output::{Origin, Transcript};
use crate::placement::{Grace, HOUSEKEEPING, Reply};
use crate::runtime::RuntimeError;
use crate::session::{Stop, Ticket};

/// How long a session is left alone before what it has left running is counted, and then how often it is.
const COUNT_AFTER: Duration = Duration::from_millis(50);
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// The stack of the thread: two buffers of 64 KiB, and what serde needs for a deep display.
const STACK_BYTES: usize = 1 << 20;

/// What a session is asked to do.
pub(super) enum Job {
    Run(Arc<Ticket>),
    Reset(Reply<()>),
    Inspect(Reply<Vec<Variable>>),
    Members {
        path: Vec<String>,
        reply: Reply<Vec<String>>,
    },
    Bind {
        name: String,
        value: Json,
        reply: Reply<()>,
    },
    Undo(Reply<u64>),
    Close(Option<Reply<()>>),
}

pub(super) struct Tender {
    plan: Plan,
    transcript: Arc<Transcript>,
    jobs: Receiver<Job>,
    bell: Arc<Bell>,
    answers: Arc<Answers>,
    process: Option<Process>,
    epoch: u64,
    /// The last cell whose effects the session has.
    last: u64,
    /// What the next outcome must say, and what became of the session meanwhile.
    news: Vec<String>,
    standing: SessionState,
    /// Why the session has no backup, and what of that was told last.
    unprotected: Option<String>,
    told_unprotected: Option<String>,
    /// When to count what its cells have left running.
    next_count: Option<Instant>,
}

/// How an order ended that was not answered by the worker.
enum Ending {
    Ended(Box<Ended>, Vec<u8>),
    Answered(Report, Vec<u8>),
    Died(Death),
}

impl Tender {
    /// Starts the thread of a session. It ends with the session.
    pub(super) fn start(
        plan: Plan,
        transcript: Arc<Transcript>,
        bell: Arc<Bell>,
        lost: Option<String>,
    ) -> Result<Sender<Job>, RuntimeError> {
        let (mailbox, jobs) = unbounded();
        let tender = Self {
            plan,
            transcript,
            jobs,
            bell,
            answers: Arc::default(),
            process: None,
            epoch: 0,
            last: 0,
            standing: match lost {
                Some(_) => SessionState::Lost,
                None => SessionState::Kept,
            },
            news: lost.into_iter().collect(),
            unprotected: None,
            told_unprotected: None,
            next_count: None,
        };
        thread::Builder::new()
            .name("warmcell-tender".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || tender.serve())
            .map_err(|error| {
                RuntimeError::Unavailable(format!("no thread for the session: {error}"))
            })?;
        Ok(mailbox)
    }

    fn serve(mut self) {
        loop {
            match self.jobs.try_recv() {
                Ok(Job::Run(ticket)) => self.run(&ticket),
                Ok(Job::Reset(reply)) => {
                    self.end_process();
                    (self.standing, self.last) = (SessionState::Kept, 0);
                    self.news.clear();
                    let _ = reply.send(Ok(()));
                }
                Ok(Job::Inspect(reply)) => {
                    let _ = reply.send(self.inspect());
                }
                Ok(Job::Members { path, reply }) => {
                    let _ = reply.send(self.members(path));
                }
                Ok(Job::Bind { name, value, reply }) => {
                    let _ = reply.send(self.bind(name, &value));
                }
                Ok(Job::Undo(reply)) => {
                    let _ = reply.send(self.undo());
                }
                Ok(Job::Close(reply)) => {
                    self.end_process();
                    if let Some(reply) = reply {
                        let _ = reply.send(Ok(()));
                    }
                    return;
                }
                Err(TryRecvError::Empty) => self.idle(),
                Err(TryRecvError::Disconnected) => {
                    self.end_process();
                    return;
                }
            }
        }
    }

    /// Waits for a job. A worker that dies meanwhile is replaced at once.
    fn idle(&mut self) {
        if self.process.is_some() {
            self.attend(self.next_count);
            self.count();
        } else {
            let _ = sockets::wait([Some(self.bell.raw())], None);
        }
        self.bell.hear();
    }

    /// Sees to it that what cells have left running stays within its number, for as long as anything runs.
    fn count(&mut self) {
        let (Some(process), Some(next)) = (&mut self.process, self.next_count) else {
            return;
        };
        let now = Instant::now();
        if now < next {
            return;
        }
        spares::replenish(&self.plan);
        match watch::count_between_cells(process, self.plan.limits()) {
            Ok(runs) => self.next_count = runs.then(|| now + COUNT_EVERY),
            Err(death) => self.mourn(&death.text),
        }
    }

    /// Takes in what the worker does between cells, until the bell rings or the time is over.
    fn attend(&mut self, until: Option<Instant>) {
        let Some(process) = &mut self.process else {
            return;
        };
        let listener = Listener {
            transcript: &self.transcript,
            origin: Origin::Background,
            bell: Some(self.bell.raw()),
        };
        let incoming = process.wait(&listener, until);
        let text = match incoming {
            Incoming::Nothing => return,
            Incoming::Died(status) => {
                format!("the worker process {} between two cells", describe(status))
            }
            Incoming::Unsupervised => {
                "the supervisor of the worker processes was killed between two cells".to_owned()
            }
            Incoming::Garbage(what) => {
                format!("the worker was ended: between two cells it sent {what}")
            }
            Incoming::Report(..) => {
                "the worker was ended: between two cells it answered what nobody had asked"
                    .to_owned()
            }
        };
        self.mourn(&text);
    }

    /// A worker with the session in it.
    fn process(&mut self) -> Result<&mut Process, String> {
        if self.process.is_none() {
            let process = Process::start(&self.plan, &self.transcript, self.last)?;
            self.process = Some(process);
        }
        self.process
            .as_mut()
            .ok_or_else(|| "the worker is gone".to_owned())
    }

    fn run(&mut self, ticket: &Arc<Ticket>) {
        if ticket.is_settled() {
            return;
        }
        // One that has died by now is no fault of the cell's.
        self.attend(Some(Instant::now()));
        if let Err(text) = self.process() {
            ticket.settle_unstarted(Failure::unavailable(&text), SessionState::Lost);
            return;
        }
        let now = Instant::now();
        let Some(number) = ticket.begin(now) else {
            return;
        };
        self.epoch += 1;
        let order = Order::Run {
            number,
            epoch: self.epoch,
            watched: self.transcript.is_watched(),
            time_ms: ticket
                .timeout
                .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        };
        let code = source::without_fence(&ticket.code);
        let deadline = ticket.timeout.map(|timeout| now + timeout);
        let ending = self.perform(&order, code.as_bytes(), deadline, Some(ticket));
        if let Some(caller) = self.plan.caller() {
            caller.cancel_all();
        }
        let (completion, state) = match ending {
            Ending::Ended(ended, value) => {
                self.last = number;
                (self.complete(*ended, value), SessionState::Kept)
            }
            Ending::Answered(..) => {
                let text = "the worker was ended: it answered something else than was asked";
                self.replace(number, Death::of(FailureKind::WorkerExit, text))
            }
            Ending::Died(death) => self.replace(number, death),
        };
        self.next_count = Some(Instant::now() + COUNT_AFTER);
        self.stand(state);
        let state = std::mem::replace(&mut self.standing, SessionState::Kept);
        let news = std::mem::take(&mut self.news);
        let notice = news
            .into_iter()
            .chain(completion.notice)
            .reduce(|one, other| format!("{one}; {other}"));
        ticket.settle(
            Completion {
                notice,
                ..completion
            },
            state,
        );
    }

    /// Gives an order and waits for its end, which comes in any case.
    fn perform(
        &mut self,
        order: &Order,
        blob: &[u8],
        deadline: Option<Instant>,
        ticket: Option<&Arc<Ticket>>,
    ) -> Ending {
        let Some(process) = &mut self.process else {
            return Ending::Died(Death::of(FailureKind::WorkerExit, "the worker is gone"));
        };
        let listener = Listener {
            transcript: &self.transcript,
            origin: match ticket {
                Some(_) => Origin::Cell,
                None => Origin::Background,
            },
            bell: Some(self.bell.raw()),
        };
        let mut watch = Watch::new(process, self.plan.limits());
        let mut stopping: Option<Grace> = None;
        // A worker that does not take the order does not end it either.
        let _ = process.order(order, blob);
        loop {
            if ticket.is_some() && self.plan.caller().is_some() {
                for (call, answer) in self.answers.take(self.epoch) {
                    process.answer_call(call, answer);
                }
            }
            let now = Instant::now();
            let over = watch.look(now, process);
            if stopping.is_none()
                && let Some(stop) = due_stop(now, deadline, &watch, ticket)
            {
                if let Some(ticket) = ticket {
                    ticket.stop(stop);
                }
                process.stop(self.epoch);
                stopping = Some(Grace::from(now));
            }
            let death = if stopping.as_mut().is_some_and(|grace| grace.is_over(now)) {
                let text = "the cell could not be stopped, and its process was killed";
                Some(Death {
                    by_us: true,
                    ..Death::of(FailureKind::Timeout, text)
                })
            } else {
                over
            };
            if let Some(death) = death {
                process.kill();
                return last_words(process, &listener, self.epoch).unwrap_or(Ending::Died(death));
            }
            let stop_by = match &mut stopping {
                Some(grace) => Some(grace.next_look(Duration::MAX)),
                None => deadline,
            };
            let until = stop_by.map_or(watch.next_look(), |by| by.min(watch.next_look()));
            match process.wait(&listener, Some(until)) {
                Incoming::Nothing => self.bell.hear(),
                Incoming::Report(
                    Report::Call {
                        call,
                        capability,
                        action,
                    },
                    arguments,
                ) if ticket.is_some()
                    && let Some(caller) = self.plan.caller() =>
                {
                    let called = (call, capability, action);
                    let (answers, bell) = (&self.answers, &self.bell);
                    answers::call(caller, answers, bell, self.epoch, called, arguments);
                }
                Incoming::Died(status) if has_panicked(status) => {
                    return Ending::Died(Death {
                        // An engine that does not survive its stop has been stopped.
                        by_us: stopping.is_some(),
                        ..Death::of(
                            FailureKind::Internal,
                            "the engine panicked, and its process was ended",
                        )
                    });
                }
                incoming => return ending(incoming, self.epoch),
            }
        }
    }

    /// Has the worker do what is no cell.
    fn ask(&mut self, order: &Order, blob: &[u8]) -> Result<(Report, Vec<u8>), RuntimeError> {
        self.process().map_err(RuntimeError::Unavailable)?;
        let death = match self.perform(order, blob, Some(Instant::now() + HOUSEKEEPING), None) {
            Ending::Answered(Report::Refused { text }, _) => {
                return Err(RuntimeError::Refused(text));
            }
            Ending::Answered(report, blob) => return Ok((report, blob)),
            Ending::Ended(..) => {
                "the worker was ended: it answered something else than was asked".to_owned()
            }
            Ending::Died(death) => death.text,
        };
        let last = self.last;
        let (state, became) = match self.restore(None) {
            Ok(cell) if cell == last => (SessionState::Kept, "the session is as it was".to_owned()),
            Ok(cell) => (
                SessionState::Restored,
                format!("the session is {}", after(cell)),
            ),
            Err(_) => (
                SessionState::Lost,
                "everything the session held is gone".to_owned(),
            ),
        };
        let text = format!("{death}; {became}");
        if state != SessionState::Kept {
            // Whoever asked may be another than who reads the next outcome.
            self.stand(state);
            self.news.push(text.clone());
        }
        Err(RuntimeError::Unavailable(text))
    }

    fn inspect(&mut self) -> Result<Vec<Variable>, RuntimeError> {
        match self.ask(&Order::Inspect, &[])? {
            (Report::Variables, text) => listed(&text),
            _ => Err(something_else()),
        }
    }

    fn members(&mut self, path: Vec<String>) -> Result<Vec<String>, RuntimeError> {
        match self.ask(&Order::Members { path }, &[])? {
            (Report::Members, text) => listed(&text),
            _ => Err(something_else()),
        }
    }

    fn bind(&mut self, name: String, value: &Json) -> Result<(), RuntimeError> {
        self.epoch += 1;
        let order = Order::Bind {
            name,
            epoch: self.epoch,
        };
        self.ask(&order, value.as_str().as_bytes())?;
        if let Some(process) = &mut self.process {
            process.note_change(self.last, self.unprotected.is_none());
        }
        Ok(())
    }

    /// Ends the session's process, after the finalisers of the program had their chance.
    fn end_process(&mut self) {
        if self.process.is_none() {
            return;
        }
        self.epoch += 1;
        let order = Order::Reset { epoch: self.epoch };
        let _ = self.perform(&order, &[], Some(Instant::now() + HOUSEKEEPING), None);
        if let Some(process) = self.process.take() {
            process.end();
        }
        (self.unprotected, self.told_unprotected) = (None, None);
    }
}

/// Reads the list in a blob.
fn listed<T: DeserializeOwned>(text: &[u8]) -> Result<Vec<T>, RuntimeError> {
    serde_json::from_slice(text).map_err(|error| {
        RuntimeError::Unavailable(format!("the worker listed what are no names: {error}"))
    })
}

fn something_else() -> RuntimeError {
    RuntimeError::Unavailable("the worker answered something else than was asked".to_owned())
}

/// Whether it is time to stop a cell, and why.
fn due_stop(
    now: Instant,
    deadline: Option<Instant>,
    watch: &Watch,
    ticket: Option<&Arc<Ticket>>,
) -> Option<Stop> {
    if deadline.is_some_and(|deadline| deadline <= now) {
        Some(Stop::Deadline)
    } else if watch.is_over_processor_time() {
        Some(Stop::Processor)
    } else {
        ticket.and_then(|ticket| ticket.stop_asked())
    }
}

/// What a process that was killed had said before: a cell that ended in the last moment has ended.
fn last_words(process: &mut Process, listener: &Listener<'_>, epoch: u64) -> Option<Ending> {
    match process.wait(listener, Some(Instant::now())) {
        Incoming::Report(Report::Ended(ended), value) if ended.epoch == epoch => {
            Some(Ending::Ended(ended, value))
        }
        _ => None,
    }
}

fn has_panicked(status: i32) -> bool {
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == PANICKED
}

fn ending(incoming: Incoming, epoch: u64) -> Ending {
    let text = match incoming {
        Incoming::Report(Report::Ended(ended), value) if ended.epoch == epoch => {
            return Ending::Ended(ended, value);
        }
        Incoming::Report(report, blob) => return Ending::Answered(report, blob),
        Incoming::Died(status)
            if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == EXHAUSTED =>
        {
            let text = "the cell took far more than its memory budget in one step, and its process was ended";
            return Ending::Died(Death::of(FailureKind::Memory, text));
        }
        Incoming::Died(status) => format!("the worker process {}", describe(status)),
        Incoming::Unsupervised => {
            let text = "the supervisor of the worker processes was killed, and the worker with it";
            return Ending::Died(Death::of(FailureKind::WorkerExit, text));
        }
        Incoming::Garbage(what) => format!("the worker process was ended: it sent {what}"),
        Incoming::Nothing => "the worker process was ended".to_owned(),
    };
    Ending::Died(Death::of(FailureKind::WorkerExit, text))
}
