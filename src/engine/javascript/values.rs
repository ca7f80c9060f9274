//! From a JavaScript value to JSON text, without loss and without running the program's code.
//!
//! Iterative, so that no nesting can overflow a stack, and metered while it walks: it ends at the value budget and when
//! the cell is stopped.

mod incoming;

pub(super) use self::incoming::{from_answer, from_json};
use super::realm::{Class, Content, Intrinsic, KeyName, Kind, Realm, Text};
use crate::engine::Integers;

/// How deep a value may nest; what reads JSON recursively stands that much.
const MAX_DEPTH: usize = 1_000;
/// How many nodes are walked between two looks at the clock.
const NODES_BETWEEN_LOOKS: u32 = 1_024;

/// The largest number up to which every integer is one of its own.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// Why a value cannot be handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not JSON; `path` leads to what is not.
    NotJson {
        path: String,
        what: String,
        hint: Option<&'static str>,
    },
    /// Its text is longer than this many bytes.
    TooLong(usize),
    /// The cell was stopped meanwhile.
    Stopped,
}

/// What a text may be.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// How long, in bytes.
    pub(super) budget: usize,
    pub(super) integers: Integers,
}

impl Measure {
    /// A text that only the runtime reads.
    pub(super) fn of(budget: usize) -> Self {
        Self {
            budget,
            integers: Integers::Exact,
        }
    }
}

/// Writes `value` as JSON text.
pub(super) fn to_json<R: Realm>(
    realm: &mut R,
    value: &R::Value,
    Measure { budget, integers }: Measure,
    is_stopped: &dyn Fn() -> bool,
) -> Result<String, Refusal> {
    let mut walk = Walk {
        out: String::new(),
        stack: Vec::new(),
        budget,
        integers,
    };
    let mut next = Some(value.clone());
    let mut nodes = 0u32;
    loop {
        if let Some(value) = next.take() {
            nodes = nodes.wrapping_add(1);
            if nodes.is_multiple_of(NODES_BETWEEN_LOOKS) && is_stopped() {
                return Err(Refusal::Stopped);
            }
            walk.write(realm, value)?;
        }
        if walk.out.len() > budget {
            return Err(Refusal::TooLong(budget));
        }
        next = match walk.advance(realm)? {
            Step::Value(value) => Some(value),
            Step::Closed => None,
            Step::Finished => return Ok(walk.out),
        };
    }
}

struct Walk<R: Realm> {
    out: String,
    stack: Vec<Level<R>>,
    budget: usize,
    integers: Integers,
}

/// An array or object that is being written.
struct Level<R: Realm> {
    identity: usize,
    object: R::Value,
    inside: Inside<R>,
}

enum Inside<R: Realm> {
    Array {
        length: u32,
        next: u32,
    },
    Object {
        keys: std::vec::IntoIter<R::Key>,
        current: String,
        is_first: bool,
    },
}

enum Step<V> {
    /// This comes next.
    Value(V),
    /// An array or object ended.
    Closed,
    /// Everything is written.
    Finished,
}

impl<R: Realm> Walk<R> {
    /// Writes a primitive, or opens an array or object.
    fn write(&mut self, realm: &mut R, value: R::Value) -> Result<(), Refusal> {
        // A unit takes a byte at least: a long string is not copied to find that out.
        if realm
            .string_length(&value)
            .is_some_and(|units| units > self.budget)
        {
            return Err(Refusal::TooLong(self.budget));
        }
        match realm.kind(&value) {
            Kind::Null => self.out.push_str("null"),
            Kind::Boolean(true) => self.out.push_str("true"),
            Kind::Boolean(false) => self.out.push_str("false"),
            Kind::Number(number) => self.number(number)?,
            Kind::String(Text::Utf8(text)) => write_string(&text, &mut self.out),
            Kind::String(Text::Broken(_)) => {
                return Err(self.refusal(
                    "a string with a lone surrogate",
                    Some("call `toWellFormed()` on it"),
                ));
            }
            Kind::Undefined => {
                return Err(self.refusal("undefined", Some("leave it out, or use `null`")));
            }
            Kind::BigInt(_) => {
                return Err(self.refusal(
                    "a BigInt",
                    Some("convert it with `Number(...)` or `String(...)`"),
                ));
            }
            Kind::Symbol(_) => return Err(self.refusal("a symbol", None)),
            Kind::Object(class) => self.open(realm, value, &class)?,
        }
        Ok(())
    }

