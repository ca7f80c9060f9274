//! How often boa collects garbage.
//!
//! boa_gc 0.22 collects whenever a megabyte of objects is in use, of which a fresh realm alone takes most, so that a loop that
//! makes an object each turn (each step of `for`-`of` does) marks the whole realm every thousand turns. The threshold cannot
//! be set; but it grows with what is found alive, and never shrinks. So something large is alive for a moment, before the
//! thread's first session.

use std::mem::MaybeUninit;

use boa_gc::{Finalize, Gc, Trace, empty_trace};

const MIB: usize = 1 << 20;

/// How much is alive for that moment, in MiB; the threshold becomes ten sevenths of it.
const BALLAST: usize = 8;

struct Ballast {
    _bytes: MaybeUninit<[u8; MIB]>,
}

impl Finalize for Ballast {}

// SAFETY: it holds bytes alone, which nobody reads.
unsafe impl Trace for Ballast {
    empty_trace!();
}

/// Makes the collector of this thread wait until there is something to collect.
pub(super) fn widen() {
    let ballast: Vec<Gc<Ballast>> = (0..=BALLAST)
        .map(|_| {
            Gc::new(Ballast {
                _bytes: MaybeUninit::uninit(),
            })
        })
        .collect();
    drop(ballast);
    boa_gc::force_collect();
}
