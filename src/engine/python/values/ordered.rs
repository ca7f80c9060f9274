//! The entries of a dict in the order that the program sees.
//!
//! A dict's own table keeps the order of insertion. `collections.OrderedDict` keeps another one beside it, which
//! `move_to_end` changes, and only its own iterator reads that; it is called directly, past every override.

use std::ffi::{c_int, c_void};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{Borrowed, ffi};

use super::class::Class;
use super::description;
use super::refusal::Fault;
use crate::engine::python::cpython;

/// The dict itself or, for an `OrderedDict`, a plain dict with its entries in its order.
pub(super) fn entries<'py>(dict: &Bound<'py, PyDict>) -> Result<Bound<'py, PyDict>, Fault> {
    // SAFETY: reads the type of a live object.
    if unsafe { ffi::PyDict_CheckExact(dict.as_ptr()) } != 0 {
        return Ok(dict.clone());
    }
    let class = Class::of(dict.as_any().as_borrowed());
    let ordered = class
        .lineage()
        .find(|ancestor| ancestor.native_name() == Some(c"collections.OrderedDict"));
    match ordered {
        Some(ordered) => in_order(dict, &ordered),
        None => Ok(dict.clone()),
    }
}

fn in_order<'py>(
    dict: &Bound<'py, PyDict>,
    ordered: &Class<'py>,
) -> Result<Bound<'py, PyDict>, Fault> {
    let py = dict.py();
    let entries = PyDict::new(py);
    let keys = iterator(dict, ordered)?;
    // Nothing is allocated between this check and the end that could start a garbage collection, and with it
    // finalizers: the keys stay as they are.
    refuse_keys_with_code(dict)?;
    loop {
        // The iterator looks its next key up, which calls the key's `__hash__`. A key that is in the order but no
        // longer in the table was not checked above.
        if !holds_only_strings(&keys, dict) {
            return Err(Fault::broken_order());
        }
        // SAFETY: `keys` is an iterator; a null pointer is its end or an error.
        let key = unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyIter_Next(keys.as_ptr())) };
        let Some(key) = key else {
            break;
        };
        // SAFETY: `dict` is a dict, and all its keys are exact strings, so the lookup runs no code.
        let value = unsafe {
            Borrowed::from_ptr_or_opt(
                py,
                ffi::PyDict_GetItemWithError(dict.as_ptr(), key.as_ptr()),
            )
        };
        let Some(value) = value else {
            break;
        };
        entries.set_item(key, value).map_err(Fault::Interrupted)?;
    }
    if PyErr::take(py).is_some() || entries.len() != dict.len() {
        return Err(Fault::broken_order());
    }
    Ok(entries)
}

/// The iterator over the keys of `dict` that `OrderedDict` itself makes.
fn iterator<'py>(
    dict: &Bound<'py, PyDict>,
    ordered: &Class<'py>,
) -> Result<Bound<'py, PyAny>, Fault> {
    // SAFETY: `dict` is an instance of the type whose slot this is.
    match unsafe { cpython::iterator_by(ordered.as_type(), dict.as_any()) } {
        Some(iterator) => iterator.map_err(Fault::Interrupted),
        None => Err(Fault::broken_order()),
    }
}

fn refuse_keys_with_code(dict: &Bound<'_, PyDict>) -> Result<(), Fault> {
    for (key, _) in dict.iter() {
        if !key.is_instance_of::<PyString>() {
            return Err(description::refuse_own_key(key.as_borrowed()));
        }
        if !key.is_exact_instance_of::<PyString>() {
            return Err(Fault::unordered_key());
        }
    }
    Ok(())
}

/// Whether the iterator holds nothing but its dict and exact strings, which is to say its next key.
fn holds_only_strings(iterator: &Bound<'_, PyAny>, dict: &Bound<'_, PyDict>) -> bool {
    struct Held {
        dict: *mut ffi::PyObject,
        only_strings: bool,
    }

    unsafe extern "C" fn visit(object: *mut ffi::PyObject, held: *mut c_void) -> c_int {
        // SAFETY: `held` is what was passed to the traversal below, which outlives it.
        let held = unsafe { &mut *held.cast::<Held>() };
        // SAFETY: a traversal visits live objects only.
        let is_string = unsafe { ffi::PyUnicode_CheckExact(object) } != 0;
        held.only_strings &= is_string || object == held.dict;
        0
    }

    let mut held = Held {
        dict: dict.as_ptr(),
        only_strings: true,
    };
    // SAFETY: `visit` takes `held` for what it is, and only looks.
    let is_traversed = unsafe { cpython::traverse(iterator, visit, (&raw mut held).cast()) };
    is_traversed && held.only_strings
}
