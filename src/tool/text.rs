//! Text within a budget: [`Body`], which shows its head and its tail and counts exactly what is left out between them.

use crate::outcome::Cut;

/// What the line that stands for what is left out may take: two numbers of 64 bits, its words, and the newline that ends an
/// open line before it.
pub(super) const MARK_BYTES: usize = 72;

/// A text, the middle of which may have gone before it came here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'a> {
    head: &'a str,
    tail: &'a str,
    /// What went before.
    gone: Option<LeftOut>,
}

/// How much is not shown. Lines are counted by their newline characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

impl LeftOut {
    fn of(text: &str) -> Self {
        Self {
            bytes: text.len() as u64,
            lines: newlines(text),
        }
    }

    fn and(self, text: &str) -> Self {
        let more = Self::of(text);
        Self {
            bytes: self.bytes.saturating_add(more.bytes),
            lines: self.lines.saturating_add(more.lines),
        }
    }

    fn mark(self) -> String {
        format!("[{} bytes, {} lines left out]", self.bytes, self.lines)
    }
}

impl<'a> Body<'a> {
    /// A text that is whole.
    pub(super) fn whole(text: &'a str) -> Self {
        Self {
            head: text,
            tail: "",
            gone: None,
        }
    }

    /// A stream of an outcome, which holds a line in place of what went when its budget was used up.
    pub(super) fn of_stream(text: &'a str, cut: Option<&Cut>) -> Self {
        let Some(cut) = cut else {
            return Self::whole(text);
        };
        let gone = LeftOut {
            bytes: cut.bytes_left_out,
            lines: cut.lines_left_out,
        };
        let mark = format!("{}\n", gone.mark());
        let (mut head, tail) = text.split_once(mark.as_str()).unwrap_or((text, ""));
        let lines = gone
            .lines
            .saturating_add(newlines(head))
            .saturating_add(newlines(tail));
        if lines == cut.lines.saturating_add(1) {
            // The newline was put there to end an open line before the mark.
            head = head.strip_suffix('\n').unwrap_or(head);
        }
        Self {
            head,
            tail,
            gone: Some(gone),
        }
    }

    /// How much there was in all.
    pub(super) fn total(&self) -> LeftOut {
        self.gone.unwrap_or_default().and(self.head).and(self.tail)
    }

    /// What is left out when nothing more goes.
    pub(super) fn gone(&self) -> LeftOut {
        self.gone.unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty() && self.gone.is_none()
    }

    /// The room in which nothing more needs to go.
    pub(super) fn wanted(&self) -> usize {
        let mark = if self.gone.is_some() { MARK_BYTES } else { 0 };
        self.head.len() + mark + self.tail.len()
    }

    /// The same text in that room, of which there must be [`MARK_BYTES`] for one that does not fit.
    pub(super) fn within(self, room: usize) -> Self {
        if self.wanted() <= room {
            return self;
        }
        let room = room.saturating_sub(MARK_BYTES);
        // A text that was whole ends in its head.
        let ends_in = if self.gone.is_some() {
            self.tail
        } else {
            self.head
        };
        let half = room / 2;
        let (for_head, for_tail) = if self.head.len() < half {
            (self.head.len(), room - self.head.len())
        } else if ends_in.len() < room - half {
            (room - ends_in.len(), ends_in.len())
        } else {
            (half, room - half)
        };
        let head = beginning(self.head, for_head);
        let tail = end(ends_in, for_tail);
        let gone = match self.gone {
            Some(gone) => gone
                .and(&self.head[head.len()..])
                .and(&self.tail[..self.tail.len() - tail.len()]),
            None => LeftOut::of(&self.head[head.len()..self.head.len() - tail.len()]),
        };
        Self {
            head,
            tail,
            gone: Some(gone),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push_str(self.head);
        if let Some(gone) = self.gone {
            if !self.head.is_empty() && !self.head.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&gone.mark());
            if !self.tail.is_empty() {
                out.push('\n');
            }
        }
        out.push_str(self.tail);
    }
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// The beginning of a text in that many bytes; it ends with a line where one ends near.
fn beginning(text: &str, bytes: usize) -> &str {
    let cut = &text[..text.floor_char_boundary(bytes)];
    match cut.rfind('\n') {
        Some(end) if cut.len() < text.len() && end + 1 >= cut.len() - cut.len() / 4 => &cut[..=end],
        _ => cut,
    }
}

/// The end of a text in that many bytes; it begins with a line where one begins near.
fn end(text: &str, bytes: usize) -> &str {
    let cut = &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..];
    match cut.find('\n') {
        Some(start) if cut.len() < text.len() && start < cut.len() / 4 => &cut[start + 1..],
        _ => cut,
    }
}

/// The beginning of a text on one line, in so many characters.
pub(super) fn clipped(text: &str, characters: usize) -> String {
    let mut clipped: String = text
        .chars()
        .take(characters)
        .map(|character| match character {
            character if character.is_control() => ' ',
            character => character,
        })
        .collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(body: Body<'_>) -> String {
        let mut text = String::new();
        body.write(&mut text);
        text
    }

    #[test]
    fn a_text_that_fits_is_shown_as_it_is() {
        let body = Body::whole("a\nb").within(3);
        assert_eq!(shown(body), "a\nb");
        assert_eq!(body.gone(), LeftOut::default());
    }

    #[test]
    fn lines_stay_whole_where_that_costs_little() {
        let text: String = (0..100).map(|n| format!("line {n:03}\n")).collect();
        let body = Body::whole(&text).within(MARK_BYTES + 100);
        assert_eq!(
            shown(body),
            format!(
                "{}[810 bytes, 90 lines left out]\n{}",
                &text[..45],
                &text[855..]
            )
        );
    }

    #[test]
    fn what_went_before_counts_too() {
        let text = "one\ntwo\n[100 bytes, 10 lines left out]\nlast\n";
        let cut: Cut = serde_json::from_value(serde_json::json!({
            "bytes": 112, "lines": 12, "bytesLeftOut": 100, "linesLeftOut": 10,
        }))
        .expect("a cut");
        let body = Body::of_stream(text, Some(&cut));
        // `two` was an open line: its newline is not the program's.
        assert_eq!(
            body.total(),
            LeftOut {
                bytes: 112,
                lines: 12
            }
        );
        assert_eq!(shown(body), text);
        let short = body.within(MARK_BYTES + 8);
        assert_eq!(shown(short), "one\n[104 bytes, 10 lines left out]\nast\n");
    }

    proptest! {
        #[test]
        fn the_room_is_kept_and_the_counts_are_exact(
            text in "([a-z\n]|é|🙂){0,400}",
            room in MARK_BYTES..600,
        ) {
            let body = Body::whole(&text).within(room);
            let text_shown = shown(body);
            prop_assert!(text_shown.len() <= room);
            if body.gone.is_none() {
                prop_assert_eq!(&text_shown, &text);
                return Ok(());
            }
            prop_assert!(text.len() > room);
            prop_assert!(text.starts_with(body.head) && text.ends_with(body.tail));
            prop_assert_eq!(body.total(), LeftOut::of(&text));
        }
    }
}
