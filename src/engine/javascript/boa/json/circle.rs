//! What is said of an object that contains itself: the way round, as V8 tells it.

use boa_engine::object::JsObject;
use boa_engine::property::PropertyKey;
use boa_engine::{JsError, JsNativeError, JsString, JsValue};

use super::name_of;
use super::stringify::Level;

/// How many steps are told from the start of the circle, the first aside, before the rest is passed over to its last.
const STEPS: usize = 2;
/// How far the chain of prototypes is followed.
const PROTOTYPES: usize = 100;

/// The error about `object`, which one of the levels is already about.
pub(super) fn error(levels: &[Level], object: &JsObject) -> JsError {
    let is_start = |level: &Level| JsObject::equals(&level.object, object);
    let start = levels.iter().position(is_start).unwrap_or(0);
    let circle = &levels[start..];
    let mut message = format!(
        "Converting circular structure to JSON\n    --> starting at object with constructor {}",
        constructor(object)
    );
    let steps: Vec<String> = circle
        .windows(2)
        .map(|pair| {
            format!(
                "\n    |     {} -> object with constructor {}",
                step(&pair[0]),
                constructor(&pair[1].object)
            )
        })
        .collect();
    for (index, step) in steps.iter().enumerate() {
        if index < STEPS || index + 1 == steps.len() {
            message += step;
        } else if index == STEPS {
            message += "\n    |     ...";
        }
    }
    if let Some(last) = circle.last() {
        message += &format!("\n    --- {} closes the circle", step(last));
    }
    JsNativeError::typ().with_message(message).into()
}

fn step(level: &Level) -> String {
    match level.current() {
        Some(key) if level.is_array() => {
            format!("index {}", name_of(&key).to_std_string_lossy())
        }
        Some(key) => format!("property '{}'", name_of(&key).to_std_string_lossy()),
        None => String::new(),
    }
}

/// The name of the constructor an object has by its prototypes, read without running code.
fn constructor(object: &JsObject) -> String {
    let mut holder = Some(object.clone());
    for _ in 0..PROTOTYPES {
        let Some(current) = holder else { break };
        if let Some(constructor) = data(&current, "constructor").and_then(|value| value.as_object())
            && let Some(name) = data(&constructor, "name").and_then(|name| name.as_string())
        {
            return format!("'{}'", name.to_std_string_lossy());
        }
        holder = current.prototype();
    }
    "'Object'".to_owned()
}

fn data(object: &JsObject, name: &str) -> Option<JsValue> {
    let key: PropertyKey = JsString::from(name).into();
    object.borrow().properties().get(&key)?.value().cloned()
}
