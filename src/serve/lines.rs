//! Messages as they come off the wire: one a line, each in bounded memory.
//!
//! A line over the cap is skipped without being kept, so that a peer that never sends a newline costs no more than one
//! that does.

use std::io::{self, BufRead};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its newline.
    Whole(Vec<u8>),
    /// A line that was longer than the cap, and is gone.
    TooLong,
}

/// Splits a byte stream into lines.
pub(crate) struct Lines<R> {
    reader: R,
    cap: usize,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most `cap` bytes, the newline not counted.
    pub(crate) fn new(reader: R, cap: usize) -> Self {
        Self { reader, cap }
    }

    /// The next line; the last one needs no newline. `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut too_long = false;
        let mut is_begun = false;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            is_begun = true;
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            too_long |= line.len() + part.len() > self.cap;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        Ok(match (is_begun, too_long) {
            (false, _) => None,
            (true, true) => Some(Line::TooLong),
            (true, false) => Some(Line::Whole(line)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], cap: usize, buffer: usize) -> Vec<Line> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, bytes), cap);
        std::iter::from_fn(|| lines.next().expect("a slice never fails")).collect()
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn the_last_line_needs_no_newline() {
        assert_eq!(all(b"a\n\nb", 10, 2), [whole("a"), whole(""), whole("b")]);
        assert_eq!(all(b"a\n", 10, 2), [whole("a")]);
        assert_eq!(all(b"", 10, 2), []);
    }

    #[test]
    fn a_line_over_the_cap_is_skipped_and_the_next_one_is_whole() {
        assert_eq!(
            all(b"12345\n1234\n123456789\nx", 4, 3),
            [Line::TooLong, whole("1234"), Line::TooLong, whole("x")]
        );
    }

    proptest! {
        #[test]
        fn lines_are_those_of_split(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a')], 0..200),
            cap in 0usize..20,
            buffer in 1usize..30,
        ) {
            let mut wanted: Vec<Line> = bytes
                .split(|byte| *byte == b'\n')
                .map(|line| if line.len() > cap { Line::TooLong } else { Line::Whole(line.to_vec()) })
                .collect();
            if wanted.last() == Some(&Line::Whole(Vec::new())) {
                wanted.pop();
            }
            prop_assert_eq!(all(&bytes, cap, buffer), wanted);
        }
    }
}
