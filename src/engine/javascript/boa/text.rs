//! What the native built-ins share: searching and building boa's strings in linear time, and ending when the cell must.
//!
//! boa keeps a string as Latin-1 or as UTF-16; what only one of the two can hold is told apart here.

use std::rc::Rc;

use boa_engine::error::RuntimeLimitError;
use boa_engine::string::{JsStr, JsStrVariant};
use boa_engine::{Context, JsNativeError, JsResult, JsString};
use memchr::memmem;

use super::known::Known;
use crate::engine::javascript::memory;

/// The longest string, in UTF-16 units: V8's limit, which code that other engines run keeps to.
pub(super) const MAX_STRING: usize = (1 << 29) - 24;
/// How often the stopper is looked at: a turn of the loops here takes some ten nanoseconds.
const TURNS: u32 = 1_024;
/// Parts up to this length are copied; a longer one refers to the text it was cut from, and keeps that alive.
const COPIED: usize = 32;

/// Ends a loop of a native built-in when its cell must stop, as boa ends a loop of the program's.
pub(super) struct Watch {
    known: Option<Rc<Known>>,
    turns: u32,
}

impl Watch {
    pub(super) fn of(context: &Context) -> Self {
        Self {
            known: context.get_data::<Rc<Known>>().cloned(),
            turns: 0,
        }
    }

    /// One turn of a loop.
    pub(super) fn turn(&mut self) -> JsResult<()> {
        self.turns += 1;
        if self.turns < TURNS {
            return Ok(());
        }
        self.turns = 0;
        self.check()
    }

    /// Looks now.
    pub(super) fn check(&self) -> JsResult<()> {
        let is_pressed = |known: &Rc<Known>| known.host.stopper.is_pressed();
        if memory::is_tripped() || self.known.as_ref().is_some_and(is_pressed) {
            return Err(RuntimeLimitError::LoopIteration.into());
        }
        Ok(())
    }
}

/// Finds all places of one text in another.
pub(super) struct Search<'t> {
    text: JsStr<'t>,
    needle: Needle,
}

enum Needle {
    Latin1(Box<memmem::Finder<'static>>),
    Utf16(Vec<u16>),
    /// It holds a unit that no Latin-1 text has.
    Nowhere,
}

impl<'t> Search<'t> {
    /// `needle` must not be empty.
    pub(super) fn new(text: JsStr<'t>, needle: JsStr<'_>) -> Self {
        let needle = match text.variant() {
            JsStrVariant::Utf16(_) => Needle::Utf16(needle.to_vec()),
            JsStrVariant::Latin1(_) => {
                let bytes: Result<Vec<u8>, _> = needle.iter().map(u8::try_from).collect();
                match bytes {
                    Ok(bytes) => Needle::Latin1(Box::new(memmem::Finder::new(&bytes).into_owned())),
                    Err(_) => Needle::Nowhere,
                }
            }
        };
        Self { text, needle }
    }

    /// The first place at or after `from`.
    pub(super) fn next(&self, from: usize, watch: &mut Watch) -> JsResult<Option<usize>> {
        match (self.text.variant(), &self.needle) {
            (JsStrVariant::Latin1(text), Needle::Latin1(finder)) => {
                watch.turn()?;
                let place = text.get(from..).and_then(|rest| finder.find(rest));
                Ok(place.map(|place| from + place))
            }
            (JsStrVariant::Utf16(text), Needle::Utf16(needle)) => {
                find_units(text, needle, from, watch)
            }
            _ => Ok(None),
        }
    }
}

fn find_units(
    text: &[u16],
    needle: &[u16],
    mut from: usize,
    watch: &mut Watch,
) -> JsResult<Option<usize>> {
    let Some(first) = needle.first() else {
        return Ok(Some(from));
    };
    loop {
        watch.turn()?;
        let rest = text.get(from..).unwrap_or_default();
        let Some(place) = rest.iter().position(|unit| unit == first) else {
            return Ok(None);
        };
        from += place;
        if rest[place..].starts_with(needle) {
            return Ok(Some(from));
        }
        from += 1;
    }
}

/// The part of a text from `start` to `end`.
pub(super) fn part(text: &JsString, start: usize, end: usize) -> JsString {
    if end.saturating_sub(start) > COPIED {
        return text.slice(start, end);
    }
    text.as_str()
        .get(start..end)
        .map(JsString::from)
        .unwrap_or_default()
}

/// A string under construction: Latin-1 for as long as it can be.
pub(super) struct Builder {
    content: Content,
}

enum Content {
    Latin1(Vec<u8>),
    Utf16(Vec<u16>),
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            content: Content::Latin1(Vec::new()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.content {
            Content::Latin1(bytes) => bytes.len(),
            Content::Utf16(units) => units.len(),
        }
    }

    /// Appends ASCII.
    pub(super) fn ascii(&mut self, text: &str) {
        match &mut self.content {
            Content::Latin1(bytes) => bytes.extend_from_slice(text.as_bytes()),
            Content::Utf16(units) => units.extend(text.bytes().map(u16::from)),
        }
    }

    /// Appends Latin-1.
    pub(super) fn latin1(&mut self, text: &[u8]) {
        match &mut self.content {
            Content::Latin1(bytes) => bytes.extend_from_slice(text),
            Content::Utf16(units) => units.extend(text.iter().copied().map(u16::from)),
        }
    }

    /// Appends UTF-16 units.
    pub(super) fn utf16(&mut self, text: &[u16]) {
        match &mut self.content {
            Content::Utf16(units) => units.extend_from_slice(text),
            Content::Latin1(bytes) => {
                if text.iter().all(|unit| *unit <= 0xff) {
                    bytes.extend(text.iter().map(|unit| *unit as u8));
                } else {
                    let mut units: Vec<u16> = bytes.iter().copied().map(u16::from).collect();
                    units.extend_from_slice(text);
                    self.content = Content::Utf16(units);
                }
            }
        }
    }

    pub(super) fn append(&mut self, text: JsStr<'_>) {
        match text.variant() {
            JsStrVariant::Latin1(text) => self.latin1(text),
            JsStrVariant::Utf16(text) => self.utf16(text),
        }
    }

    /// Throws where the string is longer than any may be.
    pub(super) fn check_length(&self) -> JsResult<()> {
        if self.len() > MAX_STRING {
            return Err(JsNativeError::range()
                .with_message("Invalid string length")
                .into());
        }
        Ok(())
    }

    pub(super) fn build(self) -> JsString {
        match &self.content {
            Content::Latin1(bytes) => JsString::from(JsStr::latin1(bytes)),
            Content::Utf16(units) => JsString::from(JsStr::utf16(units)),
        }
    }
}
