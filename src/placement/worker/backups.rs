//! [`Backups`]: the sleeping copies of a worker, each known by the cell after which it was made.
//!
//! Until the copy of the present state is announced, which is a moment after the reply, those of earlier states serve: to go
//! back by one cell more than was hoped for is better than to lose everything.

use std::os::fd::OwnedFd;

use super::messages::Asleep;
use super::process::WAKING;
use super::sockets::{Channel, within};

/// The longest frame of a copy that sleeps.
const FRAME_BYTES: usize = 1 << 12;

pub(super) struct Backups {
    /// The newest last; no two of one cell.
    sleeping: Vec<Sleeping>,
    /// How many are kept, at least one.
    kept: usize,
    /// The cell of the one that is announced next.
    expected: Option<u64>,
}

/// A copy, and its process once it has told it.
pub(super) struct Sleeping {
    pub(super) channel: Channel,
    pub(super) process: Option<i32>,
    /// The last cell whose effects it has.
    pub(super) cell: u64,
}

impl Backups {
    /// As many generations as are worth keeping.
    pub(super) fn new(kept: usize) -> Self {
        Self {
            sleeping: Vec::new(),
            kept,
            expected: None,
        }
    }

    /// The session has the effects of `cell` now, and a copy of that will be announced.
    pub(super) fn expect(&mut self, cell: u64) {
        self.expected = Some(cell);
    }

    /// The session begins after `cell`, and so many generations are worth keeping.
    pub(super) fn begin(&mut self, cell: u64, kept: usize) {
        self.kept = kept;
        let expected = self.expected.iter_mut();
        let sleeping = self.sleeping.iter_mut().map(|sleeping| &mut sleeping.cell);
        expected.chain(sleeping).for_each(|known| *known = cell);
    }

    /// There will be no copy of the present state, and none to go back to.
    pub(super) fn abandon(&mut self) {
        self.sleeping.clear();
        self.expected = None;
    }

    /// A copy was announced. One that nobody expects is let go.
    pub(super) fn add(&mut self, socket: OwnedFd) {
        let Some(cell) = self.expected.take() else {
            return;
        };
        self.sleeping.retain(|sleeping| sleeping.cell < cell);
        self.sleeping.push(Sleeping {
            channel: Channel::new(socket, FRAME_BYTES),
            process: None,
            cell,
        });
        let over = self.sleeping.len().saturating_sub(self.kept);
        self.sleeping.drain(..over);
    }

    /// The processes of all copies. One that does not tell its own is let go.
    pub(super) fn processes(&mut self) -> Vec<i32> {
        self.sleeping.retain_mut(|sleeping| {
            if sleeping.process.is_none() {
                let told = sleeping.channel.wait_for::<Asleep>(Some(within(WAKING)));
                sleeping.process = told.ok().map(|frame| frame.header.process);
            }
            sleeping.process.is_some()
        });
        self.sleeping
            .iter()
            .filter_map(|sleeping| sleeping.process)
            .collect()
    }

    /// Takes the newest copy, or the newest without the effects of `cell`.
    pub(super) fn take(&mut self, without: Option<u64>) -> Option<Sleeping> {
        if let Some(cell) = without {
            self.sleeping.retain(|sleeping| sleeping.cell < cell);
        }
        self.expected = None;
        self.sleeping.pop()
    }

    /// Whether there is a copy without the effects of `cell`.
    pub(super) fn has_one_without(&self, cell: u64) -> bool {
        self.sleeping.iter().any(|sleeping| sleeping.cell < cell)
    }
}
