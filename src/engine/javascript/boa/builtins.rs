//! Built-ins of boa's that are replaced before any cell runs, because they could end the process or hang the thread where
//! other engines throw: those that recurse natively as deep as the data does, and those that allocate whatever length they
//! are told.
//!
//! Each replacement looks at its arguments and calls the original.

use std::cell::Cell;
use std::mem;
use std::rc::Rc;

use boa_engine::error::RuntimeLimitError;
use boa_engine::native_function::NativeFunctionObject;
use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::property::{PropertyDescriptor, PropertyKey};
use boa_engine::string::{JsStr, JsStrVariant};
use boa_engine::{Context, JsNativeError, JsResult, JsString, JsValue, NativeFunction};

use super::known::Known;
use super::{dates, json, promises, regexps, strings, text};
use crate::engine::EngineError;
use crate::engine::javascript::memory;

/// How deep arrays may nest where a built-in goes through them recursively.
const MAX_NESTING: u32 = 1_000;
/// The longest string, in UTF-16 units.
const MAX_STRING: f64 = text::MAX_STRING as f64;
/// What an element of an array takes at least, in bytes.
const ELEMENT_BYTES: f64 = 8.0;

/// Replaces them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    let constructors = context.intrinsics().constructors();
    let (array, string) = (
        constructors.array().prototype(),
        constructors.string().prototype(),
    );
    let array_constructor = constructors.array().constructor();
    guard(context, &array, "join", 1, join)?;
    guard(context, &array, "toString", 0, nested)?;
    guard(context, &array, "toLocaleString", 0, nested)?;
    for (holder, name) in [
        ("Error.prototype", "toString"),
        ("Object.prototype", "toLocaleString"),
        ("Date.prototype", "toJSON"),
        ("RegExp.prototype", "toString"),
    ] {
        let holder = object_at(context, holder)?;
        let length = usize::from(name == "toJSON");
        guard(context, &holder, name, length, nested)?;
    }
    guard(context, &array, "flat", 0, flat)?;
    guard(context, &array, "fill", 1, fill)?;
    guard(context, &array_constructor, "from", 1, from)?;
    guard(context, &string, "repeat", 1, repeat)?;
    guard(context, &string, "padStart", 1, pad)?;
    guard(context, &string, "padEnd", 1, pad)?;
    strings::replace(context)?;
    regexps::replace(context)?;
    promises::replace(context)?;
    dates::replace(context)?;
    json::replace(context)
}

/// A replacement: `this`, the arguments, the original.
pub(super) type Guarded = fn(&JsValue, &[JsValue], &JsObject, &mut Context) -> JsResult<JsValue>;

/// Replaces the method of that name.
pub(super) fn guard(
    context: &mut Context,
    holder: &JsObject,
    name: &'static str,
    length: usize,
    guarded: Guarded,
) -> Result<(), EngineError> {
    guard_at(
        context,
        holder,
        JsString::from(name).into(),
        name,
        length,
        guarded,
    )
}

/// Replaces the method under that key.
pub(super) fn guard_at(
    context: &mut Context,
    holder: &JsObject,
    key: PropertyKey,
    name: &'static str,
    length: usize,
    guarded: Guarded,
) -> Result<(), EngineError> {
    let lacks = || EngineError(format!("boa lacks the built-in `{name}`"));
    let descriptor = holder.borrow().properties().get(&key).ok_or_else(lacks)?;
    let original = descriptor
        .value()
        .and_then(JsValue::as_object)
        .ok_or_else(lacks)?;
    let native = NativeFunction::from_copy_closure_with_captures(
        move |this, arguments, original: &JsObject, context| {
            memory::collect_if_due(boa_gc::force_collect);
            guarded(this, arguments, original, context)
        },
        original,
    );
    let function = FunctionObjectBuilder::new(context.realm(), native)
        .name(JsString::from(name))
        .length(length)
        .build();
    let property = PropertyDescriptor::builder()
        .value(function)
        .writable(true)
        .enumerable(false)
        .configurable(true);
    holder.insert_property(key, property);
    Ok(())
}

/// Makes a native function do something else, where it must stay the object that boa itself knows and compares with. For
/// a constructor `this` is the class that is to be made one of.
pub(super) fn within(
    context: &mut Context,
    function: &JsObject,
    name: &'static str,
    is_constructor: bool,
    guarded: Guarded,
) -> Result<(), EngineError> {
    let blank = NativeFunction::from_fn_ptr(|_, _, _| Ok(JsValue::undefined()));
    let original: JsObject = FunctionObjectBuilder::new(context.realm(), blank)
        .constructor(is_constructor)
        .build()
        .into();
    let native = NativeFunction::from_copy_closure_with_captures(
        move |this, arguments, original: &JsObject, context| {
            guarded(this, arguments, original, context)
        },
        original.clone(),
    );
    let replacement: JsObject = FunctionObjectBuilder::new(context.realm(), native)
        .name(JsString::from(name))
        .constructor(is_constructor)
        .build()
        .into();
    exchange(function, &original)
        .and_then(|()| exchange(function, &replacement))
        .ok_or_else(|| EngineError(format!("boa lacks the native function `{name}`")))
}

