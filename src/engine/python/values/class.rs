//! What a type is called, what it comes from and what it defines, read from the type's own memory: a metaclass with
//! a `__getattribute__`, a property named `__module__` or a key with an `__eq__` of its own never runs.

use std::ffi::CStr;
use std::ptr;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use pyo3::{Borrowed, ffi};

use crate::engine::python::cpython;

/// A Python type.
pub(super) struct Class<'py>(Bound<'py, PyType>);

impl<'py> Class<'py> {
    /// The type of `object`, whatever its `__class__` says.
    pub(super) fn of(object: Borrowed<'_, 'py, PyAny>) -> Self {
        Self(object.get_type())
    }

    /// The type and what it comes from, in method resolution order.
    pub(super) fn lineage(&self) -> impl Iterator<Item = Class<'py>> {
        self.0
            .mro()
            .into_iter()
            .filter_map(|class| class.cast_into().ok())
            .map(Class)
    }

    /// The name that C code gave the type.
    ///
    /// A program cannot make a static type, nor change one: a name like `numpy.generic` is proof here, which it would
    /// not be in `sys.modules`.
    pub(super) fn native_name(&self) -> Option<&CStr> {
        self.is_native().then(|| cpython::full_type_name(&self.0))
    }

    /// Whether C code defines the type.
    pub(super) fn is_native(&self) -> bool {
        // SAFETY: the type is alive; this reads its flags.
        let flags = unsafe { ffi::PyType_GetFlags(self.0.as_type_ptr()) };
        flags & ffi::Py_TPFLAGS_HEAPTYPE == 0
    }

    /// The name with its module: `numpy.ndarray`; what is built in or of the cell itself stands alone.
    pub(super) fn qualified_name(&self) -> String {
        let name = cpython::full_type_name(&self.0).to_string_lossy();
        // C code puts the module into the name.
        if self.is_native() || name.contains('.') {
            return name.into_owned();
        }
        match self.own_text("__module__") {
            Some(module) if module != "__main__" && module != "builtins" => {
                format!("{module}.{name}")
            }
            _ => name.into_owned(),
        }
    }

    /// Whether the type itself, not one that it comes from, has an attribute of this name.
    ///
    /// Since CPython 3.12 this is false for what the interpreter itself defines.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.own(name).is_some()
    }

    /// The type as an object.
    pub(super) fn as_type(&self) -> &Bound<'py, PyType> {
        &self.0
    }

    fn own_text(&self, name: &str) -> Option<String> {
        let text = self.own(name)?.cast_into::<PyString>().ok()?;
        text.to_str().ok().map(str::to_owned)
    }

    /// An entry of the type's dict, found by comparing texts: a lookup would call the `__eq__` of odd keys.
    fn own(&self, name: &str) -> Option<Bound<'py, PyAny>> {
        let py = self.0.py();
        let dict = cpython::own_dict(&self.0)?;
        let (mut position, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
        // SAFETY: it is a dict that the type owns; the pointers are valid for writes; nothing in this loop runs
        // Python code that could change it.
        while unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) } != 0 {
            // SAFETY: `PyDict_Next` said there is an entry; the dict owns its key.
            let key = unsafe { Borrowed::from_ptr(py, key) };
            if let Ok(key) = key.cast_exact::<PyString>()
                && key.to_str().is_ok_and(|key| key == name)
            {
                // SAFETY: as above, for the value.
                return Some(unsafe { Bound::from_borrowed_ptr(py, value) });
            }
        }
        None
    }
}
