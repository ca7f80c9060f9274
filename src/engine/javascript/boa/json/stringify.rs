//! Values into JSON text.

use std::collections::HashSet;
use std::rc::Rc;

use boa_engine::object::JsObject;
use boa_engine::property::PropertyKey;
use boa_engine::string::{JsStr, JsStrVariant};
use boa_engine::value::IntegerOrInfinity;
use boa_engine::{
    Context, JsBigInt, JsNativeError, JsResult, JsString, JsValue, JsVariant, js_string,
};

use super::members::Members;
use super::{Watch, circle, name_of};
use crate::engine::javascript::boa::known::Known;
use crate::engine::javascript::boa::text::Builder;

/// How deep a value may nest: about as deep as elsewhere, where the stack ends it.
const MAX_DEPTH: usize = 10_000;

/// How much a level is indented at most.
const WIDEST_GAP: usize = 10;

pub(super) fn stringify(
    value: &JsValue,
    replacer: &JsValue,
    space: &JsValue,
    context: &mut Context,
) -> JsResult<JsValue> {
    let Some(known) = context.get_data::<Rc<Known>>().cloned() else {
        return Err(JsNativeError::error()
            .with_message("the session is not open")
            .into());
    };
    let function = replacer.as_callable();
    let names = match replacer.as_object() {
        Some(list) if function.is_none() && known.json.is_array(&list, context)? => {
            Some(names(&list, context)?)
        }
        _ => None,
    };
    let writer = Writer {
        function,
        names,
        gap: gap(space, context)?,
        out: Builder::new(),
        levels: Vec::new(),
        open: HashSet::new(),
        watch: Watch::of(context),
        known: &known,
        context,
    };
    writer.write(value.clone())
}

/// The names that an array of them lets through.
fn names(list: &JsObject, context: &mut Context) -> JsResult<Rc<[PropertyKey]>> {
    let length = list
        .get(js_string!("length"), context)?
        .to_length(context)?;
    let mut names: Vec<PropertyKey> = Vec::new();
    let mut known = HashSet::new();
    let mut watch = Watch::of(context);
    for index in 0..length {
        watch.turn()?;
        let item = list.get(index, context)?;
        let is_boxed = item
            .as_object()
            .is_some_and(|object| object.is::<JsString>() || object.is::<f64>());
        if item.is_string() || item.is_number() || is_boxed {
            let name = PropertyKey::from(item.to_string(context)?);
            if known.insert(name.clone()) {
                names.push(name);
            }
        }
    }
    Ok(names.into())
}

/// What a level is indented by.
fn gap(space: &JsValue, context: &mut Context) -> JsResult<JsString> {
    let space = match space.as_object() {
        Some(boxed) if boxed.is::<f64>() => space.to_number(context)?.into(),
        Some(boxed) if boxed.is::<JsString>() => space.to_string(context)?.into(),
        _ => space.clone(),
    };
    if let Some(text) = space.as_string() {
        return Ok(text.slice(0, WIDEST_GAP));
    }
    if !space.is_number() {
        return Ok(js_string!());
    }
    let width = match space.to_integer_or_infinity(context)? {
        IntegerOrInfinity::Integer(width) => usize::try_from(width).unwrap_or(0).min(WIDEST_GAP),
        IntegerOrInfinity::PositiveInfinity => WIDEST_GAP,
        IntegerOrInfinity::NegativeInfinity => 0,
    };
    Ok(JsString::from(" ".repeat(width)))
}

struct Writer<'c> {
    function: Option<JsObject>,
    names: Option<Rc<[PropertyKey]>>,
    gap: JsString,
    out: Builder,
    levels: Vec<Level>,
    /// The objects of the levels.
    open: HashSet<JsObject>,
    watch: Watch,
    known: &'c Known,
    context: &'c mut Context,
}

/// An object whose members are being written.
pub(super) struct Level {
    pub(super) object: JsObject,
    members: Members,
    next: usize,
    is_empty: bool,
}

