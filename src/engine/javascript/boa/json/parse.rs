//! JSON text into values.

use std::collections::HashMap;
use std::hash::Hash;

use boa_engine::builtins::object::OrdinaryObject;
use boa_engine::object::JsObject;
use boa_engine::object::builtins::JsArray;
use boa_engine::property::{PropertyDescriptor, PropertyKey};
use boa_engine::string::{JsStr, JsStrVariant};
use boa_engine::{Context, JsError, JsNativeError, JsResult, JsString, JsValue};

use super::Watch;
use super::revive::Origin;
use crate::engine::javascript::boa::text::Builder;

/// How many names of properties are kept for reuse, and how long they may be.
const NAMES: usize = 256;
const NAME_LENGTH: usize = 32;
/// Texts from this length on are shown in messages by what is around the fault.
const LONG: usize = 21;
const AROUND: usize = 10;

/// The value of a text, and where its primitives came from when a reviver asks.
pub(super) fn parse(
    text: &JsString,
    with_origin: bool,
    context: &mut Context,
) -> JsResult<(JsValue, Option<Origin>)> {
    match text.as_str().variant() {
        JsStrVariant::Latin1(units) => Parser::new(units, with_origin, context).text(),
        JsStrVariant::Utf16(units) => Parser::new(units, with_origin, context).text(),
    }
}

/// A unit of a text, in either of its two forms.
trait Unit: Copy + Eq + Hash + Into<u16> {
    fn string(units: &[Self]) -> JsStr<'_>;
}

impl Unit for u8 {
    fn string(units: &[Self]) -> JsStr<'_> {
        JsStr::latin1(units)
    }
}

impl Unit for u16 {
    fn string(units: &[Self]) -> JsStr<'_> {
        JsStr::utf16(units)
    }
}

struct Parser<'t, 'c, U> {
    text: &'t [U],
    place: usize,
    names: HashMap<&'t [U], PropertyKey>,
    with_origin: bool,
    watch: Watch,
    context: &'c mut Context,
}

/// An array or an object whose end has not come yet.
enum Open {
    Array(Vec<JsValue>, Vec<Origin>),
    /// With the name of the member that comes next.
    Object(JsObject, PropertyKey, HashMap<PropertyKey, Origin>),
}

impl<'t, 'c, U: Unit> Parser<'t, 'c, U> {
    fn new(text: &'t [U], with_origin: bool, context: &'c mut Context) -> Self {
        Self {
            text,
            place: 0,
            names: HashMap::new(),
            with_origin,
            watch: Watch::of(context),
            context,
        }
    }

    fn text(mut self) -> JsResult<(JsValue, Option<Origin>)> {
        let (value, origin) = self.value()?;
        self.skip_space();
        if self.place < self.text.len() {
            return Err(self.expected("Unexpected non-whitespace character after JSON"));
        }
        Ok((value, self.with_origin.then_some(origin)))
    }

