//! Objects by their sort: what they are called, what stands in them.

use super::dates::iso_date;
use super::layout::{Columns, Frame, arrange};
use super::{MAX_ITEMS, Printer, primitive_text};
use crate::engine::javascript::realm::{
    Class, Content, Intrinsic, KeyName, Kind, PromiseState, Property, Realm, Text,
};
use crate::engine::javascript::values::class_name;

/// What is printed of an object: a base that says all (a date), or entries in brackets.
struct Shape {
    base: String,
    opening: String,
    closing: &'static str,
    entries: Vec<String>,
    columns: Option<Columns>,
    /// Without entries, the base stands alone and the brackets stand close together.
    stands_alone: bool,
}

impl<R: Realm> Printer<'_, R> {
    /// An object that is not being printed already.
    pub(super) fn object(&mut self, object: &R::Value, class: Class, level: usize) -> String {
        let constructor = class_name(self.realm, object);
        if matches!(class, Class::TypedArray(_)) && constructor.as_deref() == Some("Buffer") {
            let bytes = self.realm.bytes(object).unwrap_or_default();
            return format!("<Buffer {}>", hexadecimal(&bytes));
        }
        let (keys, left_out) = self.shown_keys(object, &class);
        let mut shape = self.shape(object, &class, constructor.as_deref());
        let hides_items =
            class == Class::Opaque && matches!(constructor.as_deref(), Some("WeakMap" | "WeakSet"));
        let web = match class {
            Class::Plain => self.web(object, constructor.as_deref()),
            _ => None,
        };
        let is_empty = keys.is_empty()
            && !hides_items
            && !self.has_items(&class)
            && web.as_ref().is_none_or(Vec::is_empty);
        if is_empty {
            return match shape.stands_alone {
                true => shape.base,
                false => format!("{}{}", shape.opening, shape.closing),
            };
        }
        if level > self.depth {
            return match constructor {
                _ if shape.stands_alone => shape.base,
                None => "[Object: null prototype]".to_owned(),
                Some(_)
                    if matches!(class, Class::Array(_))
                        && constructor.as_deref() == Some("Array") =>
                {
                    "[Array]".to_owned()
                }
                Some(name) => format!("[{name}]"),
            };
        }
        self.deepest = level;
        shape.entries.extend(web.into_iter().flatten());
        self.items(object, &class, level, &mut shape);
        if hides_items {
            shape.entries.push("<items unknown>".to_owned());
        }
        for key in keys {
            if self.bytes_left <= 0 {
                shape.entries.push("…".to_owned());
                break;
            }
            let Some(property) = self.realm.property(object, &key) else {
                continue;
            };
            let name = match property.enumerable {
                true => self.key(&key),
                false => format!("[{}]", self.key(&key)),
            };
            let text = self.property(property, level);
            shape.entries.push(format!("{name}: {text}"));
        }
        if left_out > 0 {
            shape.entries.push(format!("... {left_out} more keys"));
        }
        let frame = Frame {
            base: &shape.base,
            opening: &shape.opening,
            closing: shape.closing,
        };
        let levels = self.deepest.saturating_sub(level);
        arrange(
            shape.entries,
            &frame,
            self.indentation,
            levels,
            shape.columns,
        )
    }

    fn property(&mut self, property: Property<R::Value>, level: usize) -> String {
        match property.content {
            Content::Data(value) => self.inner(&value, level),
            Content::Accessor {
                get: true,
                set: true,
            } => "[Getter/Setter]".to_owned(),
            Content::Accessor { get: true, .. } => "[Getter]".to_owned(),
            Content::Accessor { set: true, .. } => "[Setter]".to_owned(),
            Content::Accessor { .. } => "undefined".to_owned(),
        }
    }

    /// A value one level further in.
    fn inner(&mut self, value: &R::Value, level: usize) -> String {
        self.indentation += 2;
        let text = self.value(value, level + 1);
        self.indentation -= 2;
        text
    }

    /// The properties that are shown by their keys, besides items; and how many keys are not even looked at.
    fn shown_keys(&mut self, object: &R::Value, class: &Class) -> (Vec<R::Key>, usize) {
        // A typed array has a key for every element, and none of interest.
        if matches!(class, Class::TypedArray(_)) {
            return (Vec::new(), 0);
        }
        let items = match class {
            Class::Array(length) => *length,
            Class::Boxed => self.boxed_length(object),
            _ => 0,
        };
        let is_error = *class == Class::Error;
        let mut keys = Vec::new();
        let all = self.realm.keys(object);
        let mut left = all.len();
        for key in all {
            if keys.len() == MAX_ITEMS * 10 {
                break;
            }
            left -= 1;
            let name = self.realm.key_name(&key);
            if items > 0 && is_index_below(&name, items) {
                continue;
            }
            let Some(property) = self.realm.property(object, &key) else {
                continue;
            };
            let is_shown = match (&name, is_error) {
                (KeyName::String(Text::Utf8(name)), true) => match name.as_str() {
                    "stack" | "message" | "name" => false,
                    "cause" | "errors" => true,
                    _ => property.enumerable,
                },
                _ => property.enumerable,
            };
            if is_shown {
                keys.push(key);
            }
        }
        (keys, left)
    }

    fn has_items(&self, class: &Class) -> bool {
        match class {
            Class::Array(length) | Class::TypedArray(length) => *length > 0,
            Class::Map(size) | Class::Set(size) => *size > 0,
            Class::Promise | Class::ArrayBuffer(_) => true,
            _ => false,
        }
    }

    /// Name and brackets of an object of this sort.
    fn shape(&mut self, object: &R::Value, class: &Class, constructor: Option<&str>) -> Shape {
        let named = |fallback: &str, size: String| match constructor {
            Some(name) => format!("{name}{size} "),
            None => format!("[{fallback}{size}: null prototype] "),
        };
        // A class derived from a built-in says which one.
        let tagged = |fallback: &str, size: String| match constructor {
            Some(name) if name != fallback => format!("{name}{size} [{fallback}] {{"),
            _ => format!("{}{{", named(fallback, size)),
        };
        let mut shape = Shape {
            base: String::new(),
            opening: "{".to_owned(),
            closing: "}",
            entries: Vec::new(),
            columns: None,
            stands_alone: false,
        };
        let mut base = |text: String| {
            shape.base = text;
            shape.stands_alone = true;
        };
        match class {
            Class::Plain | Class::Proxy | Class::Opaque => {
                let tag = self.tag(object).filter(|tag| constructor != Some(tag));
                let is_literal = constructor == Some("Object") && tag.is_none();
                if !is_literal {
                    let tag = tag.map(|tag| format!("[{tag}] ")).unwrap_or_default();
                    shape.opening = format!("{}{tag}{{", named("Object", String::new()));
                }
            }
            Class::Array(length) => {
                shape.closing = "]";
                shape.opening = "[".to_owned();
                let is_array = self.realm.prototype(object).is_some_and(|prototype| {
                    self.realm
                        .is_intrinsic(&prototype, Intrinsic::ArrayPrototype)
                });
                if !is_array {
                    shape.opening = format!("{}[", named("Array", format!("({length})")));
                }
            }
            Class::TypedArray(length) => {
                shape.closing = "]";
                shape.opening = format!("{}[", named("TypedArray", format!("({length})")));
            }
            Class::Arguments(_) => shape.opening = "[Arguments] {".to_owned(),
            Class::Map(size) => shape.opening = tagged("Map", format!("({size})")),
            Class::Set(size) => shape.opening = tagged("Set", format!("({size})")),
            Class::Promise => shape.opening = tagged("Promise", String::new()),
            Class::ArrayBuffer(_) => {
                shape.opening = format!("{}{{", named("ArrayBuffer", String::new()))
            }
            Class::DataView => shape.opening = format!("{}{{", named("DataView", String::new())),
            Class::Function => base(self.function(object, constructor)),
            Class::Date(time) => base(iso_date(*time)),
            Class::RegExp(literal) => base(literal.clone()),
            Class::Error => base(self.error(object, constructor)),
            Class::Boxed => base(self.boxed(object, constructor)),
        }
        shape
    }

    /// Its `Symbol.toStringTag`, where that is a plain string and not shown with its other properties.
    fn tag(&mut self, object: &R::Value) -> Option<String> {
        let mut current = Some(object.clone());
        for depth in 0..20 {
            let object = current?;
            if self.realm.kind(&object) == Kind::Object(Class::Proxy) {
                return None;
            }
            for key in self.realm.keys(&object) {
                if self.realm.key_name(&key) == KeyName::Symbol("Symbol.toStringTag".to_owned()) {
                    let property = self.realm.property(&object, &key)?;
                    if depth == 0 && property.enumerable {
                        return None;
                    }
                    let value = property.into_value()?;
                    return match self.realm.kind(&value) {
                        Kind::String(text) => {
                            Some(text.into_lossy()).filter(|text| !text.is_empty())
                        }
                        _ => None,
                    };
                }
            }
            let next = self.realm.prototype(&object)?;
            if self.realm.is_intrinsic(&next, Intrinsic::ObjectPrototype) {
                return None;
            }
            current = Some(next);
        }
        None
    }

    fn function(&mut self, function: &R::Value, constructor: Option<&str>) -> String {
        let name = self.own_text(function, "name").unwrap_or_default();
        let source = self.realm.function_source(function).unwrap_or_default();
        if source.strip_prefix("class").is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
        }) {
            let name = if name.is_empty() {
                "(anonymous)".to_owned()
            } else {
                name
            };
            let parent =
                self.realm
                    .prototype(function)
                    .and_then(|parent| match self.realm.kind(&parent) {
                        Kind::Object(Class::Function) => self
                            .own_text(&parent, "name")
                            .filter(|name| !name.is_empty()),
                        _ => None,
                    });
            return match parent {
                Some(parent) => format!("[class {name} extends {parent}]"),
                None => format!("[class {name}]"),
            };
        }
        let head = source.split(['(', '{', '=']).next().unwrap_or("");
        let is_async = head.split_whitespace().next() == Some("async");
        let kind = match (is_async, head.contains('*')) {
            (true, true) => "AsyncGeneratorFunction",
            (true, false) => "AsyncFunction",
            (false, true) => "GeneratorFunction",
            (false, false) => "Function",
        };
        match (name.is_empty(), constructor) {
            (_, None) => format!(
                "[{kind} (null prototype){}]",
                if name.is_empty() {
                    String::new()
                } else {
                    format!(": {name}")
                }
            ),
            (true, _) => format!("[{kind} (anonymous)]"),
            (false, _) => format!("[{kind}: {name}]"),
        }
    }

    fn error(&mut self, error: &R::Value, constructor: Option<&str>) -> String {
        let text = self.sources.error_text(self.realm, error, constructor);
        match text.contains("\n    at ") {
            true => text.replace('\n', &format!("\n{}", " ".repeat(self.indentation))),
            false => format!("[{text}]"),
        }
    }

    fn boxed(&mut self, object: &R::Value, constructor: Option<&str>) -> String {
        let Some(inside) = self.realm.unboxed(object) else {
            return "[Object]".to_owned();
        };
        let (class, text) = match self.realm.kind(&inside) {
            Kind::String(text) => ("String", super::quoted(&text)),
            kind @ Kind::Number(_) => ("Number", primitive_text(&kind)),
            kind @ Kind::Boolean(_) => ("Boolean", primitive_text(&kind)),
            kind @ Kind::BigInt(_) => ("BigInt", primitive_text(&kind)),
            kind => ("Symbol", primitive_text(&kind)),
        };
        match constructor {
            Some(name) if name != class => format!("[{class} ({name}): {text}]"),
            _ => format!("[{class}: {text}]"),
        }
    }

    /// How many characters a boxed string has, each of which is a property, too.
    fn boxed_length(&mut self, object: &R::Value) -> u32 {
        let inside = self.realm.unboxed(object);
        match inside.map(|inside| self.realm.kind(&inside)) {
            Some(Kind::String(Text::Utf8(text))) => text.encode_utf16().count() as u32,
            Some(Kind::String(Text::Broken(units))) => units.len() as u32,
            _ => 0,
        }
    }

    pub(super) fn own_text(&mut self, object: &R::Value, name: &str) -> Option<String> {
        let key = self.realm.key(name);
        let value = self.realm.property(object, &key)?.into_value()?;
        match self.realm.kind(&value) {
            Kind::String(text) => Some(text.into_lossy()),
            _ => None,
        }
    }

    /// The entries that have no key of their own.
    fn items(&mut self, object: &R::Value, class: &Class, level: usize, shape: &mut Shape) {
        match class {
            Class::Array(length) | Class::TypedArray(length) => {
                self.elements(object, *length, level, shape);
            }
            Class::Map(size) => {
                for (key, value) in self.realm.entries(object, MAX_ITEMS) {
                    let key = self.inner(&key, level);
                    let value = value
                        .map(|value| self.inner(&value, level))
                        .unwrap_or_default();
                    shape.entries.push(format!("{key} => {value}"));
                }
                more(*size, &mut shape.entries);
            }
            Class::Set(size) => {
                for (value, _) in self.realm.entries(object, MAX_ITEMS) {
                    let value = self.inner(&value, level);
                    shape.entries.push(value);
                }
                more(*size, &mut shape.entries);
            }
            Class::Promise => {
                let state = self.realm.promise(object);
                shape.entries.push(match state {
                    Some(PromiseState::Fulfilled(value)) => self.inner(&value, level),
                    Some(PromiseState::Rejected(reason)) => {
                        format!("<rejected> {}", self.inner(&reason, level))
                    }
                    Some(PromiseState::Pending) | None => "<pending>".to_owned(),
                });
            }
            Class::ArrayBuffer(length) => {
                let bytes = self.realm.bytes(object).unwrap_or_default();
                shape
                    .entries
                    .push(format!("[Uint8Contents]: <{}>", hexadecimal(&bytes)));
                shape.entries.push(format!("byteLength: {length}"));
            }
            _ => {}
        }
    }

    fn elements(&mut self, array: &R::Value, length: u32, level: usize, shape: &mut Shape) {
        let mut numeric = true;
        let mut index = 0;
        while index < length && shape.entries.len() < MAX_ITEMS {
            if self.bytes_left <= 0 {
                shape.entries.push("…".to_owned());
                return;
            }
            let Some(property) = self.realm.element(array, index) else {
                // A run of holes is one entry; past this many of them the search for its end is given up.
                const LONGEST_SEARCH: u32 = 100_000;
                let start = index;
                while index < length
                    && index - start < LONGEST_SEARCH
                    && self.realm.element(array, index).is_none()
                {
                    index += 1;
                }
                if index - start == LONGEST_SEARCH {
                    index = length;
                }
                let holes = index - start;
                shape.entries.push(format!(
                    "<{holes} empty item{}>",
                    if holes == 1 { "" } else { "s" }
                ));
                numeric = false;
                continue;
            };
            if let Content::Data(value) = &property.content {
                numeric &= matches!(self.realm.kind(value), Kind::Number(_) | Kind::BigInt(_));
            }
            let text = self.property(property, level);
            shape.entries.push(text);
            index += 1;
        }
        let is_cut = index < length;
        if is_cut {
            let left = length - index;
            shape.entries.push(format!(
                "... {left} more item{}",
                if left == 1 { "" } else { "s" }
            ));
        }
        shape.columns = Some(Columns { numeric, is_cut });
    }
}

fn more(size: usize, entries: &mut Vec<String>) {
    let left = size.saturating_sub(MAX_ITEMS);
    if left > 0 {
        entries.push(format!(
            "... {left} more item{}",
            if left == 1 { "" } else { "s" }
        ));
    }
}

fn is_index_below(name: &KeyName, length: u32) -> bool {
    match name {
        KeyName::String(Text::Utf8(name)) => name
            .parse::<u32>()
            .is_ok_and(|index| index < length && (name == "0" || !name.starts_with(['0', '+']))),
        _ => false,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes
        .iter()
        .take(50)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let left = bytes.len().saturating_sub(50);
    match left {
        0 => shown.join(" "),
        left => format!(
            "{} ... {left} more byte{}",
            shown.join(" "),
            if left == 1 { "" } else { "s" }
        ),
    }
}
