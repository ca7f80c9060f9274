//! How objects are shown: the functions of `display.py` beside this file, and what they need of the engine.
//!
//! What they ask of an object is code of the program's. All of it runs inside the cell's deadline, and the forms that an
//! object can do without run within a share of what is left of it.

mod notices;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString, PyTuple, PyType};
use serde_json::{Map, Value};

use super::helper::Lazy;
use super::streams::{self, InputRequested};
use super::values::{self, Refusal};
use super::{cpython, failure, interrupt};
use crate::engine::{FORM_BYTES, Integers};
use crate::outcome::Display;

/// The form that every object has.
const PLAIN: &str = "text/plain";

/// Longest plain text, in bytes; more is cut out of its middle.
const TEXT_BYTES: usize = 64 << 10;

/// Longest message of an exception that a notice repeats.
const MESSAGE_BYTES: usize = 200;

static MODULE: Lazy = Lazy::new("display", include_str!("display.py"), furnish);

fn furnish(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(pyo3::wrap_pyfunction!(attempt, module)?)?;
    module.add_function(pyo3::wrap_pyfunction!(plain, module)?)?;
    module.add_function(pyo3::wrap_pyfunction!(publish, module)?)?;
    module.add_function(pyo3::wrap_pyfunction!(clear, module)?)?;
    module.add_function(pyo3::wrap_pyfunction!(note, module)?)?;
    module.add_function(pyo3::wrap_pyfunction!(tell, module)?)
}

/// The module, for those who have other things shown through it.
pub(super) fn module<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyModule>> {
    MODULE.get(py)
}

/// Gives all programs the names.
pub(super) fn install(py: Python<'_>) -> PyResult<()> {
    let builtins = py.import("builtins")?;
    builtins.add_function(pyo3::wrap_pyfunction!(display, &builtins)?)?;
    builtins.add_function(pyo3::wrap_pyfunction!(update_display, &builtins)?)?;
    builtins.add_function(pyo3::wrap_pyfunction!(clear_output, &builtins)?)
}

/// Shows a value in all its forms.
///
/// # Errors
///
/// The interrupt's own exception, and that of a `repr` that asks for input; whatever else goes wrong is part of what is
/// shown or noted.
pub(super) fn show(value: &Bound<'_, PyAny>) -> PyResult<()> {
    module(value.py())?.call_method1("show", (value,)).map(drop)
}

/// What must be said about what the cell showed.
pub(super) fn take_notices() -> Option<String> {
    notices::take()
}

/// Shows objects in every form they have, as IPython does.
///
/// `raw=True` takes dicts of contents by MIME type. With `display_id` (a name, or True for a new one) it returns a handle,
/// whose `update` shows something else in the same place.
#[pyfunction]
#[pyo3(
    signature = (*objects, **options),
    text_signature = "(*objects, include=None, exclude=None, metadata=None, display_id=None, raw=False, clear=False)"
)]
fn display<'py>(
    py: Python<'py>,
    objects: &Bound<'py, PyTuple>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    module(py)?.getattr("display")?.call(objects, options)
}

/// Shows an object in the place of what was shown under this `display_id`.
#[pyfunction]
#[pyo3(
    signature = (*objects, **options),
    text_signature = "(object, *, display_id, **options)"
)]
fn update_display<'py>(
    py: Python<'py>,
    objects: &Bound<'py, PyTuple>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    module(py)?
        .getattr("update_display")?
        .call(objects, options)
}

/// Takes back what the cell has printed and shown so far: now, or with `wait` once it prints or shows something else.
#[pyfunction]
#[pyo3(signature = (wait=false))]
fn clear_output(py: Python<'_>, wait: bool) {
    streams::clear(py, wait);
}

#[pyfunction]
fn clear(py: Python<'_>, wait: bool) {
    streams::clear(py, wait);
}

/// Calls a function of the program's within its share of the cell's time. Gives what it gave, or why it gave nothing.
#[pyfunction]
#[pyo3(signature = (what, function, *arguments, **keywords))]
fn attempt<'py>(
    py: Python<'py>,
    what: &str,
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Option<Bound<'py, PyAny>>, Option<String>)> {
    let content = interrupt::within_share(py, || match function.call(arguments, keywords) {
        Ok(content) => Ok(Ok(content)),
        Err(error) if is_final(py, &error) => Err(error),
        Err(error) => Ok(Err(told(&error, py))),
    })?;
    Ok(match content {
        Some(Ok(content)) => (Some(content), None),
        Some(Err(raised)) => (None, Some(format!("{what} raised {raised}"))),
        None => (None, Some(format!("{what} took too long and was given up"))),
    })
}

fn is_final(py: Python<'_>, error: &PyErr) -> bool {
    interrupt::is_interrupt(py, error) || error.is_instance_of::<InputRequested>(py)
}

/// The class and the first line of the message of an exception.
fn told(error: &PyErr, py: Python<'_>) -> String {
    let value = error.value(py);
    let class = cpython::type_name(value.as_any());
    let message = match value.str() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => return class,
    };
    let line = message.lines().next().unwrap_or_default();
    let line = &line[..line.floor_char_boundary(MESSAGE_BYTES)];
    match line.is_empty() {
        true => class,
        false => format!("{class}: {line}"),
    }
}

