//! What a session's names hold, told without running any code of the program: values of CPython's own plain types are
//! rendered here, bounded in depth, items and length; of everything else only the class is named.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyFunction, PyInt, PyList, PyModule, PySet,
    PyString, PyTuple, PyType,
};

use super::cpython::type_name;
use crate::engine::Variable;

/// Longest preview, in characters.
const LENGTH: usize = 80;

/// How many items of a container are shown.
const ITEMS: usize = 10;

/// How many containers within each other are shown.
const DEPTH: usize = 3;

/// The names of `globals` that the program bound, in the order in which it did; not those that are the runtime's own.
pub(super) fn variables(
    globals: &Bound<'_, PyDict>,
    is_ours: &dyn Fn(&str, &Bound<'_, PyAny>) -> bool,
) -> Vec<Variable> {
    // A copy: nothing below runs code, but iterating a dict that grows meanwhile would panic.
    let Ok(names) = globals.copy() else {
        return Vec::new();
    };
    names
        .iter()
        .filter_map(|(name, value)| {
            let name = name
                .cast_exact::<PyString>()
                .ok()?
                .to_str()
                .ok()?
                .to_owned();
            let is_own = name.starts_with("__") && name.ends_with("__");
            (!is_own && !is_ours(&name, &value)).then(|| Variable {
                name,
                type_name: type_name(&value),
                preview: preview(&value),
            })
        })
        .collect()
}

/// The beginning of a value, on one line.
pub(super) fn preview(value: &Bound<'_, PyAny>) -> String {
    let mut text = Preview {
        text: String::new(),
        room: LENGTH,
    };
    render(value, DEPTH, &mut text);
    if text.room == 0 {
        text.text.push('…');
    }
    text.text
}

/// Text that stops growing once it is long enough.
struct Preview {
    text: String,
    room: usize,
}

impl Preview {
    fn push(&mut self, piece: &str) {
        for character in piece.chars().take(self.room) {
            let shown = if character.is_control() {
                ' '
            } else {
                character
            };
            self.text.push(shown);
            self.room -= 1;
        }
    }
}

fn render(value: &Bound<'_, PyAny>, depth: usize, out: &mut Preview) {
    if out.room == 0 {
        return;
    }
    if value.is_none() {
        out.push("None");
    } else if let Ok(value) = value.cast_exact::<PyBool>() {
        out.push(if value.is_true() { "True" } else { "False" });
    } else if let Ok(value) = value.cast_exact::<PyInt>() {
        render_integer(value, out);
    } else if let Ok(value) = value.cast_exact::<PyFloat>() {
        // CPython's own repr of an exact float runs no code of the program.
        out.push(&value.repr().map_or_else(
            |_| "float".to_owned(),
            |text| text.to_string_lossy().into_owned(),
        ));
    } else if let Ok(value) = value.cast_exact::<PyString>() {
        render_string(value, out);
    } else if let Ok(value) = value.cast_exact::<PyBytes>() {
        out.push(&format!("{} bytes", value.as_bytes().len()));
    } else if let Ok(value) = value.cast_exact::<PyList>() {
        render_items("[", "]", value.len(), value.iter(), depth, out);
    } else if let Ok(value) = value.cast_exact::<PyTuple>() {
        render_items(
            "(",
            if value.len() == 1 { ",)" } else { ")" },
            value.len(),
            value.iter(),
            depth,
            out,
        );
    } else if let Ok(value) = value.cast_exact::<PySet>() {
        render_set("set()", value.len(), value.iter(), depth, out);
    } else if let Ok(value) = value.cast_exact::<PyFrozenSet>() {
        render_set("frozenset()", value.len(), value.iter(), depth, out);
    } else if let Ok(value) = value.cast_exact::<PyDict>() {
        render_dict(value, depth, out);
    } else if let Ok(value) = value.cast_exact::<PyModule>() {
        let name = value.dict().get_item("__name__").ok().flatten();
        let name = name.and_then(|name| {
            name.cast_exact::<PyString>()
                .ok()
                .map(|name| name.to_string_lossy().into_owned())
        });
        out.push(&format!("module {}", name.unwrap_or_default()));
    } else if let Ok(value) = value.cast_exact::<PyFunction>() {
        render_function(value, out);
    } else if let Ok(value) = value.cast_exact::<PyType>() {
        // Only classes whose metaclass is `type` itself: another one's code might answer.
        out.push(&format!(
            "class {}",
            value
                .name()
                .map(|name| name.to_string())
                .unwrap_or_default()
        ));
    } else {
        out.push(&format!("{} object", type_name(value)));
    }
}

fn render_integer(value: &Bound<'_, PyInt>, out: &mut Preview) {
    match value.extract::<i128>() {
        Ok(number) => out.push(&number.to_string()),
        Err(_) => out.push("an integer beyond 128 bits"),
    }
}

fn render_string(value: &Bound<'_, PyString>, out: &mut Preview) {
    let length = value.len().unwrap_or(0);
    let text = value.to_string_lossy();
    out.push("'");
    for character in text.chars().take(LENGTH) {
        match character {
            '\n' => out.push("\\n"),
            '\t' => out.push("\\t"),
            '\r' => out.push("\\r"),
            '\'' => out.push("\\'"),
            '\\' => out.push("\\\\"),
            other => out.push(other.encode_utf8(&mut [0; 4])),
        }
    }
    out.push("'");
    if length > LENGTH {
        let _ = write!(out.text, " ({length} characters)");
    }
}

fn render_items<'py>(
    open: &str,
    close: &str,
    length: usize,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
    out: &mut Preview,
) {
    out.push(open);
    if depth == 0 && length > 0 {
        out.push("…");
    } else {
        for (index, item) in items.take(ITEMS).enumerate() {
            if index > 0 {
                out.push(", ");
            }
            render(&item, depth - 1, out);
        }
        if length > ITEMS {
            out.push(&format!(", … {length} in all"));
        }
    }
    out.push(close);
}

fn render_set<'py>(
    empty: &str,
    length: usize,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
    out: &mut Preview,
) {
    if length == 0 {
        out.push(empty);
    } else {
        render_items("{", "}", length, items, depth, out);
    }
}

fn render_dict(value: &Bound<'_, PyDict>, depth: usize, out: &mut Preview) {
    out.push("{");
    if depth == 0 && !value.is_empty() {
        out.push("…");
    } else {
        for (index, (key, item)) in value.iter().take(ITEMS).enumerate() {
            if index > 0 {
                out.push(", ");
            }
            render(&key, depth - 1, out);
            out.push(": ");
            render(&item, depth - 1, out);
        }
        if value.len() > ITEMS {
            out.push(&format!(", … {} in all", value.len()));
        }
    }
    out.push("}");
}

fn render_function(function: &Bound<'_, PyFunction>, out: &mut Preview) {
    // Name and code of an exact function are slots of its C struct; setting them to something else is refused.
    let name = function
        .getattr("__name__")
        .map(|name| name.to_string())
        .unwrap_or_default();
    let parameters = function.getattr("__code__").and_then(|code| {
        let count: usize = code.getattr("co_argcount")?.extract()?;
        let names: Vec<String> = code.getattr("co_varnames")?.extract()?;
        Ok(names.into_iter().take(count).collect::<Vec<_>>().join(", "))
    });
    out.push(&format!("def {name}({})", parameters.unwrap_or_default()));
}
