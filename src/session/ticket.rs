//! [`Ticket`]: one cell between its session, the engine's thread and the watchdog.
//!
//! Whoever comes first settles it: the engine's thread when the cell ends, a canceller while it waits, the watchdog when
//! the engine hangs. One lock guards phase and reply together, held for a few stores and never while another is taken
//! (outcomes are put together before it).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::cell::Cell;
use crate::engine::Completion;
use crate::outcome::{Failure, FailureKind, Outcome, SessionState};
use crate::output::{EventSender, Transcript};

/// Why a cell is stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its deadline passed.
    Deadline,
    /// It used more processor time than it may.
    Processor,
    /// Its host cancelled it.
    Cancelled,
}

/// One cell on its way.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) code: String,
    pub(crate) timeout: Option<Duration>,
    transcript: Arc<Transcript>,
    count: Arc<AtomicU64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    stop: Option<Stop>,
    number: u64,
    events: Option<EventSender>,
    reply: Option<oneshot::Sender<Outcome>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Running(Instant),
    Settled,
}

impl Ticket {
    pub(super) fn new(
        cell: Cell,
        timeout: Option<Duration>,
        transcript: Arc<Transcript>,
        count: Arc<AtomicU64>,
        reply: oneshot::Sender<Outcome>,
    ) -> Self {
        let state = State {
            phase: Phase::Waiting,
            stop: None,
            number: 0,
            events: cell.events,
            reply: Some(reply),
        };
        Self {
            code: cell.code,
            timeout,
            transcript,
            count,
            state: Mutex::new(state),
        }
    }

    /// The cell starts now. Returns its number, or `None` when it was cancelled while it waited and must not run.
    pub(crate) fn begin(&self, now: Instant) -> Option<u64> {
        let (number, events) = {
            let mut state = self.lock();
            if state.phase != Phase::Waiting {
                return None;
            }
            state.phase = Phase::Running(now);
            state.number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            (state.number, state.events.take())
        };
        self.transcript.begin(events);
        Some(number)
    }

    /// Asks for a stop. Returns whether the cell runs, so that its engine must be interrupted; one that waits is settled
    /// at once.
    pub(crate) fn stop(&self, stop: Stop) -> bool {
        let is_running = {
            let mut state = self.lock();
            match state.phase {
                Phase::Settled => return false,
                Phase::Running(_) => {
                    state.stop.get_or_insert(stop);
                }
                Phase::Waiting => state.stop = Some(stop),
            }
            state.phase != Phase::Waiting
        };
        if is_running {
            self.transcript.hurry();
            return true;
        }
        let failure = Failure::new(
            FailureKind::Cancelled,
            "the cell was cancelled before it ran",
        );
        self.settle_unstarted(failure, SessionState::Kept);
        false
    }

    /// Why the cell should stop, once somebody asked for it.
    pub(crate) fn stop_asked(&self) -> Option<Stop> {
        self.lock().stop
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.lock().phase, Phase::Running(_))
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.lock().phase == Phase::Settled
    }

    /// The cell has ended, or is given up: its outcome goes to the host. The first one counts.
    pub(crate) fn settle(&self, completion: Completion, state: SessionState) {
        let now = Instant::now();
        let (started, stop, number, reply) = {
            let mut ticket = self.lock();
            let Phase::Running(started) = ticket.phase else {
                return;
            };
            ticket.phase = Phase::Settled;
            (started, ticket.stop, ticket.number, ticket.reply.take())
        };
        let failure = match completion.failure {
            failure if completion.interrupted => Some(self.stopped(stop, failure)),
            failure => failure,
        };
        let taken = self.transcript.take(completion.value.as_ref());
        let notice = [completion.notice, taken.notice]
            .into_iter()
            .flatten()
            .reduce(|one, other| format!("{one}; {other}"));
        let outcome = Outcome {
            ok: failure.is_none(),
            value: completion.value,
            stdout: taken.stdout,
            stderr: taken.stderr,
            background: taken.background,
            truncated: taken.truncated,
            display: taken.display,
            files: taken.files,
            error: failure,
            state,
            notice,
            execution_count: number,
            duration_ms: (now - started).as_micros() as f64 / 1000.0,
        };
        if let Some(reply) = reply {
            // A host that dropped the future wants no outcome.
            let _ = reply.send(outcome);
        }
    }

    /// The cell never ran and never will.
    pub(crate) fn settle_unstarted(&self, failure: Failure, state: SessionState) {
        let reply = {
            let mut ticket = self.lock();
            if ticket.phase != Phase::Waiting {
                return;
            }
            ticket.phase = Phase::Settled;
            ticket.events = None;
            ticket.reply.take()
        };
        if let Some(reply) = reply {
            let _ = reply.send(self.unstarted(failure, state));
        }
    }

    /// What a host gets whose cell was dropped unsettled, which only a fault of ours can bring about.
    pub(super) fn abandoned(&self) -> Outcome {
        let failure = Failure::new(
            FailureKind::Internal,
            "the thread that ran the session's cells is gone",
        );
        self.unstarted(failure, SessionState::Lost)
    }

    fn unstarted(&self, failure: Failure, state: SessionState) -> Outcome {
        Outcome {
            ok: false,
            value: None,
            stdout: String::new(),
            stderr: String::new(),
            background: Default::default(),
            truncated: Default::default(),
            display: Vec::new(),
            files: Default::default(),
            error: Some(failure),
            state,
            notice: None,
            execution_count: self.count.load(Ordering::Relaxed),
            duration_ms: 0.0,
        }
    }

    /// The failure of a cell that was stopped: where it stood comes from the engine, why from here.
    fn stopped(&self, stop: Option<Stop>, place: Option<Failure>) -> Failure {
        let (kind, message) = match (stop, self.timeout) {
            (Some(Stop::Deadline), Some(timeout)) => (
                FailureKind::Timeout,
                format!(
                    "the cell was stopped at its deadline of {} ms",
                    timeout.as_millis()
                ),
            ),
            (Some(Stop::Deadline), None) => (
                FailureKind::Timeout,
                "the cell was stopped at its deadline".to_owned(),
            ),
            (Some(Stop::Processor), _) => (
                FailureKind::Timeout,
                "the cell was stopped: it used more CPU time than `cpuMs` allows".to_owned(),
            ),
            (Some(Stop::Cancelled) | None, _) => {
                (FailureKind::Cancelled, "the cell was cancelled".to_owned())
            }
        };
        match place {
            Some(place) => Failure {
                kind,
                message,
                name: None,
                ..place
            },
            None => Failure::new(kind, message),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
