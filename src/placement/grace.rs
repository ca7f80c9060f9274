//! [`Grace`]: how long a cell that was asked to stop may still take, before its engine counts as stuck.
//!
//! It is counted in waits: of what went by since the last look no more is taken from it than the look was planned to wait.
//! Where the machine holds everybody up, a stop needs longer by the clock, and the look comes as late as the cell. By the
//! clock alone fifty busy processes on two processors were enough for the interpreter to be given up after a stop that it
//! had heard, with 38 ms of processor time in 1.5 s; so was a host that was paused and went on.

use std::time::{Duration, Instant};

/// The whole of it.
const WHOLE: Duration = Duration::from_millis(1500);

/// The longest wait between two looks.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Grace {
    left: Duration,
    looked: Instant,
    planned: Duration,
}

impl Grace {
    /// The stop was asked for just now.
    pub(crate) fn from(now: Instant) -> Self {
        Self {
            left: WHOLE,
            looked: now,
            planned: Duration::ZERO,
        }
    }

    /// Counts what went by until now. Returns whether it is over.
    pub(crate) fn is_over(&mut self, now: Instant) -> bool {
        let waited = now.saturating_duration_since(self.looked).min(self.planned);
        self.left = self.left.saturating_sub(waited);
        self.planned = self.planned.saturating_sub(waited);
        self.looked = now;
        self.left.is_zero()
    }

    /// When to look again, which is after `wait` at the latest.
    pub(crate) fn next_look(&mut self, wait: Duration) -> Instant {
        self.planned = wait.min(LONGEST_WAIT).min(self.left);
        self.looked + self.planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Duration = Duration::from_secs(3600);

    #[test]
    fn what_is_waited_by_plan_is_counted() {
        let start = Instant::now();
        let mut grace = Grace::from(start);
        assert!(!grace.is_over(start));
        let mut now = start;
        while !grace.is_over(now) {
            now = grace.next_look(LATE);
        }
        assert_eq!(now - start, WHOLE);
    }

    #[test]
    fn a_look_that_comes_late_counts_as_one_that_came_in_time() {
        let mut now = Instant::now();
        let mut grace = Grace::from(now);
        let mut looks = 0;
        while !grace.is_over(now) {
            now = grace.next_look(LATE) + LATE;
            looks += 1;
        }
        assert_eq!(looks, WHOLE.as_millis() / LONGEST_WAIT.as_millis());
    }

    #[test]
    fn a_look_that_comes_early_counts_what_went_by() {
        let mut now = Instant::now();
        let mut grace = Grace::from(now);
        let mut looks = 0;
        while !grace.is_over(now) {
            now = (now + Duration::from_millis(10)).min(grace.next_look(LATE));
            looks += 1;
        }
        assert_eq!(looks, WHOLE.as_millis() / 10);
    }
}
