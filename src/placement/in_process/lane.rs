//! [`Lane`]: the thread that engines live on, its mailbox, and the slot in which the watchdog sees the running cell.
//!
//! Who owns what: the thread owns the language and its engines. The [`Slot`] is shared with the watchdog; its lock is held
//! for a few stores, never while a cell runs and never while a ticket's or a transcript's lock is waited for by its holder.
//! The mailbox is unbounded, so that sending never blocks. When a cell hangs for good the watchdog declares the lane stuck:
//! from then on every job is answered where it is found, by whoever finds it (sender, watchdog, or the thread, should it
//! come back), so that nobody waits for the thread.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::watchdog;
use crate::cell::source;
use crate::engine::{
    Completion, Engine, EngineError, Interrupter, Language, Launch, Opening, Task, Variable,
};
use crate::outcome::{Failure, FailureKind, Json, SessionState};
use crate::placement::{Grace, HOUSEKEEPING, Reply};
use crate::runtime::RuntimeError;
use crate::session::{Stop, Ticket};

/// A session's name on its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SessionId(u64);

impl SessionId {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a lane's thread is asked to do.
pub(super) enum Job {
    Open {
        session: SessionId,
        opening: Box<Opening>,
        /// None when the session was open before, on a lane that is stuck.
        reply: Option<Reply<()>>,
    },
    Run {
        session: SessionId,
        ticket: Arc<Ticket>,
    },
    Reset {
        session: SessionId,
        reply: Reply<()>,
    },
    Inspect {
        session: SessionId,
        reply: Reply<Vec<Variable>>,
    },
    Members {
        session: SessionId,
        path: Vec<String>,
        reply: Reply<Vec<String>>,
    },
    Bind {
        session: SessionId,
        name: String,
        value: Json,
        reply: Reply<()>,
    },
    Close {
        session: SessionId,
        reply: Option<Reply<()>>,
    },
}

impl Job {
    pub(super) fn open(session: SessionId, opening: &Opening, reply: Option<Reply<()>>) -> Self {
        Self::Open {
            session,
            opening: Box::new(opening.clone()),
            reply,
        }
    }
}

/// A thread that engines live on.
pub(super) struct Lane {
    mailbox: Sender<Job>,
    slot: Arc<Slot>,
}

impl Lane {
    /// Starts the thread, which starts the language. A language that cannot start answers every job with why.
    pub(super) fn start(launch: Launch) -> Result<Self, RuntimeError> {
        let (mailbox, jobs) = unbounded();
        let slot = Arc::new(Slot {
            engine: launch.engine,
            is_shared: launch.once_per_process,
            jobs: jobs.clone(),
            running: Mutex::new(None),
            interrupter: OnceLock::new(),
            gone: OnceLock::new(),
        });
        let shared = slot.clone();
        thread::Builder::new()
            .name(format!("warmcell-{}", launch.engine))
            .stack_size(launch.stack_bytes)
            .spawn(move || live(launch, &shared, &jobs))
            .map_err(|error| {
                RuntimeError::Unavailable(format!("no thread for the engine: {error}"))
            })?;
        Ok(Self { mailbox, slot })
    }

    pub(super) fn send(&self, job: Job) {
        if let Some(gone) = self.slot.gone.get() {
            gone.answer(job);
            return;
        }
        if let Err(unsent) = self.mailbox.send(job) {
            Gone::Failed(EngineError("the engine's thread is gone".to_owned())).answer(unsent.0);
        }
        // The lane may have got stuck since the look above, after its jobs were answered.
        self.slot.answer_if_gone();
    }

    pub(super) fn stop(&self, ticket: &Arc<Ticket>) {
        let runs = |running: &Running| matches!(&running.work, Work::Cell(cell) if Arc::ptr_eq(cell, ticket));
        if self.slot.lock().as_ref().is_some_and(runs) {
            watchdog::wake();
        }
    }

    pub(super) fn is_stuck(&self) -> bool {
        matches!(self.slot.gone.get(), Some(Gone::Stuck(_)))
    }

