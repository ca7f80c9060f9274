//! [`Ledger`]: the text of one stream within its budget, its head and its tail, with exact counts of what was left out.

use std::collections::VecDeque;

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
}

impl Ledger {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// The head may hold the whole budget as long as nothing is over it; half of it stays when the tail begins.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.lines += newlines(bytes);
        if self.tail.is_empty() {
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
        } else {
            self.push_tail(bytes);
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
        let Self {
            head,
            tail,
            bytes,
            lines,
            ..
        } = std::mem::replace(self, Self::new(self.budget));
        if tail.is_empty() {
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
            file: None,
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
