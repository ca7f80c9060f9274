//! The inspector: any value as text, the way Node's `util.inspect` prints everyday values, without running the program's
//! code.
//!
//! Bounded in every direction: depth, items, length of strings, and the length of the whole text. Recursion is bounded by
//! [`DEEPEST`], so that no value can overflow the stack.

mod dates;
mod layout;
mod objects;
mod strings;
mod web;

use super::realm::{Class, KeyName, Kind, Realm, Text};
use super::sources::Sources;

pub(super) use self::strings::quoted;

/// The depth that is not exceeded, whatever depth is asked for.
const DEEPEST: usize = 64;
/// How many items of an array, a map or a set are shown, and how many properties of an object.
const MAX_ITEMS: usize = 100;
/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail {
    /// How many levels below the value.
    pub(super) depth: usize,
    /// About how many bytes in all; past it, what is left is an ellipsis.
    pub(super) bytes: usize,
    /// How many UTF-16 units of a string.
    pub(super) string: usize,
}

impl Detail {
    /// What `console` prints of a value.
    pub(super) const CONSOLE: Self = Self {
        depth: 2,
        bytes: 1 << 20,
        string: 10_000,
    };
    /// What an outcome shows of a value.
    pub(super) const DISPLAY: Self = Self {
        depth: 2,
        bytes: 64 << 10,
        string: 10_000,
    };
    /// What `inspect` says of a variable.
    pub(super) const PREVIEW: Self = Self {
        depth: 1,
        bytes: 400,
        string: 200,
    };
}

/// Prints `value`; a string in quotes.
pub(super) fn inspect<R: Realm>(
    realm: &mut R,
    sources: &Sources,
    value: &R::Value,
    detail: Detail,
) -> String {
    let mut printer = Printer {
        realm,
        sources,
        depth: detail.depth.min(DEEPEST),
        bytes_left: detail.bytes as isize,
        longest_string: detail.string,
        enclosing: Vec::new(),
        circular: Vec::new(),
        deepest: 0,
        indentation: 0,
    };
    printer.value(value, 0)
}

/// One run of the inspector.
struct Printer<'r, R: Realm> {
    realm: &'r mut R,
    /// Whose positions the stacks of errors are told in.
    sources: &'r Sources,
    depth: usize,
    bytes_left: isize,
    longest_string: usize,
    /// The objects that are being printed, outermost first.
    enclosing: Vec<usize>,
    /// Those of them that something inside refers to, in the order of their numbers.
    circular: Vec<usize>,
    /// How deep the last printed object was: what holds more than two levels does not go on one line.
    deepest: usize,
    indentation: usize,
}

impl<R: Realm> Printer<'_, R> {
    fn value(&mut self, value: &R::Value, level: usize) -> String {
        if self.bytes_left <= 0 {
            return "…".to_owned();
        }
        let kind = self.realm.kind(value);
        let text = match kind {
            Kind::Object(class) => self.reference(value, class, level),
            Kind::String(text) => self.string(&text),
            primitive => primitive_text(&primitive),
        };
        self.bytes_left -= text.len() as isize;
        text
    }

    /// An object, or a reference to one that encloses it.
    fn reference(&mut self, object: &R::Value, class: Class, level: usize) -> String {
        if class == Class::Proxy {
            // Asking a proxy anything runs its traps; what it stands for is shown instead.
            return match self.realm.proxy_target(object) {
                Some(target) if level <= self.depth => self.value(&target, level + 1),
                // One too deep, one that is revoked, or any on boa, which tells nobody what it stands for.
                _ => "[Proxy]".to_owned(),
            };
        }
        let identity = self.realm.identity(object);
        if self.enclosing.contains(&identity) {
            let known = self
                .circular
                .iter()
                .position(|circular| *circular == identity);
            let number = known.unwrap_or_else(|| {
                self.circular.push(identity);
                self.circular.len() - 1
            });
            return format!("[Circular *{}]", number + 1);
        }
        self.enclosing.push(identity);
        let text = self.object(object, class, level);
        self.enclosing.pop();
        match self
            .circular
            .iter()
            .position(|circular| *circular == identity)
        {
            Some(number) => format!("<ref *{}> {text}", number + 1),
            None => text,
        }
    }

    fn string(&self, text: &Text) -> String {
        strings::in_object(text, self.longest_string, self.indentation)
    }

    /// A key as it stands before its value.
    fn key(&mut self, key: &R::Key) -> String {
        match self.realm.key_name(key) {
            KeyName::Symbol(description) => format!("[Symbol({description})]"),
            KeyName::String(Text::Utf8(name)) if strings::is_plain_key(&name) => name,
            KeyName::String(name) => quoted(&name),
        }
    }
}

/// A value that is neither an object nor a string.
pub(super) fn primitive_text(kind: &Kind) -> String {
    match kind {
        Kind::Undefined => "undefined".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Boolean(value) => value.to_string(),
        Kind::Number(number) => number_text(*number),
        Kind::BigInt(digits) => format!("{digits}n"),
        Kind::Symbol(description) => format!("Symbol({description})"),
        Kind::String(text) => text.clone().into_lossy(),
        Kind::Object(_) => "[object]".to_owned(),
    }
}

pub(super) fn number_text(number: f64) -> String {
    if number == 0.0 && number.is_sign_negative() {
        return "-0".to_owned();
    }
    ryu_js::Buffer::new().format(number).to_owned()
}