    /// A value with all that is in it.
    fn value(&mut self) -> JsResult<(JsValue, Origin)> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.watch.turn()?;
            self.skip_space();
            let start = self.place;
            let mut done = match self.peek() {
                Some(b'[') => {
                    self.place += 1;
                    self.skip_space();
                    if self.peek() != Some(b']') {
                        open.push(Open::Array(Vec::new(), Vec::new()));
                        continue;
                    }
                    self.place += 1;
                    (self.array(Vec::new()), Origin::Array(Vec::new()))
                }
                Some(b'{') => {
                    self.place += 1;
                    let object = self.object();
                    self.skip_space();
                    if self.peek() != Some(b'}') {
                        let name = self.name("Expected property name or '}' in JSON")?;
                        open.push(Open::Object(object, name, HashMap::new()));
                        continue;
                    }
                    self.place += 1;
                    (object.into(), Origin::Object(HashMap::new()))
                }
                _ => {
                    let value = self.primitive()?;
                    let origin = self.origin(start, &value);
                    (value, origin)
                }
            };
            // Puts it where it belongs, and closes what ends with it.
            loop {
                let Some(inner) = open.pop() else {
                    return Ok(done);
                };
                self.skip_space();
                let next = self.peek();
                match inner {
                    Open::Array(mut elements, mut origins) => {
                        elements.push(done.0);
                        if self.with_origin {
                            origins.push(done.1);
                        }
                        match next {
                            Some(b',') => {
                                self.place += 1;
                                open.push(Open::Array(elements, origins));
                                break;
                            }
                            Some(b']') => {
                                self.place += 1;
                                done = (self.array(elements), Origin::Array(origins));
                            }
                            _ => {
                                return Err(self
                                    .expected("Expected ',' or ']' after array element in JSON"));
                            }
                        }
                    }
                    Open::Object(object, name, mut origins) => {
                        if self.with_origin {
                            origins.insert(name.clone(), done.1);
                        }
                        object.insert_property(name, property(done.0));
                        match next {
                            Some(b',') => {
                                self.place += 1;
                                self.skip_space();
                                let name =
                                    self.name("Expected double-quoted property name in JSON")?;
                                open.push(Open::Object(object, name, origins));
                                break;
                            }
                            Some(b'}') => {
                                self.place += 1;
                                done = (object.into(), Origin::Object(origins));
                            }
                            _ => {
                                return Err(self
                                    .expected("Expected ',' or '}' after property value in JSON"));
                            }
                        }
                    }
                }
            }
        }
    }

    fn array(&mut self, elements: Vec<JsValue>) -> JsValue {
        JsArray::from_iter(elements, self.context).into()
    }

    fn object(&mut self) -> JsObject {
        let prototype = self
            .context
            .intrinsics()
            .constructors()
            .object()
            .prototype();
        JsObject::new(self.context.root_shape(), prototype, OrdinaryObject).upcast()
    }

    fn origin(&self, start: usize, value: &JsValue) -> Origin {
        if !self.with_origin {
            return Origin::Array(Vec::new());
        }
        Origin::Primitive {
            text: JsString::from(U::string(&self.text[start..self.place])),
            value: value.clone(),
        }
    }

    /// The name of a member, and the colon after it.
    fn name(&mut self, expected: &str) -> JsResult<PropertyKey> {
        if self.peek() != Some(b'"') {
            return Err(self.expected(expected));
        }
        let start = self.place + 1;
        let end = self.plain_end(start);
        let key = if self.byte(end) == Some(b'"') && end - start <= NAME_LENGTH {
            self.place = end + 1;
            let text: &'t [U] = self.text;
            let text = &text[start..end];
            match self.names.get(text) {
                Some(name) => name.clone(),
                None => {
                    let name = PropertyKey::from(JsString::from(U::string(text)));
                    if self.names.len() < NAMES {
                        self.names.insert(text, name.clone());
                    }
                    name
                }
            }
        } else {
            PropertyKey::from(self.string()?)
        };
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("Expected ':' after property name in JSON"));
        }
        self.place += 1;
        Ok(key)
    }

    fn primitive(&mut self) -> JsResult<JsValue> {
        match self.peek() {
            Some(b'"') => self.string().map(JsValue::from),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", JsValue::from(true)),
            Some(b'f') => self.word("false", JsValue::from(false)),
            Some(b'n') => self.word("null", JsValue::null()),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, word: &str, value: JsValue) -> JsResult<JsValue> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected());
            }
            self.place += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> JsResult<JsValue> {
        let start = self.place;
        if self.peek() == Some(b'-') {
            self.place += 1;
        }
        match self.peek() {
            Some(b'0') => {
                self.place += 1;
                if matches!(self.peek(), Some(b'0'..=b'9')) {
                    return Err(self.expected("Unexpected number in JSON"));
                }
            }
            Some(b'1'..=b'9') => self.skip_digits(),
            _ => return Err(self.expected("No number after minus sign in JSON")),
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            is_integer = false;
            self.place += 1;
            self.digits("Unterminated fractional number in JSON")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.place += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.place += 1;
            }
            self.digits("Exponent part is missing a number in JSON")?;
        }
        let units = self.text[start..self.place].iter();
        let text: String = units.map(|unit| char::from((*unit).into() as u8)).collect();
        if is_integer
            && text != "-0"
            && let Ok(integer) = text.parse::<i32>()
        {
            return Ok(JsValue::from(integer));
        }
        Ok(JsValue::from(text.parse::<f64>().unwrap_or(f64::NAN)))
    }

    fn digits(&mut self, missing: &str) -> JsResult<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected(missing));
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.place += 1;
        }
    }

    /// A string, from its opening quote to behind its closing one.
    fn string(&mut self) -> JsResult<JsString> {
        let mut start = self.place + 1;
        let mut built: Option<Builder> = None;
        loop {
            let end = self.plain_end(start);
            let plain = U::string(&self.text[start..end]);
            self.place = end;
            match self.byte(end) {
                Some(b'"') => {
                    self.place += 1;
                    return Ok(match built {
                        None => JsString::from(plain),
                        Some(mut built) => {
                            built.append(plain);
                            built.build()
                        }
                    });
                }
                Some(b'\\') => {
                    let built = built.get_or_insert_with(Builder::new);
                    built.append(plain);
                    self.place += 1;
                    let unit = self.escape()?;
                    built.utf16(&[unit]);
                    start = self.place;
                }
                Some(_) => {
                    return Err(self.expected("Bad control character in string literal in JSON"));
                }
                None => return Err(self.expected("Unterminated string in JSON")),
            }
            self.watch.turn()?;
        }
    }

    /// Where the part of a string ends that stands for itself.
    fn plain_end(&self, start: usize) -> usize {
        let is_special = |unit: &U| {
            let unit: u16 = (*unit).into();
            unit < 0x20 || unit == u16::from(b'"') || unit == u16::from(b'\\')
        };
        let rest = self.text.get(start..).unwrap_or_default();
        start + rest.iter().position(is_special).unwrap_or(rest.len())
    }

    /// What an escape stands for, from behind its backslash.
    fn escape(&mut self) -> JsResult<u16> {
        let Some(kind) = self.text.get(self.place) else {
            return Err(self.unexpected());
        };
        let kind: u16 = (*kind).into();
        let unit = match u8::try_from(kind) {
            Ok(kind @ (b'"' | b'\\' | b'/')) => kind,
            Ok(b'b') => 0x08,
            Ok(b'f') => 0x0c,
            Ok(b'n') => b'\n',
            Ok(b'r') => b'\r',
            Ok(b't') => b'\t',
            Ok(b'u') => return self.unicode_escape(),
            _ => return Err(self.expected("Bad escaped character in JSON")),
        };
        self.place += 1;
        Ok(u16::from(unit))
    }

    fn unicode_escape(&mut self) -> JsResult<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            self.place += 1;
            let digit = self.peek().and_then(|digit| char::from(digit).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.expected("Bad Unicode escape in JSON"));
            };
            unit = unit << 4 | digit as u16;
        }
        self.place += 1;
        Ok(unit)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.place += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.byte(self.place)
    }

    /// The unit at a place, where it is Latin-1.
    fn byte(&self, place: usize) -> Option<u8> {
        let unit = self.text.get(place)?;
        let unit: u16 = (*unit).into();
        // No unit beyond Latin-1 means anything outside of strings; within them any stands for itself.
        Some(u8::try_from(unit).unwrap_or(0xff))
    }

    /// An error that says what should stand here.
    fn expected(&self, what: &str) -> JsError {
        syntax(format!("{what} at position {}", self.place))
    }

    /// An error about what stands here.
    fn unexpected(&self) -> JsError {
        let Some(token) = self.text.get(self.place..self.place + 1) else {
            return syntax("Unexpected end of JSON input".to_owned());
        };
        let show = |units: &[U]| U::string(units).to_std_string_lossy();
        let length = self.text.len();
        if length <= LONG {
            let whole = show(self.text);
            if ["undefined", "NaN", "Infinity", "[object Object]"].contains(&whole.as_str()) {
                return syntax(format!("\"{whole}\" is not valid JSON"));
            }
        }
        let token = show(token);
        let (start, end) = if length < LONG {
            (0, length)
        } else {
            (
                self.place.saturating_sub(AROUND),
                (self.place + AROUND).min(length),
            )
        };
        let before = if start > 0 { "..." } else { "" };
        let after = if end < length { "..." } else { "" };
        let around = show(&self.text[start..end]);
        syntax(format!(
            "Unexpected token '{token}', {before}\"{around}\"{after} is not valid JSON"
        ))
    }
}

fn syntax(message: String) -> JsError {
    JsNativeError::syntax().with_message(message).into()
}

fn property(value: JsValue) -> PropertyDescriptor {
    PropertyDescriptor::builder()
        .value(value)
        .writable(true)
        .enumerable(true)
        .configurable(true)
        .build()
}
