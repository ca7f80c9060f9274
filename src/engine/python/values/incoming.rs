//! A host's JSON as Python objects: parsed by `serde_json`, built as it is read, in the order that it stands in.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;

use crate::outcome::Json;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// How many keys are remembered, so that a list of dicts shares the strings of its keys.
const KEYS_SHARED: usize = 1_024;

/// The magnitude from which on a float may be an integer that 64 bits did not hold.
const SUSPICIOUS: f64 = 9_223_372_036_854_775_808.0;

/// Builds the Python objects that a JSON text stands for.
///
/// Objects become dicts with their keys in order (the last of equal keys wins, in the place of the first), arrays
/// become lists; a number is an `int` where it has neither fraction nor exponent, else a `float`.
///
/// # Errors
///
/// `ValueError` for a text that is not JSON, is nested deeper than 128 levels, or holds an integer beyond 64 bits,
/// which would otherwise have become a float. `MemoryError` where Python has no memory for it.
pub(in crate::engine::python) fn from_json<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<Bound<'py, PyAny>> {
    build(py, text, false)
}

/// The same for what a host function answers, which may be nested deeper: by 20,000 levels where the stack is the interpreter
/// thread's, as `is_deep` says, else by 500.
pub(in crate::engine::python) fn from_json_within<'py>(
    py: Python<'py>,
    json: &Json,
    is_deep: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let most = if is_deep { 20_000 } else { 500 };
    let levels = json.nesting();
    if levels > most {
        return Err(PyValueError::new_err(format!(
            "it is nested by {levels} levels, and at most {most} are taken"
        )));
    }
    build(py, json.as_str(), true)
}

fn build<'py>(py: Python<'py>, text: &str, is_unbounded: bool) -> PyResult<Bound<'py, PyAny>> {
    let _pause = CollectionPause::start(py);
    let builder = Builder {
        py,
        keys: RefCell::new(HashMap::new()),
        large_float: Cell::new(false),
        raised: Cell::new(None),
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    if is_unbounded {
        deserializer.disable_recursion_limit();
    }
    let built = builder
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    if let Some(raised) = builder.raised.take() {
        return Err(raised);
    }
    let value = built.map_err(|error| PyValueError::new_err(explain(&error)))?;
    if builder.large_float.get()
        && let Some(integer) = find_large_integer(text)
    {
        return Err(PyValueError::new_err(format!(
            "the integer `{}` does not fit in 64 bits; pass it as a string",
            shorten(integer)
        )));
    }
    Ok(value)
}

/// Keeps the cyclic garbage collector still.
///
/// What is being built is no garbage yet, and on a long list of dicts the collector would walk it again and again:
/// without that, such a list takes half the time.
struct CollectionPause {
    was_enabled: bool,
}

impl CollectionPause {
    fn start(_py: Python<'_>) -> Self {
        // SAFETY: the token says that the interpreter is attached; this sets a flag of the interpreter.
        let was_enabled = unsafe { ffi::PyGC_Disable() } != 0;
        Self { was_enabled }
    }
}

impl Drop for CollectionPause {
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: as in `start`, in whose scope this runs.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // serde_json tells its errors apart by their text alone.
    if message.starts_with("recursion limit exceeded") {
        return format!(
            "the JSON text is nested deeper than 128 levels at line {} column {}; pass it flatter, or as a string \
             to `json.loads`",
            error.line(),
            error.column()
        );
    }
    format!("not JSON: {message}")
}

fn shorten(digits: &str) -> String {
    const SHOWN: usize = 40;
    match digits.get(..SHOWN) {
        Some(start) if digits.len() > SHOWN => format!("{start}…"),
        _ => digits.to_owned(),
    }
}

/// The first integer of a valid JSON text that 64 bits do not hold.
///
/// `serde_json` gives those as floats, like numbers that are written as floats; only the text tells them apart. It is
/// read again only when such a float turned up.
fn find_large_integer(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        let start = position;
        position += 1;
        match byte {
            b'"' => {
                while let Some(&inner) = bytes.get(position) {
                    position += if inner == b'\\' { 2 } else { 1 };
                    if inner == b'"' {
                        break;
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                while let Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') = bytes.get(position)
                {
                    position += 1;
                }
                let number = &text[start..position];
                let is_integer = !number.contains(['.', 'e', 'E']);
                if is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some(number);
                }
            }
            _ => {}
        }
    }
    None
}

/// What a conversion shares among the values it builds.
struct Builder<'py> {
    py: Python<'py>,
    keys: RefCell<HashMap<Box<str>, Bound<'py, PyString>>>,
    /// Whether a float turned up that may be a large integer.
    large_float: Cell<bool>,
    /// What Python raised, which the error of the parser cannot carry.
    raised: Cell<Option<PyErr>>,
}

impl<'py> Builder<'py> {
    fn key<E: Error>(&self, text: &str) -> Result<Bound<'py, PyString>, E> {
        if let Some(key) = self.keys.borrow().get(text) {
            return Ok(key.clone());
        }
        let key = self.string(text)?;
        let mut keys = self.keys.borrow_mut();
        if keys.len() < KEYS_SHARED {
            keys.insert(text.into(), key.clone());
        }
        Ok(key)
    }

    fn string<E: Error>(&self, text: &str) -> Result<Bound<'py, PyString>, E> {
        self.check(PyString::from_bytes(self.py, text.as_bytes()))
    }

    fn check<T, E: Error>(&self, result: PyResult<T>) -> Result<T, E> {
        result.map_err(|raised| {
            self.raised.set(Some(raised));
            E::custom("python raised")
        })
    }
}

impl<'de, 'py> DeserializeSeed<'de> for &Builder<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for &Builder<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.py, truth).to_owned().into_any())
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.py, integer).into_any())
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.py, integer).into_any())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        if number.abs() >= SUSPICIOUS {
            self.large_float.set(true);
        }
        Ok(PyFloat::new(self.py, number).into_any())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.string(text)?.into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(self.check(PyList::new(self.py, list))?.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.py);
        while let Some(key) = entries.next_key_seed(Key(self))? {
            let value = entries.next_value_seed(self)?;
            self.check(dict.set_item(key, value))?;
        }
        Ok(dict.into_any())
    }
}

/// Reads the key of an entry.
struct Key<'b, 'py>(&'b Builder<'py>);

impl<'de, 'py> DeserializeSeed<'de> for Key<'_, 'py> {
    type Value = Bound<'py, PyString>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'py> Visitor<'_> for Key<'_, 'py> {
    type Value = Bound<'py, PyString>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.0.key(text)
    }
}
