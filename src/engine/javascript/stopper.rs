//! [`Stopper`]: how another thread stops the cell that runs, and wakes the engine's thread where it waits for a timer.
//!
//! The lock guards which cell runs, so that a press can never hit the next one; it is held for a few stores, by the
//! engine's thread at the start and the end of a cell and by the watchdog while it presses.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::engine::Interrupter;

/// How soon a press is repeated: an engine may have been busy where it does not look.
const PRESS_AGAIN: Duration = Duration::from_millis(20);

/// How long after the first press an engine that does not stop gets no more memory, where it asks.
const STARVE_AFTER: Duration = Duration::from_millis(100);

/// What an engine does besides looking at [`Stopper::is_pressed`], called under the lock while the cell runs.
pub(super) type Poke = Box<dyn Fn() + Send + Sync>;

/// The running cell of one thread, and whether it must stop.
pub(super) struct Stopper {
    running: Mutex<Running>,
    /// The cell that must stop.
    pressed: AtomicU64,
    /// The cell that did not stop in time.
    starved: AtomicU64,
    /// The cell that runs, for the engine's own looks.
    current: AtomicU64,
    thread: Thread,
}

/// What a press needs to know.
#[derive(Default)]
struct Running {
    /// The cell that runs; 0 when none does.
    epoch: u64,
    poke: Option<Poke>,
}

impl Stopper {
    /// Of the calling thread, which must be the engine's.
    pub(super) fn of_this_thread() -> Arc<Self> {
        Arc::new(Self {
            running: Mutex::default(),
            pressed: AtomicU64::new(0),
            starved: AtomicU64::new(0),
            current: AtomicU64::new(0),
            thread: thread::current(),
        })
    }

    /// Sets what a press does besides, while no cell runs.
    #[cfg(feature = "javascript")]
    pub(super) fn set_poke(&self, poke: Poke) {
        self.lock().poke = Some(poke);
    }

    /// The cell of `epoch` runs from now on.
    pub(super) fn begin(&self, epoch: u64) {
        let mut running = self.lock();
        running.epoch = epoch;
        self.starved.store(0, Ordering::Relaxed);
        self.current.store(epoch, Ordering::Relaxed);
    }

    /// The cell has ended: nothing can stop it any more when this returns. Says whether it was stopped before.
    pub(super) fn end(&self) -> bool {
        let mut running = self.lock();
        running.epoch = 0;
        let is_pressed = self.is_pressed();
        self.current.store(0, Ordering::Relaxed);
        is_pressed
    }

    /// Whether the cell that runs must stop. Cheap enough to ask at every turn.
    pub(super) fn is_pressed(&self) -> bool {
        let current = self.current.load(Ordering::Relaxed);
        current != 0 && self.pressed.load(Ordering::Acquire) == current
    }

    /// Whether the cell that runs was to stop and has not. Asked at each allocation.
    #[cfg(feature = "quickjs")]
    pub(super) fn is_starved(&self) -> bool {
        let starved = self.starved.load(Ordering::Relaxed);
        starved != 0 && starved == self.current.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupter for Stopper {
    fn press(&self, epoch: u64, since: Duration) -> Duration {
        let running = self.lock();
        if running.epoch == epoch {
            self.pressed.store(epoch, Ordering::Release);
            if since >= STARVE_AFTER {
                self.starved.store(epoch, Ordering::Relaxed);
            }
            if let Some(poke) = &running.poke {
                poke();
            }
            self.thread.unpark();
        }
        PRESS_AGAIN
    }
}
