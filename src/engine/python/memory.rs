//! The memory budget: allocator hooks that let CPython have so much and then say no, which the program sees as a
//! `MemoryError` it can catch.
//!
//! Counted are CPython's own requests (its raw domain, on which objects over 512 bytes fall back, and the arenas of smaller
//! ones) by what malloc really gave. Not counted: what C extensions allocate by themselves; numpy's arrays are such. The
//! hooks cost nothing that could be measured (an allocation-heavy program: 0.396 s with, 0.409 s without).
//!
//! The counters are atomics; the hooks may be called from any thread, with or without the interpreter lock.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use pyo3::ffi;

/// Bytes that CPython holds.
static USED: AtomicI64 = AtomicI64::new(0);

/// Bytes that CPython may hold now.
static LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Whether a request was refused since the budget was armed.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// What a session's cells may use beyond its budget, one after another, so that a cell that frees memory can always be
/// compiled and run, also where another session has used the budget up.
const RESERVE: i64 = 64 << 20;

/// What one cell may use of the reserve.
const CELL_RESERVE: i64 = 1 << 20;

/// Puts the hooks in place. To be called before CPython allocates anything.
pub(super) fn install() {
    let mut raw = ffi::PyMemAllocatorEx {
        ctx: null_mut(),
        malloc: Some(raw_malloc),
        calloc: Some(raw_calloc),
        realloc: Some(raw_realloc),
        free: Some(raw_free),
    };
    let mut arena = ffi::PyObjectArenaAllocator {
        ctx: null_mut(),
        alloc: Some(arena_alloc),
        free: Some(arena_free),
    };
    // SAFETY: CPython is not initialised and has allocated nothing; both structs are copied by the calls.
    unsafe {
        ffi::PyMem_SetAllocator(ffi::PyMemAllocatorDomain::PYMEM_DOMAIN_RAW, &raw mut raw);
        ffi::PyObject_SetArenaAllocator(&raw mut arena);
    }
}

/// The budget of one session: what the interpreter held when it was ready, and what it may grow by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    limit: i64,
    /// What the session's cells have used of its reserve.
    borrowed: i64,
}

impl Budget {
    /// `baseline` is what the interpreter held when it was ready.
    pub(super) fn new(baseline: i64, memory_mb: u64) -> Self {
        let limit = baseline.saturating_add(i64::try_from(memory_mb << 20).unwrap_or(i64::MAX));
        Self { limit, borrowed: 0 }
    }

    /// Holds the interpreter to this budget from now on, with the cell's part of the reserve. Returns what it holds.
    pub(super) fn arm(self) -> i64 {
        let held = used();
        let reserve = (RESERVE - self.borrowed).clamp(0, CELL_RESERVE);
        REFUSED.store(false, Ordering::Relaxed);
        LIMIT.store(
            self.limit.max(held.saturating_add(reserve)),
            Ordering::Relaxed,
        );
        held
    }

    /// The cell has ended that began when the interpreter held `before`: the budget is lifted.
    pub(super) fn settle(&mut self, before: i64) {
        disarm();
        let beyond = |held: i64| (held - self.limit).max(0);
        self.borrowed = (self.borrowed + beyond(used()) - beyond(before)).max(0);
    }
}

/// Whether the budget has refused a request of the running cell.
pub(super) fn has_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Lifts the budget: what the runtime itself does after a cell must not fail for want of memory.
pub(super) fn disarm() {
    LIMIT.store(i64::MAX, Ordering::Relaxed);
}

/// Bytes that CPython holds now.
pub(super) fn used() -> i64 {
    USED.load(Ordering::Relaxed)
}

/// Checks that the hooks count and refuse. Needs the interpreter lock.
pub(super) fn self_test(_py: pyo3::Python<'_>) -> Result<(), String> {
    const BLOCK: usize = 8 << 20;
    let before = used();
    // SAFETY: the lock is held; the block is freed below and never used.
    let (counted, refused) = unsafe {
        let block = ffi::PyObject_Malloc(BLOCK);
        let counted = used() - before >= BLOCK as i64;
        ffi::PyObject_Free(block);
        LIMIT.store(used(), Ordering::Relaxed);
        let block = ffi::PyObject_Malloc(BLOCK);
        let refused = block.is_null();
        ffi::PyObject_Free(block);
        (counted, refused)
    };
    disarm();
    if counted && refused {
        return Ok(());
    }
    Err("the memory budget cannot be armed: CPython does not allocate through the hooks that were set before it started"
        .to_owned())
}

fn take(bytes: usize) -> bool {
    let bytes = bytes as i64;
    if USED.load(Ordering::Relaxed).saturating_add(bytes) > LIMIT.load(Ordering::Relaxed) {
        REFUSED.store(true, Ordering::Relaxed);
        return false;
    }
    USED.fetch_add(bytes, Ordering::Relaxed);
    true
}

/// Settles what was taken for a request against what malloc gave for it.
fn settle(block: *mut c_void, taken: usize) {
    // SAFETY: `block` is null, for which the answer is 0, or comes from malloc just now.
    let given = unsafe { libc::malloc_usable_size(block) };
    USED.fetch_add(given as i64 - taken as i64, Ordering::Relaxed);
}

extern "C" fn raw_malloc(_context: *mut c_void, size: usize) -> *mut c_void {
    if size > isize::MAX as usize || !take(size) {
        return null_mut();
    }
    // SAFETY: malloc takes any size; CPython asks that zero bytes give a block of its own.
    let block = unsafe { libc::malloc(size.max(1)) };
    settle(block, size);
    block
}

extern "C" fn raw_calloc(_context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count
        .checked_mul(size)
        .filter(|bytes| *bytes <= isize::MAX as usize)
    else {
        return null_mut();
    };
    if !take(bytes) {
        return null_mut();
    }
    // SAFETY: as in `raw_malloc`.
    let block = unsafe { libc::calloc(bytes.max(1), 1) };
    settle(block, bytes);
    block
}

extern "C" fn raw_realloc(_context: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: CPython passes null, for which the answer is 0, or a block that these hooks gave it.
    let old = unsafe { libc::malloc_usable_size(block) };
    let more = size.saturating_sub(old);
    if size > isize::MAX as usize || (more > 0 && !take(more)) {
        return null_mut();
    }
    // SAFETY: as above; on failure the old block stays as it is.
    let moved = unsafe { libc::realloc(block, size.max(1)) };
    if moved.is_null() {
        USED.fetch_sub(more as i64, Ordering::Relaxed);
    } else {
        settle(moved, old + more);
    }
    moved
}

extern "C" fn raw_free(_context: *mut c_void, block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: CPython passes a block that these hooks gave it, once.
    unsafe {
        USED.fetch_sub(libc::malloc_usable_size(block) as i64, Ordering::Relaxed);
        libc::free(block);
    }
}

extern "C" fn arena_alloc(_context: *mut c_void, size: usize) -> *mut c_void {
    if !take(size) {
        return null_mut();
    }
    // SAFETY: a fresh anonymous mapping touches nothing that exists.
    let arena = unsafe {
        libc::mmap(
            null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if arena == libc::MAP_FAILED {
        USED.fetch_sub(size as i64, Ordering::Relaxed);
        return null_mut();
    }
    arena
}

extern "C" fn arena_free(_context: *mut c_void, arena: *mut c_void, size: usize) {
    // SAFETY: CPython passes an arena that `arena_alloc` gave it, with its size, once.
    unsafe { libc::munmap(arena, size) };
    USED.fetch_sub(size as i64, Ordering::Relaxed);
}