/// Exchanges what two native functions do.
fn exchange(one: &JsObject, other: &JsObject) -> Option<()> {
    let mut one = one.downcast_mut::<NativeFunctionObject>()?;
    let mut other = other.downcast_mut::<NativeFunctionObject>()?;
    mem::swap(&mut *one, &mut *other);
    Some(())
}

/// Counts how deep calls nest, and throws before the stack is full: boa does not count native calls of native functions.
fn nested(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let Some(known) = context.get_data::<Rc<Known>>().cloned() else {
        return original.call(this, arguments, context);
    };
    let depth = &known.array_nesting;
    if depth.get() >= MAX_NESTING {
        return Err(JsNativeError::range()
            .with_message("Maximum call stack size exceeded")
            .into());
    }
    depth.set(depth.get() + 1);
    let result = original.call(this, arguments, context);
    depth.set(depth.get() - 1);
    result
}

fn join(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let separator = match arguments.first() {
        None => 1.0,
        Some(separator) if separator.is_undefined() => 1.0,
        Some(separator) => separator.as_string().map_or(0.0, |text| text.len() as f64),
    };
    check_string(array_length(this) * separator)?;
    nested(this, arguments, original, context)
}

fn flat(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    match arguments.first().and_then(JsValue::as_number) {
        // Deeper than any data that is not there to overflow a stack.
        Some(depth) if depth > f64::from(MAX_NESTING) => {
            original.call(this, &[JsValue::from(MAX_NESTING)], context)
        }
        _ => original.call(this, arguments, context),
    }
}

fn fill(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    check_array(array_length(this))?;
    original.call(this, arguments, context)
}

fn from(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    if let Some(items) = arguments.first()
        && items.as_object().is_some_and(|items| items.is_ordinary())
    {
        check_array(array_length(items))?;
    }
    original.call(this, arguments, context)
}

fn repeat(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let times = arguments
        .first()
        .and_then(JsValue::as_number)
        .unwrap_or(0.0);
    let Some(text) = this.as_string() else {
        return original.call(this, arguments, context);
    };
    check_string(times * text.len() as f64)?;
    if text.is_empty() || !(1.0..=MAX_STRING).contains(&times) {
        return original.call(this, arguments, context);
    }
    // boa collects as many references to the text first, which take sixteen bytes each.
    let repeated = match text.as_str().variant() {
        JsStrVariant::Latin1(bytes) => JsString::from(JsStr::latin1(&bytes.repeat(times as usize))),
        JsStrVariant::Utf16(units) => JsString::from(JsStr::utf16(&units.repeat(times as usize))),
    };
    Ok(repeated.into())
}

fn pad(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    check_string(
        arguments
            .first()
            .and_then(JsValue::as_number)
            .unwrap_or(0.0),
    )?;
    original.call(this, arguments, context)
}

/// Throws where a string would be longer than any may be, and ends the cell where it does not fit its memory budget.
fn check_string(units: f64) -> JsResult<()> {
    if units > MAX_STRING {
        return Err(JsNativeError::range()
            .with_message("Invalid string length")
            .into());
    }
    check_memory(units)
}

/// Throws where an array would be longer than any may be, and ends the cell where it does not fit its memory budget.
fn check_array(length: f64) -> JsResult<()> {
    if length > f64::from(u32::MAX) {
        return Err(JsNativeError::range()
            .with_message("Invalid array length")
            .into());
    }
    check_memory(length * ELEMENT_BYTES)
}

fn check_memory(bytes: f64) -> JsResult<()> {
    if bytes > memory::left() as f64 {
        boa_gc::force_collect();
    }
    if bytes > memory::left() as f64 {
        memory::trip();
        return Err(RuntimeLimitError::LoopIteration.into());
    }
    Ok(())
}

/// The length that an array or an object like one has in a property of its own, read without running code.
fn array_length(array: &JsValue) -> f64 {
    let key: PropertyKey = JsString::from("length").into();
    let length = array
        .as_object()
        .and_then(|object| object.borrow().properties().get(&key));
    length
        .and_then(|length| length.value().and_then(JsValue::as_number))
        .unwrap_or(0.0)
}

/// How deep guarded built-ins are nested at the moment.
pub(super) type Nesting = Cell<u32>;

/// The object at a path from the global object on, as in `Date.prototype.getTime`, in a fresh realm.
pub(super) fn object_at(context: &mut Context, path: &str) -> Result<JsObject, EngineError> {
    let mut object = context.global_object();
    for name in path.split('.') {
        let value = object.get(JsString::from(name), context).ok();
        object = value
            .and_then(|value| value.as_object())
            .ok_or_else(|| EngineError(format!("boa lacks `{path}`")))?;
    }
    Ok(object)
}

/// The getter of a property.
pub(super) fn getter(holder: &JsObject, name: &str) -> Result<JsObject, EngineError> {
    let key: PropertyKey = JsString::from(name).into();
    let property = holder.borrow().properties().get(&key);
    property
        .and_then(|property| property.get().and_then(JsValue::as_object))
        .ok_or_else(|| EngineError(format!("boa lacks the getter of `{name}`")))
}