    fn number(&mut self, number: f64) -> Result<(), Refusal> {
        if !number.is_finite() {
            let what = if number.is_nan() { "NaN" } else { "infinite" };
            return Err(self.refusal(what, Some("use `null` for a number that is not there")));
        }
        // From 1e21 on it is written as what is no integer.
        let magnitude = number.abs();
        if self.integers == Integers::Safe && magnitude > SAFE && magnitude < 1e21 {
            return Err(self.refusal(
                "an integer beyond 2^53 - 1",
                Some("return it as text, with `String(...)`"),
            ));
        }
        if number == 0.0 && number.is_sign_negative() {
            self.out.push_str("-0.0");
        } else {
            self.out
                .push_str(ryu_js::Buffer::new().format_finite(number));
        }
        Ok(())
    }

    fn open(&mut self, realm: &mut R, object: R::Value, class: &Class) -> Result<(), Refusal> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(self.refusal("nested too deeply", Some("return a flatter structure")));
        }
        let identity = realm.identity(&object);
        if self.stack.iter().any(|level| level.identity == identity) {
            return Err(self.refusal(
                "a cycle",
                Some("leave out the reference to what encloses it"),
            ));
        }
        let inside = match class {
            Class::Array(length)
                if self.is_born_with(realm, &object, Intrinsic::ArrayPrototype) =>
            {
                // Every element takes two bytes at least: what cannot fit need not be walked.
                if *length as usize > self.budget {
                    return Err(Refusal::TooLong(self.budget));
                }
                self.out.push('[');
                Inside::Array {
                    length: *length,
                    next: 0,
                }
            }
            Class::Plain if self.is_plain(realm, &object) => {
                self.out.push('{');
                let keys = realm.keys(&object).into_iter();
                Inside::Object {
                    keys,
                    current: String::new(),
                    is_first: true,
                }
            }
            _ => {
                let (what, hint) = describe(realm, &object, class);
                return Err(self.refusal(&what, hint));
            }
        };
        self.stack.push(Level {
            identity,
            object,
            inside,
        });
        Ok(())
    }

    fn is_plain(&self, realm: &mut R, object: &R::Value) -> bool {
        realm
            .prototype(object)
            .is_none_or(|prototype| realm.is_intrinsic(&prototype, Intrinsic::ObjectPrototype))
    }

    fn is_born_with(&self, realm: &mut R, object: &R::Value, intrinsic: Intrinsic) -> bool {
        realm
            .prototype(object)
            .is_some_and(|prototype| realm.is_intrinsic(&prototype, intrinsic))
    }

    /// Goes to the next element or property, or closes what is finished.
    fn advance(&mut self, realm: &mut R) -> Result<Step<R::Value>, Refusal> {
        let Some(level) = self.stack.last_mut() else {
            return Ok(Step::Finished);
        };
        match &mut level.inside {
            Inside::Array { length, next } => {
                if *next == *length {
                    let length = *length;
                    self.out.push(']');
                    let closed = self.stack.pop();
                    return match closed.and_then(|level| name_on(realm, &level.object, length)) {
                        Some(name) => Err(self.name_on_array(&name)),
                        None => Ok(Step::Closed),
                    };
                }
                let index = *next;
                *next += 1;
                if index > 0 {
                    self.out.push(',');
                }
                match realm
                    .element(&level.object, index)
                    .map(|property| property.content)
                {
                    Some(Content::Data(value)) => Ok(Step::Value(value)),
                    Some(Content::Accessor { .. }) => {
                        Err(self.refusal("an accessor", Some(ACCESSOR_HINT)))
                    }
                    None => Err(self.refusal(
                        "a hole",
                        Some("fill the array, for instance with `Array.from`"),
                    )),
                }
            }
            Inside::Object {
                keys,
                current,
                is_first,
            } => {
                for key in keys.by_ref() {
                    let Some(property) = realm.property(&level.object, &key) else {
                        continue;
                    };
                    match realm.key_name(&key) {
                        KeyName::String(Text::Utf8(name)) => *current = name,
                        KeyName::String(Text::Broken(units)) => {
                            *current = String::from_utf16_lossy(&units);
                            return Err(self.refusal("a key with a lone surrogate", None));
                        }
                        KeyName::Symbol(description) => {
                            *current = format!("[Symbol({description})]");
                            return Err(self.refusal("a symbol key", None));
                        }
                    }
                    if !property.enumerable {
                        return Err(self.refusal("a hidden property", Some(HIDDEN_HINT)));
                    }
                    let Content::Data(value) = property.content else {
                        return Err(self.refusal("an accessor", Some(ACCESSOR_HINT)));
                    };
                    if !*is_first {
                        self.out.push(',');
                    }
                    *is_first = false;
                    write_string(current, &mut self.out);
                    self.out.push(':');
                    return Ok(Step::Value(value));
                }
                self.out.push('}');
                self.stack.pop();
                Ok(Step::Closed)
            }
        }
    }

    fn refusal(&self, what: &str, hint: Option<&'static str>) -> Refusal {
        Refusal::NotJson {
            path: self.path(),
            what: what.to_owned(),
            hint,
        }
    }

    /// The array that was just closed has a property besides its elements.
    fn name_on_array(&self, name: &str) -> Refusal {
        let mut path = self.path();
        if is_identifier(name) {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(name);
        } else {
            path.push('[');
            write_string(name, &mut path);
            path.push(']');
        }
        Refusal::NotJson {
            path,
            what: "a named property of an array".to_owned(),
            hint: Some("copy the array with `[...array]`, or use an object"),
        }
    }

    /// The way from the value to where the walk is: `rows[3].score`.
    fn path(&self) -> String {
        const LONGEST: usize = 200;
        let mut path = String::new();
        for level in &self.stack {
            match &level.inside {
                Inside::Array { next, .. } => path.push_str(&format!("[{}]", next - 1)),
                Inside::Object { current, .. } if is_identifier(current) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(current);
                }
                Inside::Object { current, .. } => {
                    path.push('[');
                    write_string(current, &mut path);
                    path.push(']');
                }
            }
            if path.len() > LONGEST {
                let end = path.floor_char_boundary(LONGEST);
                path.truncate(end);
                path.push('…');
                break;
            }
        }
        path
    }
}

