//! [`CountingAllocator`]: how much memory boa's thread has, and what happens when that is more than the session's budget.
//!
//! boa has no memory limit. A host that makes this its global allocator has one: every thread counts what it allocates
//! and frees, and the thread of a boa session compares. Past the budget the cell is stopped through boa's runtime limits,
//! as at a deadline; past twice the budget, which a single built-in can reach without boa looking at its limits, the thread
//! sleeps for ever and is given up with its session; in a process of the session's own, it ends that. (An allocator may
//! not unwind, and failing ends the process.) No lock of ours is held then: what the host's own functions allocate is not
//! compared.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::engine::EXHAUSTED;

/// A global allocator that gives boa sessions their memory limit; it costs about a nanosecond an allocation.
///
/// Needed only by processes that run JavaScript on boa with a `memoryMb` of their own; Python and QuickJS have other
/// means.
///
/// # Examples
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: warmcell::CountingAllocator = warmcell::CountingAllocator;
/// # fn main() {}
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// What a thread counts. It has no destructor, so that it can be used while a thread ends.
struct Meter {
    used: Cell<i64>,
    budget: Cell<i64>,
    trip: Cell<Option<Trip>>,
    is_tripped: Cell<bool>,
    /// What was in use after the last collection that was asked for.
    kept: Cell<i64>,
    /// How much more may be in use before the next one.
    growth: Cell<i64>,
}

/// Stops the cell that runs on this thread. Must not allocate.
pub(super) type Trip = fn();

thread_local! {
    static METER: Meter = const {
        Meter {
            used: Cell::new(0),
            budget: Cell::new(i64::MAX),
            trip: Cell::new(None),
            is_tripped: Cell::new(false),
            kept: Cell::new(0),
            growth: Cell::new(i64::MAX),
        }
    };
}

/// Whether the process counts: a host has to ask for it.
pub(super) fn is_counted() -> bool {
    let before = METER.with(|meter| meter.used.get());
    let probe = Box::new([0_u8; 64]);
    let counted = METER.with(|meter| meter.used.get()) != before;
    drop(std::hint::black_box(probe));
    counted
}

/// Set when the process is one session's alone.
static OWNS_PROCESS: AtomicBool = AtomicBool::new(false);

/// From now on a cell far over its budget ends the process.
#[cfg(feature = "javascript")]
pub(super) fn own_process() {
    OWNS_PROCESS.store(true, Ordering::Relaxed);
}

/// What a session may allocate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// What its thread had allocated before.
    pub(super) base: i64,
    pub(super) bytes: u64,
}

impl Budget {
    /// Up to where a cell may allocate: to the end of the budget. A session that has filled it before, in names of earlier cells
    /// that nothing may free, gets a little more, for what frees them.
    fn end(self) -> i64 {
        let part = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let end = self.base.saturating_add(part(self.bytes));
        let enough = used().saturating_add(part(self.bytes / 16));
        enough.clamp(end, end.saturating_add(part(self.bytes / 4)))
    }

    /// Whether what is alive nearly fills it.
    pub(super) fn is_nearly_used(self) -> bool {
        used()
            > self
                .base
                .saturating_add(i64::try_from(self.bytes / 10 * 9).unwrap_or(i64::MAX))
    }
}

/// The memory up to which a fork is cheap enough: its page tables are copied, and each page once either side writes to it.
const COPIED_BYTES: u64 = 256 << 20;

/// Whether what the process holds is little enough for a fork.
pub(super) fn may_be_copied() -> Result<(), String> {
    let sizes = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = sizes
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    let own = resident.saturating_sub(shared) << 12;
    if own > COPIED_BYTES {
        return Err(format!(
            "the session takes {} MB, and only up to {} MB are copied",
            own >> 20,
            COPIED_BYTES >> 20
        ));
    }
    Ok(())
}

/// From now on `trip` is called when this thread has allocated more than its session may. Garbage is collected before, when
/// that is due or the budget is nearly used: a session's last cell may have let go what filled it.
pub(super) fn arm(budget: Budget, trip: Trip, collect: impl FnOnce()) {
    METER.with(|meter| {
        meter.is_tripped.set(false);
        let growth = i64::try_from(budget.bytes / 4).unwrap_or(i64::MAX);
        meter.growth.set(growth);
    });
    if budget.is_nearly_used() {
        collect_now(collect);
    } else {
        collect_if_due(collect);
    }
    METER.with(|meter| {
        meter.budget.set(budget.end());
        meter.trip.set(Some(trip));
    });
}

/// Collects garbage when a quarter of the budget was taken since the last time: boa's own collector sees objects alone, and
/// neither what arrays hold nor buffers.
pub(super) fn collect_if_due(collect: impl FnOnce()) {
    let is_due = METER.with(|meter| {
        let used = meter.used.get();
        meter.kept.set(meter.kept.get().min(used));
        used.saturating_sub(meter.kept.get()) > meter.growth.get()
    });
    if is_due {
        collect_now(collect);
    }
}

/// The list of what a collection has still to visit is not the program's: it may have megabytes.
fn collect_now(collect: impl FnOnce()) {
    let trip = METER.with(|meter| meter.trip.take());
    collect();
    METER.with(|meter| {
        meter.trip.set(trip);
        meter.kept.set(meter.used.get());
    });
}

/// Nothing is compared any more. Says whether the budget was passed.
pub(super) fn disarm() -> bool {
    METER.with(|meter| {
        meter.trip.set(None);
        meter.budget.set(i64::MAX);
        meter.is_tripped.get()
    })
}

/// Whether the budget was passed since it was armed.
pub(super) fn is_tripped() -> bool {
    METER.with(|meter| meter.is_tripped.get())
}

/// What this thread has allocated and not freed.
pub(super) fn used() -> i64 {
    METER.with(|meter| meter.used.get())
}

/// How many bytes are left of the budget.
pub(super) fn left() -> u64 {
    METER.with(|meter| meter.budget.get().saturating_sub(meter.used.get()).max(0) as u64)
}

/// The budget is used up, by the word of somebody who was about to do so.
pub(super) fn trip() {
    METER.with(|meter| {
        meter.is_tripped.set(true);
        if let Some(trip) = meter.trip.get() {
            trip();
        }
    });
}

/// Runs work of ours whose memory is not the session's: what it allocates may be freed on another thread. What it frees of
/// the session's, by a collection, counts.
pub(super) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let (used, trip) = METER.with(|meter| (meter.used.get(), meter.trip.take()));
    let result = work();
    METER.with(|meter| {
        meter.used.set(used.min(meter.used.get()));
        meter.trip.set(trip);
    });
    result
}

fn count(bytes: i64) {
    METER.with(|meter| {
        let used = meter.used.get() + bytes;
        meter.used.set(used);
        if used > meter.budget.get() {
            exceeded(meter, used);
        }
    });
}

#[cold]
fn exceeded(meter: &Meter, used: i64) {
    let Some(trip) = meter.trip.get() else { return };
    if !meter.is_tripped.replace(true) {
        trip();
    }
    if used > meter.budget.get().saturating_mul(2) {
        if OWNS_PROCESS.load(Ordering::Relaxed) {
            // SAFETY: ends the process without running anything.
            unsafe { libc::_exit(EXHAUSTED) };
        }
        // `park` may allocate.
        meter.trip.set(None);
        loop {
            thread::park();
        }
    }
}

// SAFETY: every request goes to the system's allocator as it is; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: as in `dealloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
