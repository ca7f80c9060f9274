//! [`Grace`]: how long a cell that was asked to stop may still take, before its engine counts as stuck.
//!
//! It is counted in waits: of what went by since the last look hardly more is taken from it than the look was planned to wait.
//! Where the machine holds everybody up, a stop needs longer by the clock, and the look comes as late as the cell. By the
//! clock alone fifty busy processes on two processors were enough for the interpreter to be given up after a stop that it
//! had heard, with 38 ms of processor time in 1.5 s; so was a host that was paused and went on.

use std::time::{Duration, Instant};

/// The whole of it.
const WHOLE: Duration = Duration::from_millis(1500);

/// The longest wait between two looks.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// How late a look may be for all of it to count: on a machine at rest every wait ends a little late, and that adds up.
const SLACK: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Grace {
    left: Duration,
    looked: Instant,
    /// How much of what goes by until the next look counts.
    counts: Duration,
}

impl Grace {
    /// The stop was asked for just now.
    pub(crate) fn from(now: Instant) -> Self {
        Self {
            left: WHOLE,
            looked: now,
            counts: Duration::ZERO,
        }
    }

    /// Counts what went by until now. Returns whether it is over.
    pub(crate) fn is_over(&mut self, now: Instant) -> bool {
        let waited = now.saturating_duration_since(self.looked).min(self.counts);
        self.left = self.left.saturating_sub(waited);
        self.counts -= waited;
        self.looked = now;
        self.left.is_zero()
    }

    /// When to look again, which is after `wait` at the latest.
    pub(crate) fn next_look(&mut self, wait: Duration) -> Instant {
        let wait = wait.min(LONGEST_WAIT).min(self.left);
        self.counts = wait + SLACK;
        self.looked + wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Duration = Duration::from_secs(3600);

    /// Looks until it is over; each look is late by so much.
    fn looks(late: Duration) -> (u32, Duration) {
        let start = Instant::now();
        let (mut now, mut looks) = (start, 0);
        let mut grace = Grace::from(start);
        while !grace.is_over(now) {
            now = grace.next_look(LATE) + late;
            looks += 1;
        }
        (looks, now - start)
    }

    #[test]
    fn what_is_waited_by_plan_is_counted() {
        assert_eq!(looks(Duration::ZERO), (75, WHOLE));
    }

    #[test]
    fn a_look_that_is_a_little_late_counts_whole() {
        let late = Duration::from_millis(1);
        // 71 of 21 ms, and one of 9.
        assert_eq!(looks(late), (72, WHOLE + late));
    }

    #[test]
    fn a_look_that_is_very_late_counts_little_more_than_its_wait() {
        assert_eq!(looks(LATE).0, 60);
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
