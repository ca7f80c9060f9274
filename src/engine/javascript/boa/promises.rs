//! Built-ins that make a rejected promise of an error, each above a frame of ours.
//!
//! An error that passes the outermost frame of a call out of a native function on its way up leaves that frame's values, and
//! those of the frames that it ended before, on boa 0.22's stack (`Context::handle_throw` in its `vm/mod.rs` cuts the stack
//! for the frame that throws alone). Where the error goes on, the frame that catches it takes them along when it returns. A
//! native function that keeps the error to itself would return with the stack too long, and the call whose argument its
//! promise is would take what lies there for the function to be called. A frame that returns cuts the stack.

use std::mem;
use std::rc::Rc;

use boa_engine::native_function::NativeFunctionObject;
use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::{Context, JsResult, JsValue, NativeFunction};

use super::builtins::object_at;
use super::known::Known;
use super::shelter::Work;
use crate::engine::EngineError;

/// Puts a frame below each of them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    shelter(context, "Promise", true, construct)?;
    for name in ["all", "allSettled", "any", "race", "resolve", "try"] {
        shelter(context, &format!("Promise.{name}"), false, call)?;
    }
    Ok(())
}

/// A replacement: `this` (for a constructor the class to be made one of), the arguments, the original.
type Sheltered = fn(&JsValue, &[JsValue], &JsObject, &mut Context) -> JsResult<JsValue>;

/// Makes the function at `path` do `sheltered`. It stays the same object, which boa itself knows and compares with.
fn shelter(
    context: &mut Context,
    path: &str,
    is_constructor: bool,
    sheltered: Sheltered,
) -> Result<(), EngineError> {
    let lacks = || EngineError(format!("boa lacks the native function `{path}`"));
    let function = object_at(context, path)?;
    let blank = NativeFunction::from_fn_ptr(|_, _, _| Ok(JsValue::undefined()));
    let original: JsObject = FunctionObjectBuilder::new(context.realm(), blank)
        .constructor(is_constructor)
        .build()
        .into();
    let native = NativeFunction::from_copy_closure_with_captures(
        move |this, arguments, original: &JsObject, context| {
            sheltered(this, arguments, original, context)
        },
        original.clone(),
    );
    let name = path.rsplit('.').next().unwrap_or(path);
    let replacement: JsObject = FunctionObjectBuilder::new(context.realm(), native)
        .name(name)
        .constructor(is_constructor)
        .build()
        .into();
    exchange(&function, &original).ok_or_else(lacks)?;
    exchange(&function, &replacement).ok_or_else(lacks)
}

/// Exchanges what two native functions do.
fn exchange(one: &JsObject, other: &JsObject) -> Option<()> {
    let mut one = one.downcast_mut::<NativeFunctionObject>()?;
    let mut other = other.downcast_mut::<NativeFunctionObject>()?;
    mem::swap(&mut *one, &mut *other);
    Some(())
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