    pub(super) fn failed_to_start(&self) -> bool {
        matches!(self.slot.gone.get(), Some(Gone::Failed(_)))
    }
}

/// Why a lane serves nobody any more.
#[derive(Debug)]
enum Gone {
    /// The language could not be started.
    Failed(EngineError),
    /// A cell hangs in it that nothing can stop.
    Stuck(String),
}

impl Gone {
    fn answer(&self, job: Job) {
        let (Gone::Failed(EngineError(text)) | Gone::Stuck(text)) = self;
        let refusal = || RuntimeError::Unavailable(text.clone());
        match job {
            Job::Run { ticket, .. } => {
                ticket.settle_unstarted(Failure::unavailable(text), SessionState::Lost);
            }
            Job::Open { reply, .. } => {
                if let Some(reply) = reply {
                    let _ = reply.send(Err(refusal()));
                }
            }
            Job::Reset { reply, .. } | Job::Bind { reply, .. } => {
                let _ = reply.send(Err(refusal()));
            }
            Job::Inspect { reply, .. } => {
                let _ = reply.send(Err(refusal()));
            }
            Job::Members { reply, .. } => {
                let _ = reply.send(Err(refusal()));
            }
            Job::Close { reply, .. } => {
                if let Some(reply) = reply {
                    let _ = reply.send(Ok(()));
                }
            }
        }
    }
}

/// The lane's thread, from start to end.
fn live(launch: Launch, slot: &Arc<Slot>, jobs: &Receiver<Job>) {
    match catch_unwind(AssertUnwindSafe(launch.start)) {
        Ok(Ok((language, interrupter))) => {
            let _ = slot.interrupter.set(interrupter);
            watchdog::tend(slot);
            serve(language, slot, jobs);
        }
        Ok(Err(problem)) => slot.go(Gone::Failed(problem)),
        Err(_) => slot.go(Gone::Failed(EngineError(format!(
            "the {} engine panicked while it started",
            slot.engine
        )))),
    }
}

fn serve(mut language: Box<dyn Language>, slot: &Slot, jobs: &Receiver<Job>) {
    let mut residents: HashMap<SessionId, Resident> = HashMap::new();
    for job in jobs {
        if let Some(gone) = slot.gone.get() {
            gone.answer(job);
            continue;
        }
        match job {
            Job::Run { session, ticket } => match residents.get_mut(&session) {
                Some(resident) => run(resident, &mut *language, slot, &ticket),
                None => {
                    let failure = Failure::unavailable(&RuntimeError::Closed.to_string());
                    ticket.settle_unstarted(failure, SessionState::Lost);
                }
            },
            Job::Open {
                session,
                opening,
                reply,
            } => {
                let result = guarded(slot, || language.open(&opening));
                let result = result.map(|engine| {
                    residents.insert(
                        session,
                        Resident {
                            engine,
                            opening: *opening,
                        },
                    );
                });
                let Some(reply) = reply else { continue };
                let abandoned = result.is_ok() & reply.is_closed();
                let _ = reply.send(result);
                if abandoned {
                    residents.remove(&session);
                }
            }
            Job::Reset { session, reply } => match residents.get_mut(&session) {
                Some(resident) => {
                    keep_house(slot, Some(reply), |epoch| resident.engine.reset(epoch))
                }
                None => drop(reply.send(Err(RuntimeError::Closed))),
            },
            Job::Inspect { session, reply } => {
                let _ = reply.send(asked(slot, residents.get_mut(&session), |engine| {
                    Ok(engine.inspect())
                }));
            }
            Job::Members {
                session,
                path,
                reply,
            } => {
                let _ = reply.send(asked(slot, residents.get_mut(&session), |engine| {
                    Ok(engine.members(&path))
                }));
            }
            Job::Bind {
                session,
                name,
                value,
                reply,
            } => match residents.get_mut(&session) {
                Some(resident) => keep_house(slot, Some(reply), |epoch| {
                    resident.engine.bind(&name, &value, epoch)
                }),
                None => drop(reply.send(Err(RuntimeError::Closed))),
            },
            Job::Close { session, reply } => match residents.remove(&session) {
                Some(resident) => keep_house(slot, reply, |epoch| {
                    resident.engine.close(epoch);
                    Ok(())
                }),
                None => drop(reply.map(|reply| reply.send(Ok(())))),
            },
        }
        if slot.gone.get().is_some() {
            // The sessions were declared lost while the thread hung; what they hold is left alone, since nothing says
            // that the engine is in order.
            std::mem::forget(std::mem::take(&mut residents));
        }
    }
}

/// A session's engine, and what it takes to make another one should it panic.
struct Resident {
    engine: Box<dyn Engine>,
    opening: Opening,
}

/// Names a run to the interrupter.
fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn run(resident: &mut Resident, language: &mut dyn Language, slot: &Slot, ticket: &Arc<Ticket>) {
    let epoch = next_epoch();
    let now = Instant::now();
    let Some(number) = ticket.begin(now) else {
        return;
    };
    let deadline = ticket.timeout.map(|timeout| now + timeout);
    slot.enter(Work::Cell(ticket.clone()), epoch, deadline);
    if ticket.stop_asked().is_some() {
        // Between the two lines above, when the slot did not show the cell yet.
        watchdog::wake();
    }
    let code = source::without_fence(&ticket.code);
    let task = Task {
        code,
        number,
        epoch,
        deadline,
    };
    let result = catch_unwind(AssertUnwindSafe(|| resident.engine.run(&task)));
    let is_mine = slot.leave().is_some();
    match result {
        // Stuck until now: the watchdog has settled the cell and given the session up.
        _ if !is_mine => {}
        Ok(completion) => ticket.settle(completion, SessionState::Kept),
        Err(_) => {
            let mut completion = after_panic(resident, language, slot);
            if ticket.stop_asked().is_some() {
                // An engine that does not survive its stop has been stopped.
                completion.failure = None;
                completion.interrupted = true;
            }
            ticket.settle(completion, SessionState::Lost);
        }
    }
}

/// A panic costs the session what it held, not the process: its engine is left where it is (dropping it might panic
/// again) and a fresh one takes its place.
fn after_panic(resident: &mut Resident, language: &mut dyn Language, slot: &Slot) -> Completion {
    let failure = Failure::new(
        FailureKind::Internal,
        format!("the {} engine panicked", slot.engine),
    );
    let notice = match guarded(slot, || language.open(&resident.opening)) {
        Ok(fresh) => {
            std::mem::forget(std::mem::replace(&mut resident.engine, fresh));
            "the session was started afresh: everything it held is gone".to_owned()
        }
        Err(problem) => format!("the session could not be started afresh: {problem}"),
    };
    Completion {
        failure: Some(failure),
        notice: Some(notice),
        ..Completion::default()
    }
}

/// Ends what a session held, which may run code of the program's: under a deadline, as a cell.
fn keep_house(
    slot: &Slot,
    reply: Option<Reply<()>>,
    action: impl FnOnce(u64) -> Result<(), EngineError>,
) {
    let epoch = next_epoch();
    slot.enter(
        Work::Housekeeping(reply),
        epoch,
        Some(Instant::now() + HOUSEKEEPING),
    );
    let result = guarded(slot, || action(epoch));
    if let Some(Work::Housekeeping(Some(reply))) = slot.leave() {
        let _ = reply.send(result);
    }
}

fn asked<T>(
    slot: &Slot,
    resident: Option<&mut Resident>,
    ask: impl FnOnce(&mut dyn Engine) -> Result<T, EngineError>,
) -> Result<T, RuntimeError> {
    let resident = resident.ok_or(RuntimeError::Closed)?;
    guarded(slot, || ask(&mut *resident.engine))
}

fn guarded<T>(
    slot: &Slot,
    action: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, RuntimeError> {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(result) => result.map_err(|EngineError(text)| RuntimeError::Refused(text)),
        Err(_) => Err(RuntimeError::Unavailable(format!(
            "the {} engine panicked",
            slot.engine
        ))),
    }
}

/// What the watchdog sees of a lane.
pub(super) struct Slot {
    engine: &'static str,
    /// Other sessions live on the lane, and there cannot be another one.
    is_shared: bool,
    jobs: Receiver<Job>,
    running: Mutex<Option<Running>>,
    interrupter: OnceLock<Arc<dyn Interrupter>>,
    gone: OnceLock<Gone>,
}

struct Running {
    work: Work,
    epoch: u64,
    deadline: Option<Instant>,
    stopping: Option<Stopping>,
}

/// What a lane's thread does that must end in time, with whom to answer when it does not.
enum Work {
    Cell(Arc<Ticket>),
    Housekeeping(Option<Reply<()>>),
}

impl Work {
    fn stop_asked(&self) -> bool {
        matches!(self, Self::Cell(ticket) if ticket.stop_asked().is_some())
    }
}

#[derive(Clone, Copy)]
struct Stopping {
    since: Instant,
    press_at: Instant,
    grace: Grace,
}

impl Slot {
    fn enter(&self, work: Work, epoch: u64, deadline: Option<Instant>) {
        *self.lock() = Some(Running {
            work,
            epoch,
            deadline,
            stopping: None,
        });
        if let Some(deadline) = deadline {
            watchdog::expect_by(deadline);
        }
    }

