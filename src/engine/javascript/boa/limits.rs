//! How a cell is stopped on boa: through its runtime limits, which every loop turn and every call looks at.
//!
//! boa 0.22 has no way to interrupt a context (its `evaluate_async_with_budget` yields in a plain loop, but not in one
//! that a built-in or a promise job called, and runs everything two to three times slower). An error of the limits,
//! however, ends the script at once and cannot be caught by it, and the context stays in order. So a press sets the limits
//! to zero from the watchdog's thread.
//!
//! The write is atomic; the look is a plain load in boa. By the letter of the memory model that is a data race. On every
//! platform boa compiles for, an aligned load of eight bytes reads the old value or the new one, and the interpreter
//! reloads the field at each turn, since it calls through pointers in between. The alternative is a patched copy of boa
//! with an atomic field. A press is made only while the cell runs and under the stopper's lock, so that it cannot meet
//! [`reset`], nor the end of the context.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use boa_engine::Context;
use boa_engine::vm::RuntimeLimits;

use crate::engine::javascript::stopper::Poke;

/// How deep functions may call each other; 50,000 were safe on this stack in every shape that was tried.
const RECURSION: usize = 10_000;
/// How many values boa's own stack may hold, of eight bytes each. It takes that many because a frame that an error ends
/// leaves its values there until the frame that catches it returns, and a loop may catch an error a turn.
const STACK: usize = 1 << 24;
/// How many frames of an error are kept.
const BACKTRACE: usize = 50;

/// What a cell may do.
fn limits() -> RuntimeLimits {
    let mut limits = RuntimeLimits::default();
    limits.disable_loop_iteration_limit();
    limits.set_recursion_limit(RECURSION);
    limits.set_stack_size_limit(STACK);
    limits.set_backtrace_limit(BACKTRACE);
    limits
}

/// Lets the context run again.
pub(super) fn reset(context: &mut Context) {
    context.set_runtime_limits(limits());
}

thread_local! {
    /// The limits of the context whose cell runs on this thread.
    static RUNNING: Cell<*mut RuntimeLimits> = const { Cell::new(ptr::null_mut()) };
}

/// A cell of `context` runs from now on: [`trip`] is about it.
pub(super) fn begin(context: &mut Context) {
    RUNNING.set(context.runtime_limits_mut());
}

/// The cell has ended.
pub(super) fn end() {
    RUNNING.set(ptr::null_mut());
}

/// Stops the cell that runs on this thread, from within an allocation.
pub(super) fn trip() {
    let limits = RUNNING.get();
    if !limits.is_null() {
        Fields(limits).zero();
    }
}

/// Stops what runs in `context`, from another thread. The context must be in a box, and outlive every cell that the
/// stopper knows.
pub(super) fn poke(context: &mut Context) -> Poke {
    let fields = Fields(context.runtime_limits_mut());
    Box::new(move || fields.zero())
}

/// The limits of a context, as the watchdog reaches them.
struct Fields(*mut RuntimeLimits);

// SAFETY: the pointer is used only by `zero`, which says why it may be.
unsafe impl Send for Fields {}
// SAFETY: as above.
unsafe impl Sync for Fields {}

impl Fields {
    fn zero(&self) {
        let (loop_iteration, recursion) = offsets();
        let base = self.0.cast::<u64>();
        // SAFETY: the stopper calls this under its lock while a cell of this context runs, and `trip` on the thread that runs
        // it, so the context is alive; it does not move, since it is boxed; the offsets lie inside `RuntimeLimits`, whose fields have eight bytes and are
        // aligned. The module's head says what is left to say of the race.
        unsafe {
            AtomicU64::from_ptr(base.add(loop_iteration)).store(0, Ordering::Relaxed);
            AtomicU64::from_ptr(base.add(recursion)).store(0, Ordering::Relaxed);
        }
    }
}

/// Where in `RuntimeLimits`, counted in words, the limits of loops and of recursion lie: where marks show up that are set
/// through its own methods.
fn offsets() -> (usize, usize) {
    const WORDS: usize = size_of::<RuntimeLimits>() / 8;
    const { assert!(size_of::<RuntimeLimits>().is_multiple_of(8) && size_of::<usize>() == 8) };
    const LOOP_MARK: u64 = 0x1111_2222_3333_4444;
    const RECURSION_MARK: u64 = 0x5555_6666_7777_8888;
    let mut limits = RuntimeLimits::default();
    limits.set_loop_iteration_limit(LOOP_MARK);
    limits.set_recursion_limit(RECURSION_MARK as usize);
    // SAFETY: `RuntimeLimits` consists of integers of eight bytes and has this size (asserted above).
    let words: [u64; WORDS] = unsafe { std::mem::transmute_copy(&limits) };
    let place = |mark| words.iter().position(|word| *word == mark).unwrap_or(0);
    (place(LOOP_MARK), place(RECURSION_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poke_zeroes_two_limits_and_nothing_else() {
        let mut context = Box::new(Context::default());
        reset(&mut context);
        let poke = poke(&mut context);
        poke();
        let poked = context.runtime_limits();
        assert_eq!(
            (poked.loop_iteration_limit(), poked.recursion_limit()),
            (0, 0)
        );
        assert_eq!(
            (poked.stack_size_limit(), poked.backtrace_limit()),
            (STACK, BACKTRACE)
        );
    }
}
