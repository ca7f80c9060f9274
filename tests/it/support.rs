//! What the tests share: the turn at the interpreter, bounded waiting, judging outcomes, processes of their own.
//!
//! CPython lives once in a process, on one thread, and every in-process Python session of this binary queues in front of
//! it. A test therefore takes its turn before it opens sessions, so that its bounds on time measure its own cells and not
//! those of its neighbours. A test that looks at the whole process (signals, memory, exit), or whose cells may harm it,
//! runs in a process of its own: see [`alone`].

mod alone;
mod judge;
#[cfg(feature = "mcp")]
mod mcp;
mod picture;
#[cfg(feature = "cli")]
pub(crate) mod processes;
#[cfg(feature = "cli")]
mod program;
mod random;
#[cfg(feature = "cli")]
mod server;
#[cfg(feature = "cli")]
mod terminal;
mod venv;

use std::future::Future;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use warmcell::{Cell, CodeRuntime, Execution, Language, Outcome, Session, SessionBuilder};

pub(crate) use alone::{Alone, in_own_process, test_name};
pub(crate) use judge::{Judge, check_cut, json_differs};
#[cfg(feature = "mcp")]
pub(crate) use mcp::{Protocol, Workspace, read};
pub(crate) use picture::decoded;
#[cfg(feature = "cli")]
pub(crate) use program::{Exited, Program, STATE_HOME, warmcell};
pub(crate) use random::Random;
#[cfg(feature = "cli")]
pub(crate) use server::{Server, refusal_in};
#[cfg(feature = "cli")]
pub(crate) use terminal::{Answers, Talk, terminal};
#[cfg(feature = "cli")]
pub(crate) use venv::data_venv;
#[cfg(feature = "mcp")]
pub(crate) use venv::mcp_venv;
pub(crate) use venv::{display_venv, numpy_venv, venv};

/// The longest that any test waits for one answer. Far more than any of them needs, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The right to use the interpreter, held by one test at a time.
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

/// Waits for the interpreter.
pub(crate) fn turn() -> Turn {
    static INTERPRETER: Mutex<()> = Mutex::new(());
    // A test that failed in its turn has closed its sessions all the same.
    Turn(INTERPRETER.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Turn {
    /// Opens a Python session with the default options.
    pub(crate) fn python(&self) -> Opened<'_> {
        self.open(Session::builder(Language::Python))
    }

    /// Opens a session for as long as the turn lasts.
    #[track_caller]
    pub(crate) fn open(&self, builder: SessionBuilder) -> Opened<'_> {
        let session = settle(builder.open()).expect("the session opens");
        Opened {
            session,
            turn: self,
        }
    }
}

/// A session that is closed before the turn ends.
pub(crate) struct Opened<'turn> {
    session: Session,
    #[expect(dead_code, reason = "ties the session to the turn")]
    turn: &'turn Turn,
}

impl Deref for Opened<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        settle_within(PATIENCE, self.session.close());
    }
}

/// Running cells one after the other, with a bound on every wait.
pub(crate) trait Cells {
    /// Runs a cell to its outcome.
    fn cell(&self, code: &str) -> Outcome;

    /// Runs a cell with a timeout of its own.
    fn cell_within(&self, timeout: Duration, code: &str) -> Outcome;

    /// Gives the session a cell without waiting for it.
    fn start(&self, cell: impl Into<Cell>) -> Execution;

    /// Makes the session a fresh one.
    fn reset_now(&self);
}

impl Cells for Session {
    #[track_caller]
    fn cell(&self, code: &str) -> Outcome {
        settle(self.start(code))
    }

    #[track_caller]
    fn cell_within(&self, timeout: Duration, code: &str) -> Outcome {
        settle(self.start(Cell::new(code).with_timeout(timeout)))
    }

    #[track_caller]
    fn start(&self, cell: impl Into<Cell>) -> Execution {
        self.run(cell.into()).expect("the session takes the cell")
    }

    #[track_caller]
    fn reset_now(&self) {
        settle(self.reset()).expect("the session is reset");
    }
}

/// Milliseconds, for timeouts that stand in the middle of a line.
pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Waits for a future on this thread, without any runtime; the test fails when it takes too long.
#[track_caller]
pub(crate) fn settle<F: Future>(future: F) -> F::Output {
    settle_within(PATIENCE, future).unwrap_or_else(|| panic!("no answer within {PATIENCE:?}"))
}

/// Waits for a future on this thread for so long at most.
pub(crate) fn settle_within<F: Future>(bound: Duration, future: F) -> Option<F::Output> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let deadline = Instant::now() + bound;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        thread::park_timeout(left);
    }
}

/// How long an action took, and what came of it.
pub(crate) fn timed<T>(action: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let output = action();
    (started.elapsed(), output)
}

/// Waits for what no event announces: another process's end, a file of another process.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !holds() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        thread::sleep(ms(5));
    }
}

/// The version of Python that the engine in this binary was built for, such as `3.11`.
pub(crate) fn python_version() -> String {
    let turn = turn();
    let outcome = turn
        .python()
        .cell("import sys\nreturn f'{sys.version_info[0]}.{sys.version_info[1]}'");
    let version = outcome.value.expect("a version").parse();
    version.expect("a text")
}

/// Judges every row of a table, and fails after the last one when one of them failed.
#[track_caller]
pub(crate) fn each<T>(rows: impl IntoIterator<Item = T>, mut judge: impl FnMut(T)) {
    let mut rows_in_all = 0;
    let mut failed = 0;
    for row in rows {
        rows_in_all += 1;
        // What a row leaves half done is a session in another state, which the next row's judgement shows.
        failed += u32::from(catch_unwind(AssertUnwindSafe(|| judge(row))).is_err());
    }
    assert_eq!(failed, 0, "of {rows_in_all} rows");
}
