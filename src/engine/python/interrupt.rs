//! Stopping a running cell from another thread.
//!
//! A private real-time signal goes to the interpreter's thread, where CPython's C handler wakes whatever sleeps there and
//! has [`handle`] called between bytecodes. (`PyErr_SetInterruptEx` from another thread is not enough: on 3.11 it does not
//! stop even `while True: pass`, because the eval breaker is worked out on the calling thread.) From there:
//!
//! 1. The first call raises a private `BaseException`, once. In a cell that awaits, while the loop waits or runs another
//!    task, the cell's own task is cancelled instead, so that the loop stays whole.
//!    On 3.11 an exception raised right after a jump backwards is looked up at the instruction before the jump's target: the
//!    `finally` of `try: while True: pass` would not run. There a trace function raises it at the next instruction instead.
//! 2. For [`WINDOW`] nothing more is raised: `finally`, `with` and the event loop put things in order. A trace function
//!    armed at once was measured to skip them and leave locks held.
//! 3. After that a trace function raises on every call and line, so that no `except:` holds it. In a cell that awaits the loop
//!    is stopped instead where it waits or runs another task; for [`STUBBORN`] tasks of other cells are not raised at.
//! 4. Where no handler runs at all (the signal is blocked, or its handler was replaced) a pending call does the same, and a
//!    thread that attaches for a moment makes CPython look for it. Children of the cell are killed, which ends what waits
//!    for them (glibc's `system` goes on waiting after a signal).
//!
//! Every cell has an epoch, and nothing is raised unless the epoch that should stop is the one that runs: a signal that
//! comes late finds another epoch, or none, and does nothing.
//!
//! State is a handful of atomics, written by the watchdog (`press`) and by the interpreter's thread (all others).

mod share;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use pyo3::{PyErr, ffi};

pub(super) use self::share::within_share;
use super::tasks::{self, Runs};
use super::{children, cpython};
use crate::engine::Interrupter;

/// How long a cell may clean up after it was interrupted.
const WINDOW: Duration = Duration::from_millis(50);

/// How long it may take to tell what became of a cell that was interrupted, the program's part in it included. In a worker
/// whose first failure it is it was measured to take 20 ms, and 40 where modules had to be imported.
const REPORT_WINDOW: Duration = Duration::from_millis(250);

/// When a cell's own task that was cancelled has had its chance, and the exception is raised wherever the loop stands.
const CANCEL_WINDOW: Duration = Duration::from_millis(20);

/// When it is raised wherever the loop stands, since it does not stop.
const STUBBORN: Duration = Duration::from_millis(150);

/// When a signal that reached no handler is helped along by other means.
const UNHEARD: Duration = Duration::from_millis(20);

/// When the runtime's own work in the middle of a cell is interrupted all the same: an import hook of the program's may hang in it.
const SHELTER: Duration = Duration::from_millis(500);

/// When the cell's children are killed.
const CHILDREN: Duration = Duration::from_millis(60);

/// The epoch of the cell that runs, or 0.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// The epoch whose cell waits for something of the runtime's own, or 0.
static SHELTERED: AtomicU64 = AtomicU64::new(0);

/// The epoch that should stop.
static STOP: AtomicU64 = AtomicU64::new(0);

/// The epoch whose interrupt has been heard, and when (nanoseconds since the interpreter started).
static HEARD: AtomicU64 = AtomicU64::new(0);
static HEARD_AT: AtomicU64 = AtomicU64::new(0);

/// The epoch in which the exception was raised.
static RAISED: AtomicU64 = AtomicU64::new(0);

/// Whether the trace function is armed, and whether it is to raise but once.
static TRACING: AtomicBool = AtomicBool::new(false);
static TRACING_ONCE: AtomicBool = AtomicBool::new(false);

/// Whether it lets calls pass: what is raised as a frame is entered does not know the frame.
static LINES_ONLY: AtomicBool = AtomicBool::new(false);

/// The class that is raised, and when the interpreter started.
static SETUP: OnceLock<Setup> = OnceLock::new();

