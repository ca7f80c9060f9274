//! A share of a cell's time: code that the cell can do without is given up once it has taken too long, and the cell goes on.
//!
//! What runs in a share has an epoch of its own, so that all that the interrupt keeps by epoch is kept apart from the
//! cell's. A timer of the kernel's sends the private signal to the interpreter's thread when the share is used up, and again
//! until what runs there has ended; no other thread takes part. A stop of the cell's ends the code in its share as well, and
//! is the cell's own as soon as the share was left: it is raised there, whatever the code made of it. A cell that is to stop
//! gets no further shares.
//!
//! What no signal reaches (C code that loops, a blocked signal) is not given up, and ends with the cell at its deadline.

use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::{
    RUNNING, STOP, is_interrupt, now, passing_on, release_trace, runs_here, signal, since_start,
    stopped, stops_here, was_heard,
};

/// The longest share; of a cell that has less than twice as long left it is half of that.
const LONGEST: Duration = Duration::from_secs(5);

/// How often the signal comes once a share is used up.
const AGAIN: Duration = Duration::from_millis(5);

/// The first of the epochs of shares, far beyond those of cells.
const FIRST: u64 = 1 << 63;

static NEXT: AtomicU64 = AtomicU64::new(FIRST);

/// The share in which code runs, or 0; the cell whose it is; and when it is used up (nanoseconds since the start).
static CURRENT: AtomicU64 = AtomicU64::new(0);
static CELL: AtomicU64 = AtomicU64::new(0);
static ENDS: AtomicU64 = AtomicU64::new(0);

/// The cell that is to stop, as the watchdog said.
static STOPPING: AtomicU64 = AtomicU64::new(0);

/// When the running cell is to end.
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);

/// A cell begins that is to end by then.
pub(super) fn begin_cell(deadline: Option<Instant>) {
    DEADLINE.store(deadline.map_or(u64::MAX, since_start), Ordering::Relaxed);
}

/// The cell is to stop. Said before it is looked at what runs: a share that ends meanwhile is either seen to have ended, or
/// sees this itself.
pub(super) fn note_stop(epoch: u64) {
    STOPPING.store(epoch, Ordering::SeqCst);
}

/// Whether `running` is a share of the cell of `epoch`.
pub(super) fn is_of(running: u64, epoch: u64) -> bool {
    running >= FIRST
        && CURRENT.load(Ordering::SeqCst) == running
        && CELL.load(Ordering::SeqCst) == epoch
}

/// Whether `running` is a share at all.
pub(super) fn is_one(running: u64) -> bool {
    running != 0 && CURRENT.load(Ordering::SeqCst) == running
}

/// Whether `running` is a share that is used up.
pub(super) fn is_used_up(running: u64) -> bool {
    is_one(running) && now() >= ENDS.load(Ordering::SeqCst)
}

/// Runs code within a share of the time that is left to the running cell. Gives nothing where it was given up.
///
/// On other threads than the interpreter's, within another share, and in a cell that is to stop it runs without one.
///
/// # Errors
///
/// That of the code; the interrupt's own exception where the cell is to stop.
pub(in super::super) fn within_share<T>(
    py: Python<'_>,
    action: impl FnOnce() -> PyResult<T>,
) -> PyResult<Option<T>> {
    let cell = RUNNING.load(Ordering::SeqCst);
    let is_stopping = STOPPING.load(Ordering::SeqCst) == cell;
    if cell == 0 || is_stopping || CURRENT.load(Ordering::SeqCst) != 0 || !runs_here() {
        return passing_on(py, action).map(Some);
    }
    let left = DEADLINE.load(Ordering::Relaxed).saturating_sub(now());
    let length = Duration::from_nanos(left / 2).min(LONGEST);
    let share = NEXT.fetch_add(1, Ordering::Relaxed);
    let ends = now().saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
    ENDS.store(ends, Ordering::SeqCst);
    CELL.store(cell, Ordering::SeqCst);
    CURRENT.store(share, Ordering::SeqCst);
    RUNNING.store(share, Ordering::SeqCst);
    let alarm = Alarm::set(length);
    let result = action();
    drop(alarm);
    RUNNING.store(cell, Ordering::SeqCst);
    CURRENT.store(0, Ordering::SeqCst);
    release_trace(py);
    let is_given_up = was_heard(share);
    if STOPPING.load(Ordering::SeqCst) == cell && stops_here(py, cell) {
        return Err(match result {
            // It knows where the code stood.
            Err(error) if is_interrupt(py, &error) => error,
            _ => stopped(py),
        });
    }
    match is_given_up {
        true => Ok(None),
        false => result.map(Some),
    }
}

/// The share is used up: what runs in it is to stop.
pub(super) fn stop_if_used_up(running: u64) {
    if is_used_up(running) {
        STOP.store(running, Ordering::SeqCst);
    }
}

/// A timer that sends the private signal to the calling thread, again and again from some time on.
struct Alarm(libc::timer_t);

impl Alarm {
    /// None where the system has no timer left: then nothing is given up before its cell.
    fn set(after: Duration) -> Option<Self> {
        let mut event = MaybeUninit::<libc::sigevent>::zeroed();
        let mut timer: libc::timer_t = null_mut();
        // SAFETY: all zeros is an event; the timer's number is written by the call that makes it.
        let made = unsafe {
            let event = event.assume_init_mut();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = libc::gettid();
            libc::timer_create(libc::CLOCK_MONOTONIC, event, &raw mut timer) == 0
        };
        if !made {
            return None;
        }
        let alarm = Self(timer);
        let times = libc::itimerspec {
            it_interval: timespec(AGAIN),
            // A time of zero would disarm it.
            it_value: timespec(after.max(Duration::from_nanos(1))),
        };
        // SAFETY: the timer was made above.
        let set = unsafe { libc::timer_settime(alarm.0, 0, &raw const times, null_mut()) == 0 };
        set.then_some(alarm)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer is this one's own.
        unsafe { libc::timer_delete(self.0) };
    }
}

fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs() as libc::time_t,
        tv_nsec: duration.subsec_nanos().into(),
    }
}
