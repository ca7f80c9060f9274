//! Dates in the manner of a locale: those that boa 0.22 breaks an invariant of its own over are refused.
//!
//! Its dates reach as far as the language's, the formatter's from the year -9999 to the year 9999 in the time zone of the
//! date.

use std::rc::Rc;

use boa_engine::builtins::date::Date;
use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::property::{PropertyDescriptor, PropertyKey};
use boa_engine::{
    Context, JsArgs, JsNativeError, JsResult, JsString, JsSymbol, JsValue, NativeFunction,
};

use super::builtins::{getter, guard, object_at};
use super::known::Known;
use crate::engine::EngineError;

/// A day in milliseconds: what a time zone may add.
const DAY: f64 = 86_400_000.0;
/// The beginning of the year -9999, and of the year 10000.
const FIRST: f64 = -377_705_116_800_000.0 + DAY;
const END: f64 = 253_402_300_800_000.0 - DAY;

/// Replaces them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    let date = object_at(context, "Date.prototype")?;
    for name in ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"] {
        guard(context, &date, name, 0, to_text)?;
    }
    let prototype = object_at(context, "Intl.DateTimeFormat.prototype")?;
    let original = getter(&prototype, "format")?;
    let made = JsSymbol::new(None).ok_or_else(|| EngineError("boa has no symbol left".into()))?;
    let native = NativeFunction::from_copy_closure_with_captures(
        |this, _, (original, made): &(JsObject, JsSymbol), context| {
            format(this, original, made, context)
        },
        (original, made),
    );
    let getter = FunctionObjectBuilder::new(context.realm(), native)
        .name(JsString::from("get format"))
        .build();
    let property = PropertyDescriptor::builder()
        .get(getter)
        .enumerable(false)
        .configurable(true);
    prototype.insert_property(PropertyKey::from(JsString::from("format")), property);
    Ok(())
}

fn to_text(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let is_date = this.as_object().is_some_and(|object| object.is::<Date>());
    if is_date && let Some(known) = context.get_data::<Rc<Known>>().cloned() {
        let time = known.date_time.call(this, &[], context)?;
        check(time.as_number().unwrap_or(f64::NAN))?;
    }
    original.call(this, arguments, context)
}

/// The function that formats, which a formatter has one of: kept under `made` on the formatter's own.
fn format(
    this: &JsValue,
    original: &JsObject,
    made: &JsSymbol,
    context: &mut Context,
) -> JsResult<JsValue> {
    let own = original.call(this, &[], context)?;
    let Some(own) = own.as_object() else {
        return Ok(own);
    };
    let key = PropertyKey::from(made.clone());
    let known = own.borrow().properties().get(&key);
    if let Some(known) = known.and_then(|property| property.value().cloned()) {
        return Ok(known);
    }
    let native = NativeFunction::from_copy_closure_with_captures(
        |_, arguments, own: &JsObject, context| {
            let date = arguments.get_or_undefined(0);
            if date.is_undefined() {
                return own.call(&JsValue::undefined(), &[], context);
            }
            let time = date.to_number(context)?;
            check(time)?;
            own.call(&JsValue::undefined(), &[time.into()], context)
        },
        own.clone(),
    );
    let guarded = FunctionObjectBuilder::new(context.realm(), native)
        .length(1)
        .build();
    let property = PropertyDescriptor::builder()
        .value(guarded.clone())
        .writable(false)
        .enumerable(false)
        .configurable(false);
    own.insert_property(key, property);
    Ok(guarded.into())
}

fn check(time: f64) -> JsResult<()> {
    if time.is_nan() || (FIRST..END).contains(&time) {
        return Ok(());
    }
    Err(JsNativeError::range()
        .with_message("dates outside the years -9999 to 9999 cannot be written for a locale: use `toISOString`")
        .into())
}
