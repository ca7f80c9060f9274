//! The way back from a position in the text an engine ran to the position in the source its user wrote.

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_sourcemap::OwnedSourceMap;
use oxc_span::SourceType;

use super::edits::{Rendered, Segment, source_offset};
use super::suspects::Suspects;

/// A place in a text; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::javascript) struct Position {
    pub(in crate::engine::javascript) line: u32,
    pub(in crate::engine::javascript) column: u32,
}

/// A cell's source and where its parts went.
#[derive(Debug)]
pub(in crate::engine::javascript) struct Positions {
    source: Box<str>,
    generated: Box<str>,
    segments: Box<[Segment]>,
    /// How many bytes were put before the source so that it could be parsed.
    lead: u32,
    typescript: Option<TypeScript>,
}

/// The JavaScript that came of a TypeScript source, and the transformer's map between the two.
#[derive(Debug)]
pub(super) struct TypeScript {
    pub(super) javascript: String,
    pub(super) map: OwnedSourceMap,
}

impl Positions {
    /// Takes the text that `rendered` will be run as; the code itself stays with `rendered`.
    pub(super) fn new(
        source: &str,
        lead: u32,
        typescript: Option<TypeScript>,
        rendered: &Rendered,
    ) -> Self {
        Self {
            source: source.into(),
            generated: rendered.text.as_str().into(),
            segments: rendered.segments.as_slice().into(),
            lead,
            typescript,
        }
    }

    /// Where in the user's source something stands that the engine saw at `position`.
    pub(in crate::engine::javascript) fn locate(&self, position: Position) -> Position {
        let generated = offset_of(&self.generated, position);
        self.locate_offset(source_offset(&self.segments, generated))
    }

    /// Where in the user's source the byte stands that is at `offset` in what was parsed.
    pub(super) fn locate_offset(&self, offset: u32) -> Position {
        let offset = offset.saturating_sub(self.lead);
        match &self.typescript {
            None => position_of(&self.source, offset),
            Some(typescript) => typescript.locate(position_of(&typescript.javascript, offset)),
        }
    }

    /// Where in the user's source a name stands that an engine could not find when it was at `about`: right before it where
    /// that is a property of the name, else the next place from there on. Without `about`, the only place.
    pub(in crate::engine::javascript) fn place_of(
        &self,
        name: &str,
        about: Option<Position>,
    ) -> Option<Position> {
        let is_part =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '.');
        let mut places = self
            .source
            .match_indices(name)
            .map(|(start, _)| start)
            .filter(|start| {
                let (before, after) = (&self.source[..*start], &self.source[start + name.len()..]);
                !before.ends_with(is_part)
                    && !after.starts_with(|next| next != '.' && is_part(next))
            });
        let Some(about) = about else {
            let only = places.next()?;
            return match places.next() {
                None => Some(position_of(&self.source, only as u32)),
                Some(_) => None,
            };
        };
        let from = offset_of(&self.source, about) as usize;
        let is_link = |character: char| character.is_whitespace() || matches!(character, '.' | '?');
        let place = places.find(|start| {
            *start >= from
                || self.source[(start + name.len()).min(from)..from]
                    .chars()
                    .all(is_link)
        })?;
        Some(position_of(&self.source, place as u32))
    }

    /// Where in the user's source a property was read of undefined or null, of which boa says `position`, if that leaves no
    /// doubt about the line.
    pub(in crate::engine::javascript) fn place_of_reading(
        &self,
        position: Position,
    ) -> Option<Position> {
        // It was parsed before and does not nest deeply, so that this stack holds it.
        let allocator = Allocator::default();
        let options = ParseOptions {
            allow_return_outside_function: true,
            ..ParseOptions::default()
        };
        let parsed = Parser::new(&allocator, &self.generated, SourceType::mjs())
            .with_options(options)
            .parse();
        let at = offset_of(&self.generated, position);
        let suspects = Suspects::of(&self.generated, &parsed.program, at);
        let is_own = suspects.own || (suspects.call && suspects.methods.is_empty());
        let own = is_own.then_some(position);
        let methods = suspects.methods.iter();
        let mut places = own
            .into_iter()
            .chain(methods.map(|name| position_of(&self.generated, *name)))
            .map(|place| self.locate(place));
        let first = places.next()?;
        places
            .all(|place| place.line == first.line)
            .then_some(first)
    }

    /// A line of the user's source, without its end.
    pub(in crate::engine::javascript) fn line(&self, line: u32) -> Option<&str> {
        self.source.lines().nth(line.checked_sub(1)? as usize)
    }

    /// How much memory this takes, roughly.
    pub(in crate::engine::javascript) fn bytes(&self) -> usize {
        let typescript = self
            .typescript
            .as_ref()
            .map_or(0, |typescript| 2 * typescript.javascript.len());
        self.source.len() + self.generated.len() + size_of_val(&*self.segments) + typescript
    }
}

impl TypeScript {
    /// Where in the TypeScript source something stands that has a position in the JavaScript.
    pub(super) fn locate(&self, position: Position) -> Position {
        let table = self.map.generate_lookup_table();
        match self
            .map
            .lookup_token(&table, position.line - 1, position.column - 1)
        {
            Some(token) => Position {
                line: token.get_src_line() + 1,
                column: token.get_src_col() + 1,
            },
            None => position,
        }
    }
}

/// The position of a byte.
pub(super) fn position_of(text: &str, offset: u32) -> Position {
    let mut end = (offset as usize).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: memchr::memchr_iter(b'\n', before.as_bytes()).count() as u32 + 1,
        column: before[line_start..].chars().count() as u32 + 1,
    }
}

/// The byte at a position; past the end of a line, its end.
fn offset_of(text: &str, position: Position) -> u32 {
    let line_start = match position.line {
        0 | 1 => 0,
        line => memchr::memchr_iter(b'\n', text.as_bytes())
            .nth(line as usize - 2)
            .map_or(text.len(), |newline| newline + 1),
    };
    let line = text[line_start..].split('\n').next().unwrap_or("");
    let column = (position.column as usize).saturating_sub(1);
    let within = line
        .char_indices()
        .nth(column)
        .map_or(line.len(), |(index, _)| index);
    (line_start + within) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_positions_lead_to_each_other() {
        let text = "ab\n€x\n";
        for (offset, line, column) in [
            (0, 1, 1),
            (2, 1, 3),
            (3, 2, 1),
            (6, 2, 2),
            (7, 2, 3),
            (8, 3, 1),
        ] {
            let position = Position { line, column };
            assert_eq!(position_of(text, offset), position, "{offset}");
            assert_eq!(offset_of(text, position), offset, "{position:?}");
        }
    }
}
