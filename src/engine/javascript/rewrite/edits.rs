//! A list of edits to a source text, and what comes of applying them: the new text and the way back to the old offsets.
//!
//! Everything that is not edited is copied byte for byte, which is why positions can be told exactly. Knows nothing of
//! JavaScript.

use std::borrow::Cow;

/// A stretch of the source that stands unchanged in the new text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// Where it begins in the new text.
    pub(super) generated: u32,
    /// Where it begins in the source.
    pub(super) source: u32,
    /// How many bytes it has.
    pub(super) length: u32,
}

/// The edited text and its segments in the order of the new text.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) segments: Vec<Segment>,
}

#[derive(Debug)]
struct Edit {
    start: u32,
    end: u32,
    text: Cow<'static, str>,
}

/// A stretch that goes to the front of the text: `opening`, the stretch with its own edits, `closing`.
#[derive(Debug)]
struct Hoist {
    start: u32,
    end: u32,
    opening: String,
    closing: &'static str,
}

/// Edits of one source text, in any order; of two at the same place the one that was asked for first comes first.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<Edit>,
    hoists: Vec<Hoist>,
}

impl Edits {
    /// Puts `text` before the byte at `at`.
    pub(super) fn insert(&mut self, at: u32, text: impl Into<Cow<'static, str>>) {
        self.replace(at, at, text);
    }

    /// Puts `text` in the place of the bytes from `start` to `end`.
    pub(super) fn replace(&mut self, start: u32, end: u32, text: impl Into<Cow<'static, str>>) {
        self.edits.push(Edit {
            start,
            end,
            text: text.into(),
        });
    }

    /// Moves the bytes from `start` to `end` to the front and leaves a `;`, which keeps the neighbours apart.
    pub(super) fn hoist(&mut self, start: u32, end: u32, opening: String, closing: &'static str) {
        self.hoists.push(Hoist {
            start,
            end,
            opening,
            closing,
        });
        self.replace(start, end, ";");
    }

    /// Applies the edits to `source`, between `opening` and `closing`.
    pub(super) fn render(mut self, source: &str, opening: &str, closing: &str) -> Rendered {
        // An insertion goes before a replacement that begins at the same place; the sort keeps the order of equals.
        self.edits
            .sort_by_key(|edit| (edit.start, edit.end > edit.start));
        let inserted: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut rendered = Rendered {
            text: String::with_capacity(
                source.len() + inserted + opening.len() + closing.len() + 64,
            ),
            segments: Vec::with_capacity(self.edits.len() + 1),
        };
        rendered.text.push_str(opening);
        for hoist in &self.hoists {
            rendered.text.push_str(&hoist.opening);
            let inner = self.edits.iter().filter(|edit| {
                // What stands right after the stretch stays where it is.
                (hoist.start..hoist.end).contains(&edit.start)
                    && edit.end <= hoist.end
                    && (edit.start, edit.end) != (hoist.start, hoist.end)
            });
            copy(source, hoist.start, hoist.end, inner, &mut rendered);
            rendered.text.push_str(hoist.closing);
        }
        copy(
            source,
            0,
            source.len() as u32,
            self.edits.iter(),
            &mut rendered,
        );
        rendered.text.push_str(closing);
        rendered
    }
}

/// Appends the bytes of `source` from `start` to `end` with `edits` applied; an edit inside one that is done is skipped.
fn copy<'e>(
    source: &str,
    start: u32,
    end: u32,
    edits: impl Iterator<Item = &'e Edit>,
    into: &mut Rendered,
) {
    let mut at = start;
    for edit in edits {
        if edit.start < at {
            continue;
        }
        verbatim(source, at, edit.start, into);
        into.text.push_str(&edit.text);
        at = edit.end;
    }
    verbatim(source, at, end, into);
}

fn verbatim(source: &str, start: u32, end: u32, into: &mut Rendered) {
    if start < end {
        let generated = into.text.len() as u32;
        into.segments.push(Segment {
            generated,
            source: start,
            length: end - start,
        });
        into.text.push_str(&source[start as usize..end as usize]);
    }
}

/// The offset in the source of an offset in the new text; of text that was put in, the place where it was put.
pub(super) fn source_offset(segments: &[Segment], generated: u32) -> u32 {
    let after = segments.partition_point(|segment| segment.generated <= generated);
    match after.checked_sub(1).map(|index| segments[index]) {
        Some(segment) if generated < segment.generated + segment.length => {
            segment.source + (generated - segment.generated)
        }
        // Text that was put in stands before what follows it: `void(` belongs to the name it encloses.
        inside => segments
            .get(after)
            .map(|segment| segment.source)
            .or(inside.map(|segment| segment.source + segment.length))
            .unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_order_and_offsets_lead_back() {
        let mut edits = Edits::default();
        edits.replace(0, 3, "void(");
        edits.insert(9, ")");
        let rendered = edits.render("let a = 1;", "<", ">");
        assert_eq!(rendered.text, "<void( a = 1);>");
        let at = |text: &str| {
            source_offset(
                &rendered.segments,
                rendered.text.find(text).unwrap_or(0) as u32,
            )
        };
        assert_eq!(at("a"), 4);
        assert_eq!(at("1"), 8);
        assert_eq!(at(";"), 9);
    }

    #[test]
    fn insertions_come_before_a_replacement_at_the_same_place() {
        let mut edits = Edits::default();
        edits.replace(0, 1, "b");
        edits.insert(0, "(");
        edits.insert(1, ")");
        assert_eq!(edits.render("a", "", "").text, "(b)");
    }

    #[test]
    fn a_hoisted_stretch_keeps_its_own_edits_and_its_offsets() {
        let source = "f(); function f() { x }";
        let mut edits = Edits::default();
        edits.replace(20, 21, "y");
        edits.replace(14, 15, "");
        edits.hoist(5, 23, "f=".into(), ";");
        let rendered = edits.render(source, "", "");
        assert_eq!(rendered.text, "f=function () { y };f(); ;");
        let call = rendered.text.find("f();").unwrap_or(0) as u32;
        assert_eq!(source_offset(&rendered.segments, call), 0);
        let body = rendered.text.find('{').unwrap_or(0) as u32;
        assert_eq!(source_offset(&rendered.segments, body), 18);
    }
}
