//! [`Allocator`]: QuickJS's memory, which runs out for a cell that must stop and does not.
//!
//! QuickJS asks its interrupt handler once in ten thousand calls and turns of loops, so that a loop around a slow built-in
//! (`for (;;) rows.slice().sort()`) would run on for minutes. Built-ins allocate: without memory they fail at once, the
//! turns become short, and the handler is asked soon.

use std::sync::Arc;

use crate::engine::javascript::stopper::Stopper;

/// The C library's allocator, until the stopper says otherwise.
pub(super) struct Allocator(pub(super) Arc<Stopper>);

impl Allocator {
    fn unless_starved(&self, allocate: impl FnOnce() -> *mut libc::c_void) -> *mut u8 {
        if self.0.is_starved() {
            return std::ptr::null_mut();
        }
        allocate().cast()
    }
}

// SAFETY: every pointer comes from the C library's allocator and goes back to it; null is what QuickJS takes for a lack of
// memory.
unsafe impl rquickjs::allocator::Allocator for Allocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: any size may be asked for.
        self.unless_starved(|| unsafe { libc::malloc(size) })
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; the C library checks the product.
        self.unless_starved(|| unsafe { libc::calloc(count, size) })
    }

    unsafe fn dealloc(&mut self, pointer: *mut u8) {
        // SAFETY: the caller's pointer came from one of the functions here.
        unsafe { libc::free(pointer.cast()) }
    }

    unsafe fn realloc(&mut self, pointer: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`.
        self.unless_starved(|| unsafe { libc::realloc(pointer.cast(), size) })
    }

    unsafe fn usable_size(pointer: *mut u8) -> usize {
        // SAFETY: as in `dealloc`.
        unsafe { libc::malloc_usable_size(pointer.cast()) }
    }
}
