//! The text under way and its budget, and the values that are written at one stroke: null, booleans, numbers, strings.

use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{Borrowed, ffi};

use super::refusal::Fault;
use super::{Integers, description, numpy, text};

/// The largest integer up to which a double holds every one.
const SAFE: u64 = (1 << 53) - 1;

/// The kinds of container that JSON has a form for.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    List,
    Tuple,
    Dict,
}

/// JSON text that grows up to its budget.
pub(super) struct Writer<'t> {
    text: &'t mut String,
    /// The length that the text may have, what stood in it before included.
    limit: usize,
    integers: Integers,
}

impl<'t> Writer<'t> {
    pub(super) fn new(text: &'t mut String, budget: usize, integers: Integers) -> Self {
        let limit = text.len().saturating_add(budget);
        Self {
            text,
            limit,
            integers,
        }
    }

    pub(super) fn text(&self) -> &str {
        self.text
    }

    pub(super) fn push(&mut self, character: char) {
        self.text.push(character);
    }

    pub(super) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Refuses a text that has outgrown its budget.
    ///
    /// Between two checks a text grows by a number or a bracket at most; strings are checked before they are written.
    #[inline]
    pub(super) fn check_budget(&self) -> Result<(), Fault> {
        if self.text.len() > self.limit {
            return Err(Fault::TooLarge);
        }
        Ok(())
    }

    /// Refuses a container of `length` items that take `bytes` each at the least, before it is walked.
    ///
    /// The last item has no comma after it, but the container has two brackets: one byte more in all.
    pub(super) fn foresee(&self, length: isize, bytes: usize) -> Result<(), Fault> {
        let least = length
            .unsigned_abs()
            .saturating_mul(bytes)
            .saturating_add(1);
        if least > self.limit.saturating_sub(self.text.len()) {
            return Err(Fault::TooLarge);
        }
        Ok(())
    }

    /// Writes `item` if it is a scalar; returns its shape if it is a container, which is left to the caller.
    ///
    /// Subclasses count by the value of their base, which is read from the object's own memory.
    #[inline]
    pub(super) fn write(&mut self, item: Borrowed<'_, '_, PyAny>) -> Result<Option<Shape>, Fault> {
        self.check_budget()?;
        if item.is_instance_of::<PyString>() {
            // SAFETY: `item` is a str, by the check above.
            self.string(unsafe { item.cast_unchecked() })?;
        } else if item.is_instance_of::<PyBool>() {
            // SAFETY: reads the one True; compares addresses.
            let truth = item.as_ptr() == unsafe { ffi::Py_True() };
            self.push_str(if truth { "true" } else { "false" });
        } else if item.is_instance_of::<PyInt>() {
            // SAFETY: `item` is an int, by the check above.
            self.integer(unsafe { item.cast_unchecked() })?;
        } else if item.is_instance_of::<PyFloat>() {
            // SAFETY: `item` is a float, by the check above.
            self.float(unsafe { item.cast_unchecked::<PyFloat>() }.value())?;
        } else if item.is_none() {
            self.push_str("null");
        } else if item.is_instance_of::<PyDict>() {
            return Ok(Some(Shape::Dict));
        } else if item.is_instance_of::<PyList>() {
            return Ok(Some(Shape::List));
        } else if item.is_instance_of::<PyTuple>() {
            return Ok(Some(Shape::Tuple));
        } else {
            self.foreign(item)?;
        }
        Ok(None)
    }

    /// Writes what is no type of Python's own: numpy's numbers, and nothing else.
    #[inline(never)]
    fn foreign(&mut self, item: Borrowed<'_, '_, PyAny>) -> Result<(), Fault> {
        match numpy::plain(item).map_err(Fault::Interrupted)? {
            // A number or a boolean, never a container.
            Some(plain) => self.write(plain.as_borrowed()).map(|_| ()),
            None => Err(description::refuse(item)),
        }
    }

    /// Writes a string, in quotes.
    pub(super) fn string(&mut self, string: Borrowed<'_, '_, PyString>) -> Result<(), Fault> {
        let py = string.py();
        // SAFETY: `string` is a str.
        let length = unsafe { ffi::PyUnicode_GetLength(string.as_ptr()) };
        if length < 0 {
            return Err(Fault::Interrupted(PyErr::fetch(py)));
        }
        // A character takes a byte at the least: this keeps CPython from encoding what is over the budget anyway.
        if length.unsigned_abs().saturating_add(2) > self.limit.saturating_sub(self.text.len()) {
            return Err(Fault::TooLarge);
        }
        match string.to_str() {
            Ok(string) => {
                text::push_string(self.text, string);
                self.check_budget()
            }
            Err(raised) if raised.is_instance_of::<PyUnicodeEncodeError>(py) => {
                Err(Fault::lone_surrogate(first_surrogate(string, length)))
            }
            Err(raised) => Err(Fault::Interrupted(raised)),
        }
    }

    fn integer(&mut self, integer: Borrowed<'_, '_, PyInt>) -> Result<(), Fault> {
        let mut overflow = 0;
        // SAFETY: `integer` is an int, for which this calls no `__index__` and raises nothing.
        let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(integer.as_ptr(), &mut overflow) };
        let mut digits = itoa::Buffer::new();
        let (written, magnitude) = match overflow {
            0 => (digits.format(small), small.unsigned_abs()),
            1 => {
                // SAFETY: as above; one that is too large raises OverflowError.
                let large = unsafe { ffi::PyLong_AsUnsignedLongLong(integer.as_ptr()) };
                // This value is both an integer and the mark of an error.
                if large == u64::MAX && PyErr::take(integer.py()).is_some() {
                    return Err(beyond_64_bits(integer));
                }
                (digits.format(large), large)
            }
            _ => return Err(beyond_64_bits(integer)),
        };
        if self.integers == Integers::Safe && magnitude > SAFE {
            return Err(Fault::beyond_a_double(written));
        }
        self.text.push_str(written);
        Ok(())
    }

    fn float(&mut self, number: f64) -> Result<(), Fault> {
        if !number.is_finite() {
            return Err(Fault::not_finite(number));
        }
        self.text
            .push_str(zmij::Buffer::new().format_finite(number));
        Ok(())
    }
}

fn beyond_64_bits(integer: Borrowed<'_, '_, PyInt>) -> Fault {
    let int = integer.py().get_type::<PyInt>();
    let bits = int.call_method1("bit_length", (integer,));
    Fault::beyond_64_bits(bits.and_then(|bits| bits.extract()).unwrap_or(u64::MAX))
}

fn first_surrogate(string: Borrowed<'_, '_, PyString>, length: isize) -> u32 {
    (0..length)
        // SAFETY: `string` is a str of `length` characters, and each index is below that.
        .map(|index| unsafe { ffi::PyUnicode_ReadChar(string.as_ptr(), index) })
        .find(|code| (0xd800..=0xdfff).contains(code))
        .unwrap_or(0xd800)
}
