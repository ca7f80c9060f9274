//! Signals that a program handles in Python, on their way to the interpreter's thread.
//!
//! The kernel hands a signal of the process to any thread that does not block it, a host's for instance. CPython's handler
//! then notes it, but does not wake what sleeps on the interpreter's thread, and on 3.11 not even a loop looks: an alarm that
//! should end one does nothing. So CPython's handler stands behind one that sends the signal on to
//! that thread.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::disposition;
use crate::engine::python::interrupt;

/// CPython's handler, which is the same for all signals; 0 before it was seen.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

/// `signal.signal` was called: where it has set CPython's handler, ours goes before it.
pub(super) fn put_before(signal: c_int) {
    let Some(mut set) = disposition(signal) else {
        return;
    };
    let is_plain = set.sa_flags & libc::SA_SIGINFO == 0;
    if !is_plain || matches!(set.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        return;
    }
    HANDLER.store(set.sa_sigaction, Ordering::Release);
    set.sa_sigaction = relay as extern "C" fn(c_int) as usize;
    // SAFETY: the flags and the mask are those that CPython has just chosen, and the handler does what a handler may.
    unsafe { libc::sigaction(signal, &raw const set, std::ptr::null_mut()) };
}

/// Whether the program handles the signal in Python.
pub(super) fn handles(signal: c_int) -> bool {
    let relay = relay as extern "C" fn(c_int) as usize;
    disposition(signal).is_some_and(|set| set.sa_sigaction == relay)
}

/// Drops what is on its way of a signal whose handler goes: its default may end the process.
pub(super) fn drop_pending(signal: c_int) {
    if handles(signal) {
        // SAFETY: ignoring a signal drops those that are pending. The caller sets the disposition that stays.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

extern "C" fn relay(signal: c_int) {
    // SAFETY: all that is called here is async-signal-safe, CPython's handler included, and `errno` is put back.
    unsafe {
        let errno = *libc::__errno_location();
        let is_sent_on = interrupt::thread().is_some_and(|thread| {
            thread != libc::pthread_self() && libc::pthread_kill(thread, signal) == 0
        });
        let handler = HANDLER.load(Ordering::Acquire);
        if !is_sent_on && handler != 0 {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
        *libc::__errno_location() = errno;
    }
}
