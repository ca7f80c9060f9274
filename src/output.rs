//! What cells print and show, on its way from an engine to the outcome and to a reader who watches.
//!
//! An engine writes into a [`Sink`] and knows nothing else. In process the sink is the session's [`Transcript`], which
//! keeps a [`Ledger`] for each stream and makes displays fit (`displays`, `images`); a worker's sink is its descriptors.

mod displays;
mod events;
mod images;
mod ledger;
mod pace;
mod share;
mod transcript;

use crate::outcome::Display;

pub use events::{Event, Events};
pub(crate) use events::{EventSender, event_stream, paced_stream};
pub(crate) use ledger::Ledger;
pub(crate) use share::share;
pub(crate) use transcript::Transcript;

/// One of the two streams a cell prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// In whose name something is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The cell that runs.
    Cell,
    /// A thread, task or timer of an earlier cell.
    Background,
}

/// Where an engine's output goes. Called from the engine's thread and from threads of the program; blocks only where the
/// reader of a cell's events asked for it, and never longer than the cell may run.
pub(crate) trait Sink: Send + Sync {
    /// Takes bytes as the program wrote them: UTF-8 mostly, cut anywhere.
    fn write(&self, stream: Stream, origin: Origin, bytes: &[u8]);
    /// The program flushed: a reader who watches should have what was written so far.
    fn flush(&self, stream: Stream);
    /// Takes something the cell shows, or new content for something that was shown.
    fn display(&self, entry: Display);
    /// The program wants what the cell printed and showed so far gone: now, or once it prints or shows something else.
    fn clear(&self, wait: bool);
}
