//! [`Cell`]: one piece of code on its way to a session, and the source preparation that every language shares.

pub(crate) mod source;

use std::time::Duration;

use crate::output::{EventSender, Events};

/// One piece of code, with what it needs beyond its session's limits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use warmcell::Cell;
///
/// let plain = Cell::from("1 + 1");
/// let (cell, events) = Cell::new("print('as it comes')").with_timeout(Duration::from_secs(2)).with_events(64);
/// # let _ = (plain, cell, events);
/// ```
#[derive(Debug)]
pub struct Cell {
    pub(crate) code: String,
    pub(crate) timeout: Option<Option<Duration>>,
    pub(crate) events: Option<EventSender>,
}

impl Cell {
    /// A cell of `code`, under its session's limits.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            timeout: None,
            events: None,
        }
    }

    /// Gives this cell a wall time of its own, counted from when it starts.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(Some(timeout));
        self
    }

    /// Lets this cell run for ever, whatever its session's limits say.
    pub fn without_timeout(mut self) -> Self {
        self.timeout = Some(None);
        self
    }

    /// Streams what the cell prints and shows while it runs.
    ///
    /// At most `capacity` events (at least one) wait for the reader. A slow reader never holds the cell up: what does not
    /// fit is counted in an [`Event::Gap`](crate::Event::Gap), and stands in the outcome all the same.
    pub fn with_events(mut self, capacity: usize) -> (Self, Events) {
        let (sender, events) = crate::output::event_stream(capacity);
        self.events = Some(sender);
        (self, events)
    }

    /// Streams every event: once `capacity` events (at least one) wait for the reader, the cell that prints waits as well.
    ///
    /// It goes on when the reader has caught up or dropped its end, or when the cell is stopped; its deadline holds
    /// meanwhile. For readers that pass everything on, such as a command whose output goes into a pipe.
    pub fn with_paced_events(mut self, capacity: usize) -> (Self, Events) {
        let (sender, events) = crate::output::paced_stream(capacity);
        self.events = Some(sender);
        (self, events)
    }
}

impl From<&str> for Cell {
    fn from(code: &str) -> Self {
        Self::new(code)
    }
}

impl From<String> for Cell {
    fn from(code: String) -> Self {
        Self::new(code)
    }
}
