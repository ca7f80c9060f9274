//! numpy's scalars, which are no numbers of Python's (`numpy.float64`, a `float`, is the exception).

use std::ffi::CStr;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use pyo3::{Borrowed, intern};

use super::class::Class;

/// The Python number or boolean that a numpy scalar is, through numpy's own `generic.item`; nothing for other objects.
///
/// Only types that numpy's C code defines are asked, and only for integers, floats and booleans: the `item` of a time
/// in nanoseconds would be a bare integer. numpy is not imported, nor looked for in `sys.modules`, which the program
/// may have filled with anything: the object's own lineage says what it is.
///
/// # Errors
///
/// What `item` raised.
pub(super) fn plain<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let class = Class::of(object);
    if !class.is_native() {
        return Ok(None);
    }
    let mut is_number = false;
    let mut generic = None;
    for ancestor in class.lineage() {
        match ancestor.native_name().map(CStr::to_bytes) {
            // An integer to numpy.
            Some(b"numpy.timedelta64") => return Ok(None),
            Some(b"numpy.integer" | b"numpy.floating" | b"numpy.bool" | b"numpy.bool_") => {
                is_number = true;
            }
            Some(b"numpy.generic") => generic = Some(ancestor),
            _ => {}
        }
    }
    let Some(generic) = generic.filter(|_| is_number) else {
        return Ok(None);
    };
    let generic = generic.as_type();
    let plain = generic
        .getattr(intern!(object.py(), "item"))?
        .call1((object.to_owned(),))?;
    // A `longdouble` stays one.
    let is_plain = plain.is_exact_instance_of::<PyInt>()
        || plain.is_exact_instance_of::<PyFloat>()
        || plain.is_exact_instance_of::<PyBool>();
    Ok(is_plain.then_some(plain))
}
