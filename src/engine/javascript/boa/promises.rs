//! Built-ins that make a rejected promise of an error, each above a frame of ours.
//!
//! An error that passes the outermost frame of a call out of a native function on its way up leaves that frame's values, and
//! those of the frames that it ended before, on boa 0.22's stack (`Context::handle_throw` in its `vm/mod.rs` cuts the stack
//! for the frame that throws alone). Where the error goes on, the frame that catches it takes them along when it returns. A
//! native function that keeps the error to itself would return with the stack too long, and the call whose argument its
//! promise is would take what lies there for the function to be called. A frame that returns cuts the stack.

use std::rc::Rc;

use boa_engine::object::JsObject;
use boa_engine::{Context, JsResult, JsValue};

use super::builtins::{object_at, within};
use super::known::Known;
use super::shelter::Work;
use crate::engine::EngineError;

/// Puts a frame below each of them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    let promise = object_at(context, "Promise")?;
    within(context, &promise, "Promise", true, construct)?;
    for name in ["all", "allSettled", "any", "race", "resolve", "try"] {
        let function = object_at(context, &format!("Promise.{name}"))?;
        within(context, &function, name, false, call)?;
    }
    Ok(())
}

fn call(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let Some(known) = context.get_data::<Rc<Known>>().cloned() else {
        return original.call(this, arguments, context);
    };
    let work = Work::Call(original.clone(), this.clone(), arguments.to_vec());
    known.shelter.run(work, context)
}

fn construct(
    target: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let Some(target) = target.as_object() else {
        return original.call(&JsValue::undefined(), arguments, context);
    };
    let Some(known) = context.get_data::<Rc<Known>>().cloned() else {
        let made = original.construct(arguments, Some(&target), context);
        return made.map(JsValue::from);
    };
    let work = Work::Construct(original.clone(), arguments.to_vec(), target);
    known.shelter.run(work, context)
}
