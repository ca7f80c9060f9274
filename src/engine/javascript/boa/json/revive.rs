//! `JSON.parse` with a reviver: each value, from the innermost outwards, goes through a function of the program's.

use std::collections::HashMap;
use std::rc::Rc;

use boa_engine::builtins::object::OrdinaryObject;
use boa_engine::object::JsObject;
use boa_engine::property::PropertyKey;
use boa_engine::{Context, JsNativeError, JsResult, JsValue, js_string};

use super::members::Members;
use super::{JsString, Watch, name_of};
use crate::engine::javascript::boa::known::Known;

/// The text that a value was parsed from.
pub(super) enum Origin {
    Primitive { text: JsString, value: JsValue },
    Array(Vec<Origin>),
    Object(HashMap<PropertyKey, Origin>),
}

/// An object whose members are being revived.
struct Level<'o> {
    holder: JsObject,
    key: PropertyKey,
    object: JsObject,
    members: Members,
    next: usize,
    origin: Option<&'o Origin>,
}

pub(super) fn revive(
    value: JsValue,
    origin: Option<&Origin>,
    reviver: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let Some(known) = context.get_data::<Rc<Known>>().cloned() else {
        return Err(JsNativeError::error()
            .with_message("the session is not open")
            .into());
    };
    let root = object(context);
    root.create_data_property_or_throw(js_string!(), value, context)?;
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut member = (root, PropertyKey::from(js_string!()), origin);
    let mut watch = Watch::of(context);
    loop {
        watch.turn()?;
        // Down, to a value without members.
        let (holder, key, origin) = member;
        let value = holder.get(key.clone(), context)?;
        let mut revived = if let Some(object) = value.as_object() {
            levels.push(Level {
                holder,
                key,
                members: Members::of(&object, None, &known.json, context)?,
                object,
                next: 0,
                origin,
            });
            None
        } else {
            Some(call(reviver, &holder, &key, value, origin, context)?)
        };
        // Up, for as long as what was revived was the last member.
        member = loop {
            let Some(level) = levels.last_mut() else {
                return Ok(revived.unwrap_or_default());
            };
            if let Some(value) = revived.take()
                && let Some(key) = level.members.key(level.next)
            {
                level.next += 1;
                if value.is_undefined() {
                    known
                        .json
                        .delete(&level.object, name_of(&key).into(), context)?;
                } else {
                    level.object.create_data_property(key, value, context)?;
                }
            }
            if let Some(key) = level.members.key(level.next) {
                let origin = level
                    .origin
                    .and_then(|origin| origin.member(level.next, &key));
                break (level.object.clone(), key, origin);
            }
            if let Some(level) = levels.pop() {
                let value = level.object.into();
                revived = Some(call(
                    reviver,
                    &level.holder,
                    &level.key,
                    value,
                    None,
                    context,
                )?);
            }
        };
    }
}

impl Origin {
    fn member(&self, index: usize, key: &PropertyKey) -> Option<&Self> {
        match self {
            Self::Primitive { .. } => None,
            Self::Array(origins) => origins.get(index),
            Self::Object(origins) => origins.get(key),
        }
    }
}

fn call(
    reviver: &JsObject,
    holder: &JsObject,
    key: &PropertyKey,
    value: JsValue,
    origin: Option<&Origin>,
    context: &mut Context,
) -> JsResult<JsValue> {
    let about = object(context);
    if let Some(Origin::Primitive {
        text,
        value: parsed,
    }) = origin
        && parsed.strict_equals(&value)
    {
        about.create_data_property_or_throw(js_string!("source"), text.clone(), context)?;
    }
    let arguments = [name_of(key).into(), value, about.into()];
    reviver.call(&holder.clone().into(), &arguments, context)
}

fn object(context: &Context) -> JsObject {
    let prototype = context.intrinsics().constructors().object().prototype();
    JsObject::new(context.root_shape(), prototype, OrdinaryObject).upcast()
}
