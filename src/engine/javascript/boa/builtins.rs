//! Built-ins of boa's that are replaced before any cell runs: those that recurse natively as deep as the data does, where
//! nothing of boa's counts (a nested array as a string overflows any stack, and with it the process).

use std::cell::Cell;
use std::rc::Rc;

use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::property::{PropertyDescriptor, PropertyKey};
use boa_engine::{Context, JsNativeError, JsResult, JsString, JsValue, NativeFunction, Source};

use super::realm::Known;
use crate::engine::EngineError;

/// How deep arrays may nest where a built-in goes through them recursively.
const MAX_NESTING: u32 = 1_000;

/// Replaces them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    for name in ["join", "toString", "toLocaleString"] {
        guard(context, name)?;
    }
    Ok(())
}

/// Counts how deep calls of a method of arrays nest, and throws before the stack is full.
fn guard(context: &mut Context, name: &'static str) -> Result<(), EngineError> {
    let lacks = || EngineError(format!("boa lacks `Array.prototype.{name}`"));
    let prototype = context.intrinsics().constructors().array().prototype();
    let key: PropertyKey = JsString::from(name).into();
    let descriptor = prototype
        .borrow()
        .properties()
        .get(&key)
        .ok_or_else(lacks)?;
    let original = descriptor
        .value()
        .and_then(JsValue::as_object)
        .ok_or_else(lacks)?;
    let length = if name == "join" { 1 } else { 0 };
    let guarded = NativeFunction::from_copy_closure_with_captures(
        |this, arguments, original: &JsObject, context| nested(this, arguments, original, context),
        original,
    );
    let function = FunctionObjectBuilder::new(context.realm(), guarded)
        .name(JsString::from(name))
        .length(length)
        .build();
    let property = PropertyDescriptor::builder()
        .value(function)
        .writable(true)
        .enumerable(false)
        .configurable(true);
    prototype.insert_property(key, property);
    Ok(())
}

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

/// How deep guarded built-ins are nested at the moment.
pub(super) type Nesting = Cell<u32>;

/// Evaluates an expression that yields a function.
pub(super) fn function(context: &mut Context, code: &str) -> Result<JsObject, EngineError> {
    let value = context.eval(Source::from_bytes(code)).ok();
    value
        .and_then(|value| value.as_object())
        .ok_or_else(|| EngineError(format!("boa lacks `{code}`")))
}
