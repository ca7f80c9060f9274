//! Reads whatever bytes the fuzzer makes as each side of a worker's sockets would.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warmcell::worker::internals::read_frames(bytes));
