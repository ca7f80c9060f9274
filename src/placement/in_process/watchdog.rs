//! The watchdog: one thread that sees to it that every cell ends by its deadline, or is given up by the end of its grace.
//!
//! It costs a cell nothing as a rule: a starting cell wakes it only when its deadline is earlier than the time at which
//! the watchdog will look next anyway, so with equal timeouts it is woken about once a timeout and not once a cell.
//!
//! Why no deadline is missed: a lane writes its slot, then reads [`NEXT_LOOK`]; the watchdog writes `NEXT_LOOK`, then reads
//! the slots once more. With a fence between each pair, at least one of them sees the other's write. The list of lanes is
//! locked to add one and to copy it; nothing is waited for under it.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::lane::Slot;

/// When the watchdog looks next, in nanoseconds since [`anchor`].
static NEXT_LOOK: AtomicU64 = AtomicU64::new(u64::MAX);

static SLOTS: Mutex<Vec<Weak<Slot>>> = Mutex::new(Vec::new());

static THREAD: OnceLock<Option<Thread>> = OnceLock::new();

/// Adds a lane to those that are watched, and starts the thread with the first.
pub(super) fn tend(slot: &Arc<Slot>) {
    anchor();
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    slots.retain(|slot| slot.strong_count() > 0);
    slots.push(Arc::downgrade(slot));
    drop(slots);
    THREAD.get_or_init(|| {
        let handle = thread::Builder::new()
            .name("warmcell-watchdog".to_owned())
            .spawn(watch)
            .ok()?;
        Some(handle.thread().clone())
    });
}

/// A cell has started that must end by `deadline`.
pub(super) fn expect_by(deadline: Instant) {
    fence(Ordering::SeqCst);
    if nanoseconds(deadline) < NEXT_LOOK.load(Ordering::Relaxed) {
        wake();
    }
}

/// Makes the watchdog look at once.
pub(super) fn wake() {
    if let Some(Some(thread)) = THREAD.get() {
        thread.unpark();
    }
}

fn watch() {
    loop {
        let slots: Vec<Arc<Slot>> = {
            let slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
            slots.iter().filter_map(Weak::upgrade).collect()
        };
        let now = Instant::now();
        for slot in &slots {
            slot.look(now);
        }
        let earliest = || slots.iter().filter_map(|slot| slot.next_look()).min();
        let planned = earliest();
        NEXT_LOOK.store(planned.map_or(u64::MAX, nanoseconds), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if earliest().is_some_and(|again| planned.is_none_or(|planned| again < planned)) {
            continue;
        }
        drop(slots);
        match planned {
            Some(planned) => {
                thread::park_timeout(planned.saturating_duration_since(Instant::now()))
            }
            None => thread::park(),
        }
    }
}

fn nanoseconds(instant: Instant) -> u64 {
    let since = instant.saturating_duration_since(anchor());
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX - 1)
}

fn anchor() -> Instant {
    static ANCHOR: OnceLock<Instant> = OnceLock::new();
    *ANCHOR.get_or_init(|| {
        Instant::now()
            .checked_sub(Duration::from_secs(1))
            .unwrap_or_else(Instant::now)
    })
}