    /// Takes the work out of the watchdog's sight; none when the watchdog has given it up before.
    fn leave(&self) -> Option<Work> {
        self.lock().take().map(|running| running.work)
    }

    /// When the watchdog must look at this lane next.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let running = self.lock();
        let running = running.as_ref()?;
        match running.stopping {
            Some(stopping) => Some(stopping.press_at),
            None if running.work.stop_asked() => Some(Instant::now()),
            None => running.deadline,
        }
    }

    /// Does what is due: begins to stop the cell, presses the interrupter, gives the cell up.
    pub(super) fn look(&self, now: Instant) {
        let (epoch, mut stopping) = {
            let mut slot = self.lock();
            let Some(running) = slot.as_mut() else { return };
            let stopping = match running.stopping {
                Some(stopping) if now < stopping.press_at => return,
                Some(stopping) => stopping,
                None => {
                    let due = running.deadline.is_some_and(|deadline| deadline <= now);
                    if !due && !running.work.stop_asked() {
                        return;
                    }
                    if let Work::Cell(ticket) = &running.work {
                        ticket.stop(Stop::Deadline);
                    }
                    Stopping {
                        since: now,
                        press_at: now,
                        grace: Grace::from(now),
                    }
                }
            };
            running.stopping = Some(stopping);
            (running.epoch, stopping)
        };
        if stopping.grace.is_over(now) {
            self.give_up(epoch);
        } else if let Some(interrupter) = self.interrupter.get() {
            let again = interrupter.press(epoch, now - stopping.since);
            stopping.press_at = stopping.grace.next_look(again);
            let mut slot = self.lock();
            if let Some(running) = slot.as_mut()
                && running.epoch == epoch
            {
                running.stopping = Some(stopping);
            }
        }
    }