impl Level {
    pub(super) fn is_array(&self) -> bool {
        matches!(self.members, Members::Elements(_))
    }

    /// The member that is being written.
    pub(super) fn current(&self) -> Option<PropertyKey> {
        self.members.key(self.next.wrapping_sub(1))
    }
}

impl Writer<'_> {
    fn write(mut self, value: JsValue) -> JsResult<JsValue> {
        let holder = match self.function {
            Some(_) => {
                let holder = JsObject::with_object_proto(self.context.intrinsics());
                holder.create_data_property_or_throw(js_string!(), value.clone(), self.context)?;
                Some(holder)
            }
            None => None,
        };
        let value = self.prepare(value, &PropertyKey::from(js_string!()), holder.as_ref())?;
        if is_left_out(&value) {
            return Ok(JsValue::undefined());
        }
        self.begin(value)?;
        while let Some(level) = self.levels.last_mut() {
            self.watch.turn()?;
            let Some(key) = level.members.key(level.next) else {
                self.end()?;
                continue;
            };
            level.next += 1;
            let (object, is_array) = (level.object.clone(), level.is_array());
            let value = object.get(key.clone(), self.context)?;
            let value = self.prepare(value, &key, Some(&object))?;
            let is_left_out = is_left_out(&value);
            if is_left_out && !is_array {
                continue;
            }
            self.separate();
            if !is_array {
                self.quote_key(&key);
                self.out.ascii(if self.gap.is_empty() { ":" } else { ": " });
            }
            if is_left_out {
                self.out.ascii("null");
            } else {
                self.begin(value)?;
            }
        }
        self.out.check_length()?;
        Ok(self.out.build().into())
    }

    /// What is written in place of a value: what its `toJSON` and the replacer make of it, out of its box.
    fn prepare(
        &mut self,
        mut value: JsValue,
        key: &PropertyKey,
        holder: Option<&JsObject>,
    ) -> JsResult<JsValue> {
        let object = if value.is_bigint() {
            Some(value.to_object(self.context)?)
        } else {
            value.as_object()
        };
        if let Some(object) = object {
            let convert = object.get(js_string!("toJSON"), self.context)?;
            if let Some(convert) = convert.as_callable() {
                value = convert.call(&value, &[name_of(key).into()], self.context)?;
            }
        }
        if let (Some(function), Some(holder)) = (&self.function, holder) {
            let arguments = [name_of(key).into(), value];
            value = function.call(&holder.clone().into(), &arguments, self.context)?;
        }
        let Some(object) = value.as_object() else {
            return Ok(value);
        };
        if object.is_ordinary() || object.is_array() {
            Ok(value)
        } else if object.is::<f64>() {
            Ok(value.to_number(self.context)?.into())
        } else if object.is::<JsString>() {
            Ok(value.to_string(self.context)?.into())
        } else if let Some(boolean) = object.downcast_ref::<bool>() {
            Ok((*boolean).into())
        } else if let Some(number) = object.downcast_ref::<JsBigInt>() {
            Ok(number.clone().into())
        } else {
            Ok(value)
        }
    }

    /// Writes a value, or its opening bracket.
    fn begin(&mut self, value: JsValue) -> JsResult<()> {
        match value.variant() {
            JsVariant::Null => self.out.ascii("null"),
            JsVariant::Boolean(true) => self.out.ascii("true"),
            JsVariant::Boolean(false) => self.out.ascii("false"),
            JsVariant::String(text) => self.quote(text.as_str()),
            JsVariant::Integer32(number) => {
                self.out.ascii(itoa::Buffer::new().format(number));
            }
            JsVariant::Float64(number) if number.is_finite() => {
                self.out.ascii(ryu_js::Buffer::new().format_finite(number));
            }
            JsVariant::Float64(_) => self.out.ascii("null"),
            JsVariant::BigInt(_) => {
                return Err(JsNativeError::typ()
                    .with_message("Do not know how to serialize a BigInt")
                    .into());
            }
            JsVariant::Object(object) => return self.open(object.clone()),
            JsVariant::Undefined | JsVariant::Symbol(_) => {}
        }
        Ok(())
    }

    fn open(&mut self, object: JsObject) -> JsResult<()> {
        if self.known.json.is_raw(&object, self.context)? {
            let text = object.get(js_string!("rawJSON"), self.context)?;
            if let Some(text) = text.as_string() {
                self.out.append(text.as_str());
            }
            return Ok(());
        }
        if self.levels.len() == MAX_DEPTH {
            return Err(JsNativeError::range()
                .with_message("Maximum call stack size exceeded")
                .into());
        }
        if !self.open.insert(object.clone()) {
            return Err(circle::error(&self.levels, &object));
        }
        self.out.check_length()?;
        let names = self.names.as_ref();
        let members = Members::of(&object, names, &self.known.json, self.context)?;
        self.out.ascii(match members {
            Members::Elements(_) => "[",
            Members::Properties(_) => "{",
        });
        self.levels.push(Level {
            object,
            members,
            next: 0,
            is_empty: true,
        });
        Ok(())
    }

    /// Writes the closing bracket of the innermost object.
    fn end(&mut self) -> JsResult<()> {
        let Some(level) = self.levels.pop() else {
            return Ok(());
        };
        if !level.is_empty {
            self.indent();
        }
        self.out.ascii(if level.is_array() { "]" } else { "}" });
        self.open.remove(&level.object);
        self.out.check_length()
    }

    /// Writes what is between two members.
    fn separate(&mut self) {
        if let Some(level) = self.levels.last_mut()
            && !std::mem::replace(&mut level.is_empty, false)
        {
            self.out.ascii(",");
        }
        self.indent();
    }

    fn indent(&mut self) {
        if self.gap.is_empty() {
            return;
        }
        self.out.ascii("\n");
        for _ in 0..self.levels.len() {
            self.out.append(self.gap.as_str());
        }
    }

    fn quote_key(&mut self, key: &PropertyKey) {
        match key {
            PropertyKey::String(name) => self.quote(name.as_str()),
            key => self.quote(name_of(key).as_str()),
        }
    }

    fn quote(&mut self, text: JsStr<'_>) {
        self.out.ascii("\"");
        match text.variant() {
            JsStrVariant::Latin1(text) => {
                let mut start = 0;
                for (place, byte) in text.iter().enumerate() {
                    if let Some(escape) = escape(u16::from(*byte)) {
                        self.out.latin1(&text[start..place]);
                        self.out.ascii(&escape);
                        start = place + 1;
                    }
                }
                self.out.latin1(&text[start..]);
            }
            JsStrVariant::Utf16(text) => {
                let mut start = 0;
                let mut place = 0;
                while let Some(unit) = text.get(place) {
                    let is_pair =
                        is_high(*unit) && text.get(place + 1).is_some_and(|low| is_low(*low));
                    if is_pair {
                        place += 2;
                        continue;
                    }
                    if let Some(escape) = escape(*unit) {
                        self.out.utf16(&text[start..place]);
                        self.out.ascii(&escape);
                        start = place + 1;
                    }
                    place += 1;
                }
                self.out.utf16(&text[start..]);
            }
        }
        self.out.ascii("\"");
    }
}

/// What JSON has no word for.
fn is_left_out(value: &JsValue) -> bool {
    value.is_undefined() || value.is_symbol() || value.is_callable()
}

/// How a unit is written that cannot stand for itself; a surrogate that gets here has no partner.
fn escape(unit: u16) -> Option<String> {
    let short = match u8::try_from(unit) {
        Ok(b'"') => "\\\"",
        Ok(b'\\') => "\\\\",
        Ok(0x08) => "\\b",
        Ok(0x0c) => "\\f",
        Ok(b'\n') => "\\n",
        Ok(b'\r') => "\\r",
        Ok(b'\t') => "\\t",
        _ if unit < 0x20 || is_high(unit) || is_low(unit) => return Some(format!("\\u{unit:04x}")),
        _ => return None,
    };
    Some(short.to_owned())
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}
