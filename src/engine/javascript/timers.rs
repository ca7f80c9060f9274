//! When the session's timers are due. What they run is kept by the prelude, under the same numbers.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// How many timers may wait at once.
const MAX_TIMERS: usize = 100_000;

/// The timers that wait.
#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeMap<(Instant, u64), u64>,
    waiting: HashMap<u64, Timer>,
    last: u64,
}

/// One timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    key: (Instant, u64),
    /// `setInterval` asked for it.
    every: Option<Duration>,
    cell: u64,
}

/// A timer whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) number: u64,
    /// The cell in whose name it runs.
    pub(super) cell: u64,
    /// It will come again.
    pub(super) repeats: bool,
}

impl Timers {
    /// Starts a timer in the name of `cell`; `None` when too many wait.
    pub(super) fn start(&mut self, delay: Duration, repeats: bool, cell: u64) -> Option<u64> {
        if self.waiting.len() >= MAX_TIMERS {
            return None;
        }
        self.last += 1;
        let number = self.last;
        let timer = Timer {
            key: (Instant::now() + delay, number),
            every: repeats.then_some(delay),
            cell,
        };
        self.insert(number, timer);
        Some(number)
    }

    pub(super) fn cancel(&mut self, number: u64) {
        if let Some(timer) = self.waiting.remove(&number) {
            self.due.remove(&timer.key);
        }
    }

    /// Ends the timers of `cell`, and says which those were.
    pub(super) fn cancel_all_of(&mut self, cell: u64) -> Vec<u64> {
        let numbers: Vec<u64> = self
            .waiting
            .iter()
            .filter(|(_, timer)| timer.cell == cell)
            .map(|(number, _)| *number)
            .collect();
        numbers.iter().for_each(|number| self.cancel(*number));
        numbers
    }

    /// When the next timer is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.keys().next().map(|(instant, _)| *instant)
    }

    /// Takes the timer that has been due longest; one that repeats waits again.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Due> {
        let (&key, &number) = self.due.iter().next()?;
        if key.0 > now {
            return None;
        }
        self.due.remove(&key);
        let timer = self.waiting.remove(&number)?;
        if let Some(every) = timer.every {
            self.insert(
                number,
                Timer {
                    key: (now + every, number),
                    ..timer
                },
            );
        }
        Some(Due {
            number,
            cell: timer.cell,
            repeats: timer.every.is_some(),
        })
    }

    fn insert(&mut self, number: u64, timer: Timer) {
        self.due.insert(timer.key, number);
        self.waiting.insert(number, timer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_order_repeat_and_are_cancelled() {
        let mut timers = Timers::default();
        let late = timers.start(Duration::from_millis(20), false, 1);
        let soon = timers.start(Duration::from_millis(10), true, 2);
        let never = timers.start(Duration::from_millis(5), false, 3);
        timers.cancel(never.unwrap_or_default());
        let at = Instant::now() + Duration::from_secs(1);
        assert_eq!(
            timers.take_due(at),
            Some(Due {
                number: soon.unwrap_or_default(),
                cell: 2,
                repeats: true
            })
        );
        assert_eq!(
            timers.take_due(at),
            Some(Due {
                number: late.unwrap_or_default(),
                cell: 1,
                repeats: false
            })
        );
        assert_eq!(timers.take_due(at), None);
        assert_eq!(timers.cancel_all_of(2), [soon.unwrap_or_default()]);
        assert_eq!(timers.next(), None);
    }
}