/// What the match of a regular expression has besides its elements. Every program takes it for the array alone.
const OF_A_MATCH: [&str; 4] = ["index", "input", "groups", "indices"];

/// The first enumerable property with a name that an array of so many elements has besides them, unless it is a match.
fn name_on<R: Realm>(realm: &mut R, array: &R::Value, length: u32) -> Option<String> {
    if !realm.has_more_keys(array, length) {
        return None;
    }
    let keys = realm.keys(array);
    let names = keys.into_iter().skip(length as usize).filter_map(|key| {
        let KeyName::String(name) = realm.key_name(&key) else {
            return None;
        };
        let property = realm.property(array, &key)?;
        property.enumerable.then(|| name.into_lossy())
    });
    let names: Vec<String> = names.collect();
    let is_match = ["index", "input"]
        .iter()
        .all(|name| names.iter().any(|known| known == name))
        && names.iter().all(|name| OF_A_MATCH.contains(&name.as_str()));
    names.into_iter().next().filter(|_| !is_match)
}

const HIDDEN_HINT: &str = "copy it with `{ ...value }`, which leaves hidden properties out";
const ACCESSOR_HINT: &str = "copy it with `{ ...value }`, which runs the getters";

/// What an object that is not JSON is, and what to do about it.
fn describe<R: Realm>(
    realm: &mut R,
    object: &R::Value,
    class: &Class,
) -> (String, Option<&'static str>) {
    match class {
        Class::Function => ("a function".to_owned(), Some("call it, or leave it out")),
        Class::Proxy => (
            "a proxy".to_owned(),
            Some("copy it with `{ ...value }` or `[...value]`"),
        ),
        Class::Date(_) => ("a Date".to_owned(), Some("convert it with `toISOString()`")),
        Class::Map(_) => (
            "a Map".to_owned(),
            Some("convert it with `Object.fromEntries(map)` or `[...map]`"),
        ),
        Class::Set(_) => ("a Set".to_owned(), Some("convert it with `[...set]`")),
        Class::Promise => ("a Promise".to_owned(), Some("await it")),
        Class::Error => ("an Error".to_owned(), Some("return its `message`")),
        Class::RegExp(_) => ("a RegExp".to_owned(), Some("return its `source`")),
        Class::TypedArray(_) => (
            "a typed array".to_owned(),
            Some("convert it with `Array.from`"),
        ),
        Class::ArrayBuffer(_) => (
            "an ArrayBuffer".to_owned(),
            Some("convert it with `Array.from(new Uint8Array(buffer))`"),
        ),
        Class::Boxed => (
            "a boxed primitive".to_owned(),
            Some("call `valueOf()` on it"),
        ),
        _ => match class_name(realm, object) {
            Some(name) => (
                format!("an instance of {name}"),
                Some("copy it with `{ ...value }` or `[...value]`"),
            ),
            None => (
                "not a plain object".to_owned(),
                Some("copy it with `{ ...value }`"),
            ),
        },
    }
}

