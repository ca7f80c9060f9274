//! The integration tests of warmcell, in one binary: what a host may rely on, held to through the public contract.
//!
//! Each module holds one promise or one way in. [`support`] says how tests share the one interpreter of a process, and how
//! those that cannot run in a process of their own. What a cell *means* is data: `tests/cases`, run by [`cases`], and what
//! hostile code may do is data too: `tests/hostile`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]
#![expect(
    clippy::print_stdout,
    reason = "a test says how much it did, and a test process tells its parent where it is"
)]

/// boa's memory limit needs it.
#[cfg(any(feature = "javascript", feature = "quickjs"))]
#[global_allocator]
static ALLOCATOR: warmcell::CountingAllocator = warmcell::CountingAllocator;

mod support;

mod artifacts;
mod bad_input;
mod capabilities;
mod cases;
#[cfg(feature = "cli")]
mod cli;
mod completions;
mod display;
mod host;
mod host_package;
#[cfg(any(feature = "javascript", feature = "quickjs"))]
mod javascript;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod neighbours;
mod output;
mod peers;
mod properties;
#[cfg(feature = "cli")]
mod readme;
mod registry;
mod reset;
#[cfg(feature = "cli")]
mod serve;
mod sessions;
mod stopping;
mod tool;
mod values;
mod venvs;
#[cfg(feature = "cli")]
mod worker;