/// A value's `repr`.
#[pyfunction]
fn plain(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match interrupt::passing_on(value.py(), || value.repr()) {
        Ok(text) => Ok(failure::cut(
            text.to_string_lossy().into_owned(),
            TEXT_BYTES,
        )),
        Err(error) if is_final(value.py(), &error) => Err(error),
        Err(error) => {
            let raised = cpython::type_name(error.value(value.py()).as_any());
            let text = format!(
                "<{} object, whose `__repr__` raised {raised}>",
                cpython::type_name(value)
            );
            Ok(failure::cut(text, TEXT_BYTES))
        }
    }
}

/// Shows contents by MIME type, in the place of those with the same name where it `updates` them. What cannot be shown of
/// them is told.
///
/// Those of an object are shown with its class and its `text`, which is there unless they have one of their own, or it says
/// nothing that they do not say better.
#[pyfunction]
#[pyo3(signature = (data, metadata, id, updates, class=None, text=None))]
fn publish(
    py: Python<'_>,
    data: &Bound<'_, PyDict>,
    metadata: Option<&Bound<'_, PyAny>>,
    id: Option<String>,
    updates: bool,
    class: Option<&Bound<'_, PyType>>,
    text: Option<String>,
) -> PyResult<()> {
    let mut forms = Map::new();
    if let Some(text) = text {
        forms.insert(PLAIN.to_owned(), Value::String(text));
    }
    for (mime, content) in data.iter() {
        let Some(mime) = mime_type(&mime) else {
            tell(py, class, &format!("{} is no MIME type", inspected(&mime)));
            continue;
        };
        match form(&mime, &content) {
            Ok(form) => drop(forms.insert(mime, form)),
            Err(Left::Final(error)) => return Err(error),
            Err(Left::Told(why)) => tell(py, class, &format!("its `{mime}` is left out: {why}")),
        }
    }
    let plain = forms.get(PLAIN).and_then(Value::as_str);
    if class.is_some() && forms.len() > 1 && plain.is_some_and(says_nothing) {
        forms.remove(PLAIN);
    }
    let metadata = match metadata.map(json).transpose() {
        Ok(Some(Value::Object(metadata))) => Some(metadata).filter(|metadata| !metadata.is_empty()),
        Ok(None) => None,
        Ok(Some(_)) => {
            tell(py, class, "its metadata is left out: it is no dict");
            None
        }
        Err(Left::Final(error)) => return Err(error),
        Err(Left::Told(why)) => {
            tell(py, class, &format!("its metadata is left out: {why}"));
            None
        }
    };
    // Nothing at all holds a place that is filled later.
    if !forms.is_empty() || (class.is_none() && data.is_empty() && id.is_some()) {
        let entry = Display {
            data: forms,
            metadata,
            id,
            updates,
            ..Display::text("")
        };
        streams::show(py, entry);
    }
    Ok(())
}

/// A key of a bundle that is `type/subtype`, with or without parameters.
fn mime_type(key: &Bound<'_, PyAny>) -> Option<String> {
    let name: String = key.extract().ok()?;
    let (essence, parameters) = name.split_once(';').unwrap_or((&name, ""));
    let (kind, subtype) = essence.trim_end_matches(' ').split_once('/')?;
    let are_names = [kind, subtype]
        .iter()
        .all(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
    let is_printable = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    (are_names && parameters.bytes().all(is_printable)).then_some(name)
}

/// Whether a plain text is that of an object which has none: `<module.Class object at 0x...>`, or less.
fn says_nothing(text: &str) -> bool {
    let Some((name, rest)) = text
        .strip_prefix('<')
        .and_then(|text| text.split_once(" object"))
    else {
        return false;
    };
    let is_address = |place: &str| place.starts_with("0x") && !place.contains(' ');
    !name.contains(' ') && (rest == ">" || rest.strip_prefix(" at ").is_some_and(is_address))
}

/// Why something is not shown.
enum Left {
    Final(PyErr),
    Told(String),
}

/// A content as it stands in an outcome.
fn form(mime: &str, content: &Bound<'_, PyAny>) -> Result<Value, Left> {
    if let Ok(text) = content.cast::<PyString>() {
        let text = text.to_string_lossy();
        return match text.len() <= FORM_BYTES {
            true => Ok(Value::String(text.into_owned())),
            false => Err(Left::Told(format!(
                "it has {} bytes, and {FORM_BYTES} are the most",
                text.len()
            ))),
        };
    }
    let is_text = ["text/", "image/", "audio/", "video/"]
        .iter()
        .any(|kind| mime.starts_with(kind));
    if is_text {
        let class = cpython::type_name(content);
        return Err(Left::Told(format!("it is of the class {class}, no text")));
    }
    json(content)
}

fn json(content: &Bound<'_, PyAny>) -> Result<Value, Left> {
    let text = match values::to_json(content, FORM_BYTES, Integers::Exact) {
        Ok(text) => text,
        Err(Refusal::Interrupted(error)) => return Err(Left::Final(error)),
        Err(refusal) => return Err(Left::Told(refusal.message())),
    };
    serde_json::from_str(&text).map_err(|error| Left::Told(error.to_string()))
}

fn inspected(value: &Bound<'_, PyAny>) -> String {
    super::inspect::preview(value)
}

/// Says something about what the running cell showed.
#[pyfunction]
fn note(py: Python<'_>, text: &str) {
    notices::add(py, None, text);
}

/// Says what is not shown of an object of that class; without one, of a bundle.
#[pyfunction]
fn tell(py: Python<'_>, class: Option<&Bound<'_, PyType>>, problem: &str) {
    let name = class.map_or_else(|| "a bundle".to_owned(), cpython::class_name);
    notices::add(py, Some(&name), problem);
}