struct Setup {
    exception: Py<PyAny>,
    started: Instant,
    /// The interpreter's thread.
    thread: libc::pthread_t,
    /// The opcodes after which nothing may be raised; none from 3.12 on.
    jumps: Vec<u8>,
}

/// Makes the exception's class and the signal's handler. Returns the handler, which the caller installs.
pub(super) fn prepare(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the lock is held; the name is a C string, the base a type.
    let exception = unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyErr_NewException(
                c"builtins.CellStopped".as_ptr(),
                ffi::PyExc_BaseException,
                null_mut(),
            ),
        )
    }?;
    let jumps = if py.version_info() < (3, 12) {
        backward_jumps(py)?
    } else {
        Vec::new()
    };
    let _ = SETUP.set(Setup {
        exception: exception.unbind(),
        started: Instant::now(),
        // SAFETY: takes nothing and cannot fail.
        thread: unsafe { libc::pthread_self() },
        jumps,
    });
    let hook = pyo3::wrap_pyfunction!(unraisable, py)?;
    py.import("sys")?.setattr("unraisablehook", hook)?;
    Ok(pyo3::wrap_pyfunction!(handle, py)?.into_any())
}

/// What `sys.unraisablehook` is: stops that hit a finalizer or a callback, which have nobody to raise to, are no news.
#[pyfunction]
fn unraisable(py: Python<'_>, ignored: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_stop = SETUP.get().is_some_and(|setup| {
        let class = ignored.getattr("exc_type");
        class.is_ok_and(|class| class.is(&setup.exception))
    });
    if is_stop {
        return Ok(());
    }
    let usual = py.import("sys")?.getattr("__unraisablehook__")?;
    usual.call1((ignored,)).map(drop)
}

fn backward_jumps(py: Python<'_>) -> PyResult<Vec<u8>> {
    let opcodes: Vec<(String, u8)> = py
        .import("opcode")?
        .getattr("opmap")?
        .call_method0("items")?
        .try_iter()?
        .map(|item| item?.extract::<(String, u8)>())
        .collect::<PyResult<_>>()?;
    Ok(opcodes
        .into_iter()
        .filter(|(name, _)| name.contains("JUMP_BACKWARD"))
        .map(|(_, opcode)| opcode)
        .collect())
}

/// The private signal: one below the last real-time signal, which nothing known uses.
pub(super) fn signal() -> c_int {
    libc::SIGRTMAX() - 1
}

/// The code of a cell begins, which is to end by the deadline: from now on it can be interrupted.
pub(super) fn begin(epoch: u64, deadline: Option<Instant>) {
    children::note_start();
    share::begin_cell(deadline);
    RUNNING.store(epoch, Ordering::SeqCst);
}

/// Does something of the runtime's own in the middle of a cell: the interrupt waits for it, for [`SHELTER`]. Other threads are
/// not interrupted.
pub(super) fn undisturbed<T>(action: impl FnOnce() -> T) -> T {
    let running = RUNNING.load(Ordering::SeqCst);
    if running == 0 || !runs_here() {
        return action();
    }
    SHELTERED.store(running, Ordering::SeqCst);
    RUNNING.store(0, Ordering::SeqCst);
    let result = action();
    RUNNING.store(running, Ordering::SeqCst);
    SHELTERED.store(0, Ordering::SeqCst);
    result
}

