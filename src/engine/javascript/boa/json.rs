//! `JSON.parse` and `JSON.stringify`, natively, without recursion and in linear time.
//!
//! boa 0.22 parses JSON as a script that it compiles and runs, refuses what nests deeper than 128 levels or holds half a
//! surrogate pair, and overflows its stack, and with it the process, on what it is given to stringify. The messages of
//! errors are those of V8, which say where the text is broken.

mod circle;
mod members;
mod parse;
mod revive;
mod stringify;

use boa_engine::object::JsObject;
use boa_engine::property::PropertyKey;
use boa_engine::{Context, JsArgs, JsResult, JsString, JsValue, js_string};

use super::builtins::{guard, object_at};
use super::text::Watch;
use crate::engine::EngineError;

/// Replaces them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    let json = context.intrinsics().objects().json();
    guard(context, &json, "parse", 2, parse)?;
    guard(context, &json, "stringify", 3, stringify)
}

/// Built-ins that JSON stands on, as they were before any cell ran.
pub(super) struct Operations {
    is_array: JsObject,
    is_raw: JsObject,
    keys: JsObject,
    delete: JsObject,
}

impl Operations {
    pub(super) fn of(context: &mut Context) -> Result<Self, EngineError> {
        Ok(Self {
            is_array: object_at(context, "Array.isArray")?,
            is_raw: object_at(context, "JSON.isRawJSON")?,
            keys: object_at(context, "Object.keys")?,
            delete: object_at(context, "Reflect.deleteProperty")?,
        })
    }

    /// Whether it is an array, or a proxy of one.
    fn is_array(&self, object: &JsObject, context: &mut Context) -> JsResult<bool> {
        if object.is_array() || object.is_ordinary() {
            return Ok(object.is_array());
        }
        let arguments = [object.clone().into()];
        let result = self
            .is_array
            .call(&JsValue::undefined(), &arguments, context)?;
        Ok(result.to_boolean())
    }

    /// Whether `JSON.rawJSON` made it.
    fn is_raw(&self, object: &JsObject, context: &mut Context) -> JsResult<bool> {
        if object.is_ordinary() || object.is_array() {
            return Ok(false);
        }
        let arguments = [object.clone().into()];
        let result = self
            .is_raw
            .call(&JsValue::undefined(), &arguments, context)?;
        Ok(result.to_boolean())
    }

    /// The names of the enumerable properties of its own.
    fn keys(&self, object: &JsObject, context: &mut Context) -> JsResult<Vec<PropertyKey>> {
        if object.is_ordinary() {
            let mut keys = object.own_property_keys(context)?;
            let object = object.borrow();
            keys.retain(|key| !matches!(key, PropertyKey::Symbol(_)));
            keys.retain(|key| {
                let property = object.properties().get(key);
                property.is_some_and(|property| property.enumerable().unwrap_or(false))
            });
            return Ok(keys);
        }
        let arguments = [object.clone().into()];
        let keys = self.keys.call(&JsValue::undefined(), &arguments, context)?;
        let Some(keys) = keys.as_object() else {
            return Ok(Vec::new());
        };
        let count = keys
            .get(js_string!("length"), context)?
            .to_length(context)?;
        (0..count)
            .map(|index| keys.get(index, context)?.to_property_key(context))
            .collect()
    }

    fn delete(&self, object: &JsObject, key: JsValue, context: &mut Context) -> JsResult<()> {
        let arguments = [object.clone().into(), key];
        self.delete
            .call(&JsValue::undefined(), &arguments, context)?;
        Ok(())
    }
}

fn parse(
    _: &JsValue,
    arguments: &[JsValue],
    _: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let text = arguments.get_or_undefined(0).to_string(context)?;
    let reviver = arguments.get_or_undefined(1).as_callable();
    let (value, origin) = parse::parse(&text, reviver.is_some(), context)?;
    match reviver {
        Some(reviver) => revive::revive(value, origin.as_ref(), &reviver, context),
        None => Ok(value),
    }
}

fn stringify(
    _: &JsValue,
    arguments: &[JsValue],
    _: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    stringify::stringify(
        arguments.get_or_undefined(0),
        arguments.get_or_undefined(1),
        arguments.get_or_undefined(2),
        context,
    )
}

/// The name of a property as the program sees it.
fn name_of(key: &PropertyKey) -> JsString {
    match key {
        PropertyKey::String(name) => name.clone(),
        PropertyKey::Index(index) => JsString::from(index.get().to_string()),
        PropertyKey::Symbol(_) => JsString::default(),
    }
}
