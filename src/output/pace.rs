//! [`Pace`]: holds a cell up while the reader of its events is behind, for readers that want every byte.
//!
//! Its lock is held for a count, never while another is taken. The one that waits holds no lock of ours: not the
//! transcript's, so that a cell can be settled meanwhile, and a stop of the cell ends the waiting.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How far a cell may be ahead of its reader.
#[derive(Debug)]
pub(super) struct Pace {
    ahead: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    is_over: bool,
}

impl Pace {
    /// A writer may be `ahead` events ahead.
    pub(super) fn new(ahead: usize) -> Self {
        Self {
            ahead,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The writer sent an event.
    pub(super) fn sent(&self) {
        self.lock().waiting += 1;
    }

    /// The reader took an event.
    pub(super) fn taken(&self) {
        let mut state = self.lock();
        state.waiting = state.waiting.saturating_sub(1);
        if state.waiting < self.ahead {
            self.changed.notify_all();
        }
    }

    /// From here on nobody waits: the reader is gone, or the cell is to end.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Whether the reader is behind, for a writer that cannot wait here.
    pub(super) fn is_ahead(&self) -> bool {
        let state = self.lock();
        !state.is_over && state.waiting >= self.ahead
    }

    /// Waits for the reader to catch up.
    pub(super) fn keep(&self) {
        let state = self.lock();
        let is_ahead = |state: &mut State| !state.is_over && state.waiting >= self.ahead;
        drop(self.changed.wait_while(state, is_ahead));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