/// The name of the class an object is an instance of, read along its prototypes.
pub(super) fn class_name<R: Realm>(realm: &mut R, object: &R::Value) -> Option<String> {
    class_names(realm, object, 1).pop()
}

/// The names of an object's class and of those that it extends, so many at most.
pub(super) fn class_names<R: Realm>(realm: &mut R, object: &R::Value, most: usize) -> Vec<String> {
    let constructor = realm.key("constructor");
    let name = realm.key("name");
    let mut names = Vec::new();
    let mut current = Some(object.clone());
    // A chain of prototypes may be long, and a proxy in it may be endless.
    for _ in 0..100 {
        let Some(object) = current else { break };
        if realm.kind(&object) == Kind::Object(Class::Proxy) {
            break;
        }
        if let Some(function) = realm
            .property(&object, &constructor)
            .and_then(|property| property.into_value())
            && realm.kind(&function) == Kind::Object(Class::Function)
            && let Some(value) = realm
                .property(&function, &name)
                .and_then(|property| property.into_value())
            && let Kind::String(text) = realm.kind(&value)
        {
            let text = text.into_lossy();
            if !text.is_empty() {
                names.push(text);
            }
        }
        if names.len() == most {
            break;
        }
        current = realm.prototype(&object);
    }
    names
}

/// Whether a key can follow a dot.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_' || first == '$')
        && characters
            .all(|character| character.is_alphanumeric() || character == '_' || character == '$')
}

/// Writes a JSON string; what needs no escape goes in whole stretches.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f => {
                out.push_str(&text[plain..index]);
                out.push_str(&format!("\\u{byte:04x}"));
                plain = index + 1;
                continue;
            }
            _ => continue,
        };
        out.push_str(&text[plain..index]);
        out.push_str(escape);
        plain = index + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}
