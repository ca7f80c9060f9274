//! The bounded stream of what a cell prints and shows while it runs.
//!
//! The sender sits in the session's transcript, under its lock, and never waits; the reader may be slow, asleep or gone.
//! Where the reader wants every event, the cell waits for it after the lock was given back: see [`Pace`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::Stream;
use super::displays::size_of_entry;
use super::pace::Pace;
use crate::outcome::Display;

/// A line that has not ended is sent on once it has this many bytes.
const PENDING_BYTES: usize = 4096;

/// How much text is kept for a reader that is behind, who gets it as one event once there is room.
const HELD_BYTES: usize = 1 << 20;

/// How many bytes of displays may wait for a reader that is behind. What an outcome holds is limited elsewhere; an animation
/// shows far more than that on its way.
const WAITING_BYTES: usize = 64 << 20;

/// Places that are kept for the end: what is left of each stream, and a last gap.
const LAST_EVENTS: usize = 3;

/// How many events can wait at most, whoever reads.
const MOST_EVENTS: usize = 1 << 20;

/// Something a running cell printed or showed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Text for one of the streams: whole lines, or what there was when the program flushed.
    Output {
        /// Which stream.
        stream: Stream,
        /// The text; bytes that are not UTF-8 are U+FFFD.
        text: String,
    },
    /// Something the cell showed.
    Display(Display),
    /// The program wants what it printed and showed so far gone.
    Clear,
    /// The reader was too slow: what came here was dropped (it stands in the outcome).
    Gap {
        /// How many events are missing.
        events: u64,
        /// How many bytes of text were in them.
        bytes: u64,
    },
}

/// The reader's end. It ends when the cell's outcome is settled.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<Event>,
    pace: Option<Arc<Pace>>,
    /// The bytes of the displays that were not taken yet.
    waiting: Arc<AtomicUsize>,
}

impl Events {
    /// The next event; `None` once the cell has ended and everything was read.
    ///
    /// # Cancel safety
    ///
    /// No event is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        let event = self.receiver.recv().await;
        self.took(event)
    }

    /// Waits for the next event on a thread that runs no async code.
    ///
    /// # Panics
    ///
    /// When called inside an async runtime's context: use [`Events::next`] there.
    pub fn blocking_next(&mut self) -> Option<Event> {
        let event = self.receiver.blocking_recv();
        self.took(event)
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        let event = self.receiver.try_recv().ok();
        self.took(event)
    }

    fn took(&self, event: Option<Event>) -> Option<Event> {
        if let Some(Event::Display(entry)) = &event {
            self.waiting
                .fetch_sub(size_of_entry(entry), Ordering::Relaxed);
        }
        if let (Some(_), Some(pace)) = (&event, &self.pace) {
            pace.taken();
        }
        event
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.end();
        }
    }
}

/// Makes a stream whose reader may be `capacity` events behind; then text is gathered, and what is too much is dropped.
pub(crate) fn event_stream(capacity: usize) -> (EventSender, Events) {
    stream(capacity, None)
}

/// Makes a stream whose reader may be `capacity` events behind; then the cell waits.
pub(crate) fn paced_stream(capacity: usize) -> (EventSender, Events) {
    let pace = Pace::new(capacity.clamp(1, MOST_EVENTS / 2));
    stream(MOST_EVENTS, Some(Arc::new(pace)))
}

fn stream(capacity: usize, pace: Option<Arc<Pace>>) -> (EventSender, Events) {
    let (sender, receiver) = mpsc::channel(capacity.clamp(1, MOST_EVENTS) + LAST_EVENTS);
    let waiting = Arc::default();
    let sender = EventSender {
        sender,
        pace: pace.clone(),
        waiting: Arc::clone(&waiting),
        stdout: Vec::new(),
        stderr: Vec::new(),
        kept: LAST_EVENTS,
        missing_events: 0,
        missing_bytes: 0,
    };
    let events = Events {
        receiver,
        pace,
        waiting,
    };
    (sender, events)
}

/// The writer's end: gathers lines, so that `print("a", "b")` is one event and not four.
#[derive(Debug)]
pub(crate) struct EventSender {
    sender: mpsc::Sender<Event>,
    pace: Option<Arc<Pace>>,
    /// The bytes of the displays that were not taken yet.
    waiting: Arc<AtomicUsize>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// How many places are not for now.
    kept: usize,
    missing_events: u64,
    missing_bytes: u64,
}

impl EventSender {
    /// What the writer has to wait for, once it holds no lock.
    pub(super) fn pace(&self) -> Option<Arc<Pace>> {
        self.pace.clone()
    }