    /// Nothing could stop the cell: its host gets its answer, and the lane serves nobody any more.
    fn give_up(&self, epoch: u64) {
        let work = {
            let mut slot = self.lock();
            match slot.take() {
                Some(running) if running.epoch == epoch => running.work,
                other => {
                    *slot = other;
                    return;
                }
            }
        };
        let engine = self.engine;
        let (reason, after) = if self.is_shared {
            (
                format!(
                    "the {engine} engine of this process is stuck: an earlier cell runs native code that nothing can stop\nhint: restart the process"
                ),
                format!(
                    "later {engine} cells in this process answer `unavailable`, or run in a worker where there is an executable for it"
                ),
            )
        } else {
            (
                "an earlier cell of the session could not be stopped, and took the session with it"
                    .to_owned(),
                "the next cell meets a fresh session; the thread is left to what runs on it"
                    .to_owned(),
            )
        };
        self.go(Gone::Stuck(reason.clone()));
        match work {
            Work::Cell(ticket) => {
                let notice = format!(
                    "the cell could not be stopped and still runs native code; everything the session held is gone, and {after}"
                );
                let completion = Completion {
                    interrupted: true,
                    notice: Some(notice),
                    ..Completion::default()
                };
                ticket.settle(completion, SessionState::Lost);
            }
            Work::Housekeeping(Some(reply)) => {
                let _ = reply.send(Err(RuntimeError::Unavailable(reason)));
            }
            Work::Housekeeping(None) => {}
        }
    }

    fn go(&self, gone: Gone) {
        let _ = self.gone.set(gone);
        self.answer_if_gone();
    }

    fn answer_if_gone(&self) {
        if let Some(gone) = self.gone.get() {
            for job in self.jobs.try_iter() {
                gone.answer(job);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        // Nothing panics under this lock.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
