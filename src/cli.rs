//! The commands: one file each, and what they share.
//!
//! Data goes to standard output, messages to standard error. Status 0 is success, 1 a failure, 2 a command line that
//! cannot be followed; `run` passes on what its files ask for.

mod console;
mod descriptors;
mod doctor;
mod exec;
mod interrupt;
mod language;
#[cfg(feature = "mcp")]
mod mcp;
mod process;
mod repl;
mod report;
mod run;
mod runner;
mod serve;
mod signals;
mod syntax;
mod worker;

use std::io;

use clap::{Parser, Subcommand};

use self::console::Console;

/// Code cells that stay warm: persistent Python and JavaScript sessions for agents.
#[derive(Debug, Parser)]
#[command(name = "warmcell", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Options),
    Exec(exec::Options),
    Serve(serve::Options),
    #[cfg(feature = "mcp")]
    Mcp(Box<mcp::Options>),
    Repl(repl::Options),
    Doctor(doctor::Options),
    #[command(hide = true)]
    Worker(worker::Options),
}

/// Does what the command line asks, and returns the status to end with.
pub(crate) fn main() -> u8 {
    let result = match Arguments::parse().command {
        Command::Run(options) => run::main(options),
        Command::Exec(options) => exec::main(options),
        Command::Serve(options) => serve::main(options),
        #[cfg(feature = "mcp")]
        Command::Mcp(options) => mcp::main(*options),
        Command::Repl(options) => repl::main(options),
        Command::Doctor(options) => doctor::main(options),
        Command::Worker(options) => worker::main(options),
    };
    result.unwrap_or_else(|error| report(&error))
}

/// A command line that cannot be followed: nothing was run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

fn report(error: &anyhow::Error) -> u8 {
    if is_broken_pipe(error) {
        // Whoever read our output has seen enough.
        return 0;
    }
    Console::on_standard_streams().error(&format!("{error:#}"));
    if error.is::<Usage>() { 2 } else { 1 }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