    pub(super) fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let is_behind = self.is_behind();
        let pending = self.pending(stream);
        pending.extend_from_slice(bytes);
        if is_behind && pending.len() <= HELD_BYTES {
            return;
        }
        let ready = match memchr::memrchr(b'\n', pending) {
            Some(end) => end + 1,
            None if pending.len() >= PENDING_BYTES => whole_text(pending),
            None => return,
        };
        self.send_text(stream, ready);
    }

    /// Sends what has not ended in a newline, except for a character that is not whole yet.
    pub(super) fn flush(&mut self, stream: Stream) {
        if self.is_behind() {
            return;
        }
        let ready = whole_text(self.pending(stream));
        self.send_text(stream, ready);
    }

    pub(super) fn display(&mut self, entry: &Display) {
        self.catch_up();
        let bytes = size_of_entry(entry);
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let has_room = waiting == 0 || waiting + bytes <= WAITING_BYTES || self.pace.is_some();
        if !has_room || !self.send(Event::Display(entry.clone()), 0) {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
        if !has_room {
            self.missing_events += 1;
        }
    }

    pub(super) fn clear(&mut self) {
        self.catch_up();
        self.send(Event::Clear, 0);
    }

    /// Sends everything that is left; the stream ends when the sender is dropped.
    pub(super) fn finish(mut self) {
        self.report_gap();
        self.kept = 0;
        self.finish_streams();
        self.report_gap();
    }

    /// What comes next stands behind the text there is, unless the reader gets that later.
    fn catch_up(&mut self) {
        if !self.is_behind() {
            self.finish_streams();
        }
    }

    fn finish_streams(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let all = self.pending(stream).len();
            self.send_text(stream, all);
        }
    }

    fn is_behind(&self) -> bool {
        self.sender.capacity() <= self.kept
    }

    fn pending(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn send_text(&mut self, stream: Stream, length: usize) {
        if length == 0 {
            return;
        }
        let pending = self.pending(stream);
        let text = String::from_utf8_lossy(&pending[..length]).into_owned();
        pending.drain(..length);
        self.send(Event::Output { stream, text }, length as u64);
    }

    /// Says whether the reader will have it.
    fn send(&mut self, event: Event, bytes: u64) -> bool {
        // A gap that takes the last place would come before nothing.
        if self.sender.capacity() > self.kept + 1 {
            self.report_gap();
        }
        let is_sent = self.missing_events == 0 && !self.is_behind() && self.try_send(event);
        if !is_sent {
            self.missing_events += 1;
            self.missing_bytes += bytes;
        }
        is_sent
    }

    fn report_gap(&mut self) {
        if self.missing_events == 0 {
            return;
        }
        let gap = Event::Gap {
            events: self.missing_events,
            bytes: self.missing_bytes,
        };
        if self.try_send(gap) {
            (self.missing_events, self.missing_bytes) = (0, 0);
        }
    }

    fn try_send(&self, event: Event) -> bool {
        let is_sent = self.sender.try_send(event).is_ok();
        if is_sent && let Some(pace) = &self.pace {
            pace.sent();
        }
        is_sent
    }
}

/// How many bytes are there before a character whose end has not come yet.
fn whole_text(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(events: &mut Events) -> Vec<Event> {
        std::iter::from_fn(|| events.try_next()).collect()
    }

    fn output(text: &str) -> Event {
        Event::Output {
            stream: Stream::Stdout,
            text: text.to_owned(),
        }
    }

    #[test]
    fn lines_are_gathered_and_a_flush_sends_the_open_one() {
        let (mut sender, mut events) = event_stream(8);
        for piece in ["a", " ", "b", "\n", "50%"] {
            sender.write(Stream::Stdout, piece.as_bytes());
        }
        assert_eq!(text(&mut events), [output("a b\n")]);
        sender.flush(Stream::Stdout);
        assert_eq!(text(&mut events), [output("50%")]);
    }

    #[test]
    fn a_flush_waits_for_the_rest_of_a_character() {
        let (mut sender, mut events) = event_stream(8);
        sender.write(Stream::Stdout, b"x\xc3");
        sender.flush(Stream::Stdout);
        sender.write(Stream::Stdout, b"\xa9\n");
        assert_eq!(text(&mut events), [output("x"), output("é\n")]);
    }

    #[test]
    fn a_slow_reader_gets_more_at_once() {
        let (mut sender, mut events) = event_stream(2);
        for line in ["1\n", "2\n", "3\n", "four"] {
            sender.write(Stream::Stdout, line.as_bytes());
            sender.flush(Stream::Stdout);
        }
        assert_eq!(text(&mut events), [output("1\n"), output("2\n")]);
        sender.write(Stream::Stdout, b"5\n6");
        assert_eq!(text(&mut events), [output("3\nfour5\n")]);
        for line in ["7\n", "8\n", "9\n", "10"] {
            sender.write(Stream::Stdout, line.as_bytes());
        }
        sender.write(Stream::Stderr, b"!");
        sender.finish();
        let rest = text(&mut events);
        let last = Event::Output {
            stream: Stream::Stderr,
            text: "!".to_owned(),
        };
        assert_eq!(rest, [output("67\n"), output("8\n"), output("9\n10"), last]);
    }

    #[test]
    fn displays_that_nobody_takes_wait_only_up_to_a_size() {
        let (mut sender, mut events) = event_stream(1000);
        let mut data = serde_json::Map::new();
        data.insert(
            "text/plain".to_owned(),
            "x".repeat(WAITING_BYTES / 3).into(),
        );
        let entry = Display {
            data,
            metadata: None,
            file: None,
            id: None,
            updates: false,
        };
        for _ in 0..5 {
            sender.display(&entry);
        }
        let missed = Event::Gap {
            events: 3,
            bytes: 0,
        };
        let shown = Event::Display(entry.clone());
        assert!(text(&mut events) == [shown.clone(), shown.clone()]);
        sender.display(&entry);
        assert!(text(&mut events) == [missed, shown]);
    }

    #[test]
    fn a_reader_who_does_not_read_is_told_what_was_missed() {
        let (mut sender, mut events) = event_stream(1);
        let line = format!("{}\n", "x".repeat(HELD_BYTES - 1));
        sender.write(Stream::Stdout, b"1\n");
        sender.write(Stream::Stdout, line.as_bytes());
        sender.write(Stream::Stdout, b"2\n");
        sender.display(&Display::text("shown"));
        sender.write(Stream::Stdout, b"3");
        let gap = |events, bytes| Event::Gap { events, bytes };
        assert_eq!(text(&mut events), [output("1\n")]);
        sender.finish();
        let missed = gap(2, HELD_BYTES as u64 + 2);
        assert_eq!(text(&mut events), [missed, output("3")]);
    }
}
