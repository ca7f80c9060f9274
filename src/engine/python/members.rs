//! The names of what a path of names leads to, told without running any code of the program: instances by their `__dict__`,
//! classes by the dictionaries of their `__mro__`, modules by theirs. No property is asked, no `__getattr__`, no `__dir__`.
//!
//! Dictionaries are gone through and never looked into by key: a key of a class of the program's may have an `__eq__`.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyMappingProxy, PyModule, PyString, PyTuple, PyType};

/// The names of what `path` leads to from the session's names; those themselves, and the builtins, for an empty path.
pub(super) fn names(
    globals: &Bound<'_, PyDict>,
    builtins: &Bound<'_, PyDict>,
    path: &[String],
) -> PyResult<Vec<String>> {
    let Some((first, rest)) = path.split_first() else {
        let mut names = names_of(globals.as_any())?;
        names.extend(names_of(builtins.as_any())?);
        return Ok(names);
    };
    let mut value = find(globals.as_any(), first)?.or(find(builtins.as_any(), first)?);
    for name in rest {
        value = match value {
            Some(value) => member(&value, name)?,
            None => None,
        };
    }
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for dictionary in dictionaries(&value)? {
        names.extend(names_of(&dictionary)?);
    }
    Ok(names)
}

/// The member of a value, unless code would have to compute it.
fn member<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    for dictionary in dictionaries(value)? {
        if let Some(found) = find(&dictionary, name)? {
            return Ok((!is_descriptor(&found)?).then_some(found));
        }
    }
    Ok(None)
}

/// Whether reading it as a member would run code: a property, and most of what a class defines. A function stands for the method
/// it becomes.
fn is_descriptor(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_exact_instance_of::<PyFunction>() {
        return Ok(false);
    }
    for class in dictionaries_of_classes(&value.get_type())? {
        if find(&class, "__get__")?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The dictionaries in which the members of a value are, in the order in which they are looked up.
fn dictionaries<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(module) = value.cast::<PyModule>() {
        return Ok(vec![module.dict().into_any()]);
    }
    if let Ok(class) = value.cast::<PyType>() {
        return dictionaries_of_classes(class);
    }
    let own = own_dictionary(value);
    let classes = dictionaries_of_classes(&value.get_type())?;
    Ok(own.into_iter().chain(classes).collect())
}

fn own_dictionary<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = value.py();
    // SAFETY: `value` is alive, and the context may be null. What is returned is a reference of our own or an error, which
    // says that instances have no dictionary. The function of CPython's own makes an empty dictionary at most.
    let dictionary = unsafe {
        let found = ffi::PyObject_GenericGetDict(value.as_ptr(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_opt(py, found)
    };
    if dictionary.is_none() {
        let _ = PyErr::take(py);
    }
    dictionary
}

/// The dictionaries of a class and of what it inherits from. `type`'s own accessors are asked: a metaclass may have others.
fn dictionaries_of_classes<'py>(class: &Bound<'py, PyType>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let accessors = class.py().get_type::<PyType>().getattr("__dict__")?;
    let read = |name: &str, class: &Bound<'py, PyAny>| {
        accessors.get_item(name)?.call_method1("__get__", (class,))
    };
    let order = read("__mro__", class.as_any())?;
    let mut dictionaries = Vec::new();
    for class in order.cast::<PyTuple>()?.iter() {
        dictionaries.push(read("__dict__", &class)?);
    }
    Ok(dictionaries)
}

/// A dictionary or the view of a class's, as a dictionary that nobody else changes.
fn copied<'py>(dictionary: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    if let Ok(dictionary) = dictionary.cast::<PyDict>() {
        // The C function copies what is there, whatever a subclass defines.
        return dictionary.copy();
    }
    let view = dictionary.cast::<PyMappingProxy>()?;
    Ok(view.call_method0("copy")?.cast_into::<PyDict>()?)
}

fn names_of(dictionary: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let names = copied(dictionary)?.iter().filter_map(|(name, _)| {
        let name = name.cast_exact::<PyString>().ok()?;
        name.to_str().ok().map(str::to_owned)
    });
    Ok(names.collect())
}

fn find<'py>(dictionary: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_it = |key: &Bound<'_, PyAny>| {
        key.cast_exact::<PyString>()
            .is_ok_and(|key| key.to_str().is_ok_and(|key| key == name))
    };
    let mut items = copied(dictionary)?.iter();
    Ok(items.find(|(key, _)| is_it(key)).map(|(_, value)| value))
}
