//! The `warmcell` command: cells from a shell, a prompt, or another program.
//!
//! Nothing but the faces lives here; they are no part of the library, so that the compiler holds them to what every host
//! has: sessions, cells and outcomes.

mod cli;
#[cfg(feature = "mcp")]
mod mcp;
mod ready;
mod serve;

use std::io::{self, Write};

/// The memory limit of boa's sessions needs it.
#[cfg(feature = "javascript")]
#[global_allocator]
static ALLOCATOR: warmcell::CountingAllocator = warmcell::CountingAllocator;

fn main() {
    // This program is the worker of its own sessions.
    warmcell::worker::init();
    let status = cli::main();
    // Each command has flushed what it wrote; the streams of std are flushed for what dependencies left there.
    let _ = io::stdout().flush();
    leave(status)
}

/// Ends the process at once, whatever threads the cells have left.
///
/// `exit` would run the exit handlers of every C library that a cell has loaded, while the program's threads still run in
/// them: that crashes or waits for ever. An interpreter that is never finalised has nothing to put in order there.
fn leave(status: u8) -> ! {
    // SAFETY: `_exit` takes any status, touches no memory of ours, and does not return.
    unsafe { libc::_exit(status.into()) }
}
