//! [`Ledger`]: the text of one stream within its budget, its head and its tail, with exact counts of what was left out.
//!
//! [`Ledger::push`] takes bytes as they are. [`Ledger::print`] takes them as a terminal would show them: what a carriage
//! return makes the program write over is gone, so that a progress bar of a million steps is one line of text.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::artifacts::{Artifacts, Spill};
use crate::outcome::Cut;

/// What the line that stands in for the cut may take of the budget.
const MARKER_BYTES: usize = 96;

/// The head and the tail of a stream. Memory is bounded by the budget, whatever is written.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    budget: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    lines: u64,
    /// How much of it stands in the line that has not ended.
    open: u64,
    /// The open line ends in carriage returns: what is printed next is written over it.
    returned: bool,
    /// Where the whole is written once it is over the budget.
    place: Option<Place>,
    spill: Option<Box<Spill>>,
}

/// Files of that name.
#[derive(Clone, Debug)]
struct Place {
    artifacts: Arc<Artifacts>,
    what: &'static str,
}

impl Ledger {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// The same ledger; once it is over its budget, the whole is written to an artifact.
    pub(super) fn spilling(self, artifacts: Option<&Arc<Artifacts>>, what: &'static str) -> Self {
        let place = artifacts.map(|artifacts| Place {
            artifacts: artifacts.clone(),
            what,
        });
        Self { place, ..self }
    }

    /// Takes bytes as a terminal shows them: within a line, the last text after a carriage return is what there is.
    ///
    /// One before a newline, and one that nothing follows, is text like any other. Positions within the line are not kept:
    /// progress bars write their whole line anew, and pad it when it becomes shorter.
    pub(super) fn print(&mut self, bytes: &[u8]) {
        if !self.returned && memchr::memchr(b'\r', bytes).is_none() {
            return self.push(bytes);
        }
        if self.returned && !matches!(bytes.first(), None | Some(b'\r' | b'\n')) {
            self.take_back_line();
        }
        // What comes before `start` is dealt with, what comes before `from` holds no return that is not.
        let (mut start, mut from) = (0, 0);
        while let Some(found) = memchr::memchr(b'\r', &bytes[from..]) {
            let found = from + found;
            let run = bytes[found..].iter().take_while(|byte| **byte == b'\r');
            let end = found + run.count();
            match bytes.get(end) {
                None => break,
                Some(b'\n') => {}
                Some(_) => {
                    match memchr::memrchr(b'\n', &bytes[start..found]) {
                        Some(newline) => self.push(&bytes[start..=start + newline]),
                        None => self.take_back_line(),
                    }
                    start = end;
                }
            }
            from = end;
        }
        self.push(&bytes[start..]);
        self.returned = match bytes.last() {
            Some(last) => *last == b'\r',
            None => self.returned,
        };
    }