/// What waits for the runtime's own work is to wait no longer.
fn end_shelter(epoch: u64) {
    if SHELTERED.load(Ordering::SeqCst) != epoch
        || RUNNING
            .compare_exchange(0, epoch, Ordering::SeqCst, Ordering::SeqCst)
            .is_err()
    {
        return;
    }
    // It may have ended between the two, and the cell with it.
    if SHELTERED.load(Ordering::SeqCst) != epoch {
        let _ = RUNNING.compare_exchange(epoch, 0, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// Whether this is the interpreter's thread.
pub(super) fn runs_here() -> bool {
    // SAFETY: takes nothing and cannot fail.
    let here = unsafe { libc::pthread_self() };
    thread() == Some(here)
}

/// The interpreter's thread, once it runs. May be called by a signal's handler.
pub(super) fn thread() -> Option<libc::pthread_t> {
    SETUP.get().map(|setup| setup.thread)
}

/// The code of the cell has ended, and with it what may be interrupted. Returns whether it was.
pub(super) fn end(py: Python<'_>, epoch: u64) -> bool {
    RUNNING.store(0, Ordering::SeqCst);
    release_trace(py);
    let was_heard = was_heard(epoch);
    if was_heard {
        cpython::forget_handled(py);
    }
    was_heard
}

/// Tells what became of the cell, in Python that the cell's own interrupt must not end: what is of the program's in it, like an
/// exception's `__str__`, has a [`REPORT_WINDOW`].
pub(super) fn reporting<T>(py: Python<'_>, epoch: u64, action: impl FnOnce() -> T) -> T {
    if !was_heard(epoch) {
        return action();
    }
    let longer = (REPORT_WINDOW - WINDOW).as_nanos() as u64;
    HEARD_AT.store(now() + longer, Ordering::Relaxed);
    let resisted = TRACING.load(Ordering::Relaxed);
    release_trace(py);
    cpython::forget_handled(py);
    let result = action();
    HEARD_AT.store(now(), Ordering::Relaxed);
    if resisted {
        arm_trace(py, false);
    }
    result
}

/// From now on the trace function raises: on every call and line, or but once.
fn arm_trace(py: Python<'_>, once: bool) {
    TRACING_ONCE.store(once, Ordering::Relaxed);
    TRACING.store(true, Ordering::Relaxed);
    cpython::set_trace(py, trace);
}

/// Runs what is to end the cell's own coroutine: wherever that goes on it is raised at.
pub(super) fn holding<T>(py: Python<'_>, action: impl FnOnce() -> T) -> T {
    arm_trace(py, false);
    LINES_ONLY.store(true, Ordering::Relaxed);
    let result = action();
    LINES_ONLY.store(false, Ordering::Relaxed);
    result
}

fn release_trace(py: Python<'_>) {
    TRACING_ONCE.store(false, Ordering::Relaxed);
    if TRACING.swap(false, Ordering::Relaxed) {
        cpython::clear_trace(py);
    }
}

/// Whether the cell of `epoch` was interrupted.
pub(super) fn was_heard(epoch: u64) -> bool {
    HEARD.load(Ordering::Relaxed) == epoch
}

/// A cell that resisted may leave objects whose finalisers resist too. They are collected while the trace function still
/// holds them, lest they run on in somebody else's cell.
pub(super) fn collect_what_resisted(_py: Python<'_>) {
    if TRACING.load(Ordering::Relaxed) {
        // SAFETY: the lock is held.
        unsafe { ffi::PyGC_Collect() };
    }
}

/// Whether `error` is the interrupt's own exception.
pub(super) fn is_interrupt(py: Python<'_>, error: &PyErr) -> bool {
    SETUP
        .get()
        .is_some_and(|setup| error.get_type(py).is(&setup.exception))
}

/// Runs code of the program's on the runtime's behalf. An interrupt that the code keeps to itself is raised anew.
pub(super) fn passing_on<T>(py: Python<'_>, action: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let running = RUNNING.load(Ordering::SeqCst);
    let was_raised = || RAISED.load(Ordering::Relaxed) == running;
    if running == 0 || was_raised() || !runs_here() {
        return action();
    }
    match action() {
        Err(error) if is_interrupt(py, &error) => Err(error),
        _ if was_raised() => Err(stopped(py)),
        result => result,
    }
}

/// The cell runs again that was to stop while a share of it ran. Whether that is raised at once: where another task than the
/// cell's own runs, the cell's is cancelled.
fn stops_here(py: Python<'_>, cell: u64) -> bool {
    ask_to_stop(cell);
    !matches!(next_step(py), Step::Nothing)
}

/// What runs under this epoch is to stop.
fn ask_to_stop(epoch: u64) {
    if STOP.swap(epoch, Ordering::SeqCst) != epoch {
        children::note_those_of_the_cell();
    }
}

/// Runs between bytecodes of the interpreter's thread after the signal came.
#[pyfunction]
#[pyo3(signature = (*arguments))]
fn handle(py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
    let frame = arguments.get_item(1).ok();
    let step = next_step(py);
    if take(py, step, frame.as_ref()) {
        Err(stopped(py))
    } else {
        Ok(())
    }
}

/// Arms what `step` needs. Returns whether to raise here and now.
fn take(py: Python<'_>, step: Step, frame: Option<&Bound<'_, PyAny>>) -> bool {
    match step {
        Step::Nothing => false,
        Step::Raise if frame.is_some_and(|frame| has_just_jumped(frame).unwrap_or(false)) => {
            // `while True: pass` jumps to itself, which is no new line to CPython but an instruction it can trace.
            let traced = frame.is_some_and(|frame| frame.setattr("f_trace_opcodes", true).is_ok());
            arm_trace(py, true);
            !traced
        }
        Step::Raise => true,
        Step::RaiseAndTrace => {
            arm_trace(py, false);
            true
        }
    }
}

fn has_just_jumped(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(setup) = SETUP.get() else {
        return Ok(false);
    };
    if setup.jumps.is_empty() || frame.is_none() {
        return Ok(false);
    }
    let instruction: usize = frame.getattr("f_lasti")?.extract()?;
    let code = frame.getattr("f_code")?.getattr("co_code")?;
    let code = code.cast::<PyBytes>()?.as_bytes();
    Ok(code
        .get(instruction)
        .is_some_and(|opcode| setup.jumps.contains(opcode)))
}

enum Step {
    Nothing,
    Raise,
    RaiseAndTrace,
}

fn next_step(py: Python<'_>) -> Step {
    let epoch = RUNNING.load(Ordering::SeqCst);
    share::stop_if_used_up(epoch);
    if epoch == 0 || STOP.load(Ordering::SeqCst) != epoch {
        return Step::Nothing;
    }
    let is_first = HEARD.swap(epoch, Ordering::Relaxed) != epoch;
    if is_first {
        HEARD_AT.store(now(), Ordering::Relaxed);
    }
    let since = since_heard();
    if since >= WINDOW {
        let leaves_the_loop =
            since < STUBBORN && !share::is_one(epoch) && tasks::give_up_instead(py) != Runs::Own;
        return match leaves_the_loop {
            true => Step::Nothing,
            false => Step::RaiseAndTrace,
        };
    }
    let may_raise = RAISED.load(Ordering::Relaxed) != epoch && (is_first || since >= CANCEL_WINDOW);
    if !may_raise {
        return Step::Nothing;
    }
    // What runs in a share is called by the runtime, which takes the exception back before any task meets it.
    let raises = share::is_one(epoch)
        || match tasks::cancel_instead(py) {
            Runs::Own => true,
            Runs::OtherTask | Runs::Loop => false,
        };
    if raises && RAISED.swap(epoch, Ordering::Relaxed) != epoch {
        Step::Raise
    } else {
        Step::Nothing
    }
}

/// The interrupt's own exception, as it is raised.
pub(super) fn stopped(py: Python<'_>) -> PyErr {
    match SETUP.get() {
        Some(setup) => match setup.exception.bind(py).call0() {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        },
        None => pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
    }
}

/// Raises on every call and line of a cell that would not end.
extern "C" fn trace(
    _: *mut ffi::PyObject,
    _: *mut ffi::PyFrameObject,
    what: c_int,
    _: *mut ffi::PyObject,
) -> c_int {
    let epoch = RUNNING.load(Ordering::Relaxed);
    let once = TRACING_ONCE.load(Ordering::Relaxed);
    let is_place = match what {
        ffi::PyTrace_LINE => true,
        ffi::PyTrace_CALL => !LINES_ONLY.load(Ordering::Relaxed),
        ffi::PyTrace_OPCODE => once,
        _ => false,
    };
    if epoch == 0 || STOP.load(Ordering::Relaxed) != epoch || !is_place {
        return 0;
    }
    if once {
        TRACING_ONCE.store(false, Ordering::Relaxed);
        TRACING.store(false, Ordering::Relaxed);
        // SAFETY: CPython calls trace functions with the lock held.
        cpython::clear_trace(unsafe { Python::assume_attached() });
    } else if since_heard() < STUBBORN
        // SAFETY: as above.
        && tasks::whose(unsafe { Python::assume_attached() }) != Runs::Own
    {
        return 0;
    }
    raise()
}

fn since_heard() -> Duration {
    Duration::from_nanos(now().saturating_sub(HEARD_AT.load(Ordering::Relaxed)))
}

extern "C" fn pending(_: *mut c_void) -> c_int {
    // SAFETY: CPython makes pending calls with the lock held.
    let py = unsafe { Python::assume_attached() };
    let step = next_step(py);
    let frame = cpython::current_frame(py);
    if take(py, step, frame.as_ref()) {
        raise()
    } else {
        0
    }
}

fn raise() -> c_int {
    let Some(setup) = SETUP.get() else { return 0 };
    // SAFETY: called by CPython with the lock held; the class lives as long as the process.
    unsafe { ffi::PyErr_SetNone(setup.exception.as_ptr()) };
    -1
}

fn now() -> u64 {
    since_start(Instant::now())
}

/// Nanoseconds since the interpreter started.
fn since_start(instant: Instant) -> u64 {
    SETUP.get().map_or(0, |setup| {
        let since = instant.saturating_duration_since(setup.started);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// The interrupter of the interpreter's thread.
#[derive(Debug)]
pub(super) struct PythonInterrupter {
    pub(super) thread: libc::pthread_t,
}

impl Interrupter for PythonInterrupter {
    fn press(&self, epoch: u64, elapsed: Duration) -> Duration {
        if elapsed >= SHELTER {
            end_shelter(epoch);
        }
        let is_of_the_cell = |running| running == epoch || share::is_of(running, epoch);
        let is_running = is_of_the_cell(RUNNING.load(Ordering::SeqCst));
        if is_running {
            share::note_stop(epoch);
        }
        let running = RUNNING.load(Ordering::SeqCst);
        if !(is_running && is_of_the_cell(running)) {
            // The runtime's own work around the cell, which is short.
            return Duration::from_millis(1);
        }
        ask_to_stop(running);
        self.signal();
        let heard = was_heard(running);
        let since = heard.then(since_heard);
        if elapsed >= UNHEARD && since.is_none_or(|since| since >= WINDOW + UNHEARD) {
            self.insist();
        }
        if elapsed >= CHILDREN {
            children::kill_those_of_the_cell();
        }
        match since {
            Some(since) if since < CANCEL_WINDOW => CANCEL_WINDOW - since,
            Some(since) if since < WINDOW => WINDOW - since,
            // 0.5, 1, 2, 4 .. 20 ms
            _ => elapsed.clamp(Duration::from_micros(500), Duration::from_millis(20)),
        }
    }
}

impl PythonInterrupter {
    fn signal(&self) {
        // SAFETY: the interpreter's thread never ends, so its id stays good.
        unsafe { libc::pthread_kill(self.thread, signal()) };
    }

    /// For a cell that no signal reaches.
    fn insist(&self) {
        static ATTACHING: AtomicBool = AtomicBool::new(false);
        // SAFETY: both calls are documented to need no lock.
        unsafe {
            ffi::PyErr_SetInterruptEx(signal());
            ffi::Py_AddPendingCall(Some(pending), null_mut());
        }
        self.signal();
        if !ATTACHING.swap(true, Ordering::SeqCst) {
            // It waits for as long as C code holds the lock; one such thread is enough.
            let attached = std::thread::Builder::new()
                .name("warmcell-nudge".to_owned())
                .spawn(|| {
                    Python::attach(|_| ());
                    ATTACHING.store(false, Ordering::SeqCst);
                });
            if attached.is_err() {
                ATTACHING.store(false, Ordering::SeqCst);
            }
        }
    }
}
