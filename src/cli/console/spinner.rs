//! [`Spinner`]: says that a cell still runs, and for how long, once nothing else has for a moment.

use std::time::{Duration, Instant};

/// How long a cell may be silent before the spinner shows.
const MOMENT: Duration = Duration::from_secs(1);

/// How long each of its frames stays.
const FRAME: Duration = Duration::from_millis(100);

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

#[derive(Debug)]
pub(super) struct Spinner {
    since: Instant,
    /// When it is to be drawn next.
    next: Instant,
    frame: usize,
    pub(super) is_drawn: bool,
}

impl Spinner {
    /// A cell starts.
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            next: now + MOMENT,
            frame: 0,
            is_drawn: false,
        }
    }

    /// The cell has said something.
    pub(super) fn rest(&mut self) {
        self.next = Instant::now() + MOMENT;
        self.is_drawn = false;
    }

    /// How long to wait before the next frame.
    pub(super) fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// What to draw. The cursor stays where the next text belongs.
    pub(super) fn draw(&mut self) -> String {
        self.is_drawn = true;
        self.next = Instant::now() + FRAME;
        self.frame = (self.frame + 1) % FRAMES.len();
        let (mark, elapsed) = (FRAMES[self.frame], told(self.since.elapsed()));
        format!("\r\x1b[2m{mark} {elapsed}\x1b[0m\x1b[K\r")
    }
}

/// A time as a person says it.
fn told(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_a_person_would() {
        assert_eq!(told(Duration::from_millis(1999)), "1 s");
        assert_eq!(told(Duration::from_secs(61)), "1 min 1 s");
        assert_eq!(told(Duration::from_secs(3_720)), "1 h 2 min");
    }
}