    /// Takes bytes as they are.
    ///
    /// The head may hold the whole budget as long as nothing is over it; half of it stays when the tail begins.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !self.is_over() && bytes.len() > self.budget.saturating_sub(self.head.len()) {
            self.begin_spill();
        }
        if let Some(spill) = &mut self.spill {
            spill.write(bytes);
        }
        let was_over = self.is_over();
        self.bytes += bytes.len() as u64;
        self.lines += newlines(bytes);
        self.open = match memchr::memrchr(b'\n', bytes) {
            Some(newline) => (bytes.len() - newline - 1) as u64,
            None => self.open + bytes.len() as u64,
        };
        if was_over {
            return self.push_tail(bytes);
        }
        let room = self.budget.saturating_sub(self.head.len());
        if bytes.len() <= room {
            self.head.extend_from_slice(bytes);
            return;
        }
        let half = self.head_budget();
        if self.head.len() < half {
            let (head, rest) = bytes.split_at(half - self.head.len());
            self.head.extend_from_slice(head);
            self.push_tail(rest);
        } else {
            let moved = self.head.split_off(half);
            self.push_tail(&moved);
            self.push_tail(bytes);
        }
    }

    /// The line that has not ended was never printed.
    fn take_back_line(&mut self) {
        let mut left = std::mem::take(&mut self.open);
        if let Some(spill) = &mut self.spill {
            spill.take_back(left);
        }
        let between = self.bytes - (self.head.len() + self.tail.len()) as u64;
        self.bytes -= left;
        let of_tail = left.min(self.tail.len() as u64);
        self.tail.truncate(self.tail.len() - of_tail as usize);
        left = (left - of_tail).saturating_sub(between);
        self.head.truncate(self.head.len() - left as usize);
    }

    /// Whether the head does not hold all there is.
    fn is_over(&self) -> bool {
        self.bytes > self.head.len() as u64
    }

    fn begin_spill(&mut self) {
        if self.spill.is_none()
            && let Some(Place { artifacts, what }) = &self.place
        {
            self.spill = artifacts.begin(what, "txt").map(Box::new);
            if let Some(spill) = &mut self.spill {
                spill.write(&self.head);
            }
        }
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let room = self.tail_budget();
        let kept = &bytes[bytes.len().saturating_sub(room)..];
        let over = (self.tail.len() + kept.len()).saturating_sub(room);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(kept);
    }

    fn head_budget(&self) -> usize {
        self.budget.saturating_sub(MARKER_BYTES) / 2
    }

    fn tail_budget(&self) -> usize {
        self.budget.saturating_sub(MARKER_BYTES) - self.head_budget()
    }

    /// The text and, when it is not whole, what was cut; the ledger is empty afterwards.
    ///
    /// Bytes that are not UTF-8 become U+FFFD. The cut falls between characters.
    pub(crate) fn take(&mut self) -> (String, Option<Cut>) {
        if self.bytes == 0 {
            self.forget();
            return (String::new(), None);
        }
        let place = self.place.take();
        let fresh = Self {
            place,
            ..Self::new(self.budget)
        };
        let Self {
            head,
            tail,
            bytes,
            lines,
            spill,
            ..
        } = std::mem::replace(self, fresh);
        if bytes == head.len() as u64 {
            return (into_text(head), None);
        }
        let tail = Vec::from(tail);
        let head = &head[..whole_characters(&head)];
        let tail = &tail[first_character(&tail)..];
        let cut = Cut {
            bytes,
            lines,
            bytes_left_out: bytes - (head.len() + tail.len()) as u64,
            lines_left_out: lines - newlines(head) - newlines(tail),
            file: spill.and_then(|spill| spill.finish()),
        };
        let mut text = String::from_utf8_lossy(head).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!(
            "[{} bytes, {} lines left out]\n",
            cut.bytes_left_out, cut.lines_left_out
        ));
        text.push_str(&String::from_utf8_lossy(tail));
        (text, Some(cut))
    }

    /// Forgets all there is, and the file that was begun for it.
    pub(super) fn forget(&mut self) {
        self.head.clear();
        self.tail.clear();
        (self.bytes, self.lines, self.open) = (0, 0, 0);
        self.returned = false;
        self.spill = None;
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// How many bytes stand before a character that was cut at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        if byte & 0b1100_0000 == 0b1000_0000 {
            continue;
        }
        let width = match byte {
            0b1100_0000..=0b1101_1111 => 2,
            0b1110_0000..=0b1110_1111 => 3,
            0b1111_0000..=0b1111_0111 => 4,
            _ => 1,
        };
        return if width > back {
            bytes.len() - back
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

/// Where the first whole character begins after a cut.
fn first_character(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000)
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(budget: usize, pieces: &[&[u8]]) -> (String, Option<Cut>) {
        let mut ledger = Ledger::new(budget);
        for piece in pieces {
            ledger.push(piece);
        }
        ledger.take()
    }

    #[test]
    fn text_within_the_budget_is_whole() {
        assert_eq!(written(1000, &[b"a\n", b"b"]), ("a\nb".to_owned(), None));
        assert_eq!(written(1000, &[&[b'x'; 1000]]), ("x".repeat(1000), None));
    }

    #[test]
    fn one_byte_over_the_budget_keeps_head_and_tail() {
        let (text, cut) = written(1000, &[&[b'x'; 1000], b"y"]);
        let cut = cut.expect("cut");
        assert_eq!(
            (cut.bytes, cut.bytes_left_out, cut.lines, cut.lines_left_out),
            (1001, 97, 0, 0)
        );
        assert!(text.starts_with("xxx") && text.ends_with("xy"));
        assert!(text.contains("\n[97 bytes, 0 lines left out]\n"));
    }

    #[test]
    fn a_character_is_never_halved() {
        for budget in 1000..1010 {
            let (text, cut) = written(budget, &["é🙂".repeat(400).as_bytes()]);
            assert!(!text.contains('\u{fffd}'), "{text}");
            assert!(cut.is_some());
        }
        assert_eq!(written(1000, &[b"\xc3", b"\xa9"]).0, "é");
        assert_eq!(written(1000, &[b"\xff ok"]).0, "\u{fffd} ok");
    }

    fn printed(budget: usize, pieces: &[&str]) -> (String, Option<Cut>) {
        let mut ledger = Ledger::new(budget);
        for piece in pieces {
            ledger.print(piece.as_bytes());
        }
        ledger.take()
    }

    #[test]
    fn what_is_written_over_is_gone() {
        for (pieces, text) in [
            (&["10%\r20%\r", "100%\n"][..], "100%\n"),
            (&["one\n10%\r100%\ntwo"], "one\n100%\ntwo"),
            (&["\r  0%", "\r 50%", "\r100%", "\n"], "100%\n"),
            (&["a\r\nb\r\n"], "a\r\nb\r\n"),
            (&["a\r", "\nb\r", "\n"], "a\r\nb\r\n"),
            (&["a\r\r\nb"], "a\r\r\nb"),
            (&["a\r", "\r", "\n", "b"], "a\r\r\nb"),
            (&["a\r", "\rb"], "b"),
            (&["100%\r"], "100%\r"),
            (&["a\r", ""], "a\r"),
            (&["a\r", "", "b"], "b"),
            (&["\r"], "\r"),
            (&["\r", "a"], "a"),
            (&["100%|##|\r", "        \r", "done\n"], "done\n"),
            (&["x\n\r\r\ry"], "x\ny"),
            (&["a\nb\rc\nd\re\n"], "a\nc\ne\n"),
        ] {
            assert_eq!(printed(1000, pieces), (text.to_owned(), None), "{pieces:?}");
        }
    }

    #[test]
    fn a_million_steps_of_progress_are_one_line() {
        let all: String = (0..1_000_000).map(|n| format!("\rstep {n}")).collect();
        assert_eq!(printed(512, &[&all]), ("step 999999".to_owned(), None));
        let mut ledger = Ledger::new(512);
        ledger.print(b"begin\n");
        for n in 0..100_000 {
            ledger.print(format!("\rstep {n}").as_bytes());
        }
        ledger.print(b"\nend\n");
        assert_eq!(ledger.take(), ("begin\nstep 99999\nend\n".to_owned(), None));
    }

    /// A line that is over the budget by itself, and then written over.
    #[test]
    fn a_long_line_that_is_written_over_leaves_nothing_cut() {
        let long = "x".repeat(5000);
        let (text, cut) = printed(1000, &["begin\n", &long, "\r", "end\n"]);
        assert_eq!((text.as_str(), cut), ("begin\nend\n", None));
        // The budget is whole again.
        let (text, cut) = printed(1000, &[&long, "\r", &"y".repeat(1000)]);
        assert_eq!((text, cut), ("y".repeat(1000), None));
    }

    /// What a terminal shows that keeps no positions within the line.
    fn shown(text: &str) -> String {
        let lines = text.split_inclusive('\n').map(|line| {
            let body = line.trim_end_matches('\n').trim_end_matches('\r');
            let end = &line[body.len()..];
            format!("{}{end}", body.rsplit('\r').next().unwrap_or_default())
        });
        lines.collect()
    }

    proptest! {
        #[test]
        fn the_counts_are_those_of_the_text_that_is_left(
            budget in 512usize..700,
            pieces in prop::collection::vec("(a{0,90}|[\\r\\n]|\\r\\n|é){0,12}", 0..12),
        ) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let whole = shown(&pieces.concat());
            let (text, cut) = printed(budget, &pieces);
            prop_assert!(text.len() <= budget);
            match cut {
                None => prop_assert_eq!(text, whole),
                Some(cut) => {
                    prop_assert_eq!((cut.bytes, cut.lines), (whole.len() as u64, newlines(whole.as_bytes())));
                    let marker = format!("[{} bytes, {} lines left out]\n", cut.bytes_left_out, cut.lines_left_out);
                    let (head, tail) = text.split_once(&marker).expect("marker");
                    let kept = whole.len() - cut.bytes_left_out as usize;
                    let head = if head.len() + tail.len() > kept { &head[..head.len() - 1] } else { head };
                    prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
                    prop_assert_eq!(head.len() + tail.len(), kept);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn counts_are_exact_and_the_budget_holds(
            budget in 512usize..2000,
            pieces in prop::collection::vec(prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a')], 0..400), 0..20),
        ) {
            let whole: Vec<u8> = pieces.concat();
            let (text, cut) = written(budget, &pieces.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert!(text.len() <= budget);
            match cut {
                None => prop_assert_eq!(text.as_bytes(), whole.as_slice()),
                Some(cut) => {
                    prop_assert_eq!(cut.bytes, whole.len() as u64);
                    prop_assert_eq!(cut.lines, newlines(&whole));
                    let marker = format!("[{} bytes, {} lines left out]\n", cut.bytes_left_out, cut.lines_left_out);
                    let (head, tail) = text.split_once(&marker).expect("marker");
                    let kept = whole.len() - cut.bytes_left_out as usize;
                    let head = if head.len() + tail.len() > kept { &head[..head.len() - 1] } else { head };
                    prop_assert!(whole.starts_with(head.as_bytes()));
                    prop_assert!(whole.ends_with(tail.as_bytes()));
                    prop_assert_eq!(head.len() + tail.len(), kept);
                    let left_out = &whole[head.len()..whole.len() - tail.len()];
                    prop_assert_eq!(newlines(left_out), cut.lines_left_out);
                }
            }
        }
    }
}
