//! The text of a cell on its way to CPython: newlines, the byte 0, a block's indentation, and cutting a part out of it in such
//! a way that the part keeps its lines and columns.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};

use memchr::{memchr, memchr_iter, memchr2, memrchr};
use pyo3::exceptions::{PyRuntimeError, PySyntaxError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyString};

use crate::engine::python::cpython;

// Not in pyo3's bindings; the values are part of CPython's API since 3.8.
const SOURCE_IS_UTF8: c_int = 0x0100;
/// A `# -*- coding: latin-1 -*-` says nothing about a Rust string.
const IGNORE_COOKIE: c_int = 0x0800;
const ALLOW_TOP_LEVEL_AWAIT: c_int = 0x2000;

/// The compiler flags of every cell; nothing is inherited from the code that calls.
pub(super) const FLAGS: c_int = SOURCE_IS_UTF8 | IGNORE_COOKIE | ALLOW_TOP_LEVEL_AWAIT;
/// Those of them that the builtin `compile` takes (it knows that its text is UTF-8).
pub(super) const BUILTIN_FLAGS: c_int = ALLOW_TOP_LEVEL_AWAIT;
/// The flags of `from __future__` imports, in `co_flags` as in the compiler's flags.
pub(super) const FUTURE_FLAGS: c_int = 0x01FE_0000;

/// What CPython's tokenizer makes of a source before it reads it: `\n` for every newline, no byte order mark.
///
/// # Errors
///
/// `SyntaxError` at the first byte 0, which CPython would take for the end of the text.
pub(super) fn with_plain_newlines<'source>(
    source: &'source str,
    file_name: &Bound<'_, PyString>,
) -> PyResult<Cow<'source, str>> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if memchr2(b'\r', b'\0', source.as_bytes()).is_none() {
        return Ok(Cow::Borrowed(source));
    }
    let text = source.replace("\r\n", "\n").replace('\r', "\n");
    match memchr(b'\0', text.as_bytes()) {
        Some(null) => Err(null_byte(&text, null, file_name)),
        None => Ok(Cow::Owned(text)),
    }
}

fn null_byte(text: &str, null: usize, file_name: &Bound<'_, PyString>) -> PyErr {
    let number = line_number(text.as_bytes(), null);
    let start = line_start(text.as_bytes(), null);
    let column = text[start..null].chars().count() + 1;
    let line = line(text, number).unwrap_or_default().to_owned();
    let position = (
        file_name.clone().unbind(),
        number,
        column,
        line,
        number,
        column + 1,
    );
    PySyntaxError::new_err(("source code cannot contain null bytes", position))
}

/// Takes a block's indentation off every line that starts with it, those inside strings included. A line of white space that
/// is shorter than the indentation becomes empty.
pub(super) fn dedented(text: &str, indentation: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        if let Some(rest) = line.strip_prefix(indentation) {
            result.push_str(rest);
        } else if indentation.starts_with(content) {
            result.push_str(&line[content.len()..]);
        } else {
            result.push_str(line);
        }
    }
    result
}

/// The line with this number, counted from 1, with its newline.
pub(super) fn line(text: &str, number: usize) -> Option<&str> {
    text.split_inclusive('\n').nth(number.checked_sub(1)?)
}

/// The rest of `text` from the start of a line on, with its line numbers.
pub(super) fn rest_from(text: &str, start: usize) -> Cow<'_, str> {
    if start == 0 {
        return Cow::Borrowed(text);
    }
    let lines = memchr_iter(b'\n', &text.as_bytes()[..start]).count();
    let mut rest = "\n".repeat(lines);
    rest.push_str(&text[start..]);
    Cow::Owned(rest)
}

fn line_number(text: &[u8], offset: usize) -> usize {
    memchr_iter(b'\n', &text[..offset]).count() + 1
}

fn line_start(text: &[u8], offset: usize) -> usize {
    memrchr(b'\n', &text[..offset]).map_or(0, |newline| newline + 1)
}

/// Which grammar a part is read by.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    Statements,
    Expression,
}

/// A text that parts are compiled from, one copy for all of them.
pub(super) struct Parts<'name, 'py> {
    /// The text and the byte 0 that CPython wants behind it.
    bytes: Vec<u8>,
    file_name: &'name Bound<'py, PyString>,
}

impl<'name, 'py> Parts<'name, 'py> {
    pub(super) fn new(text: &str, file_name: &'name Bound<'py, PyString>) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        Self { bytes, file_name }
    }

    /// Compiles the statements of the whole text.
    pub(super) fn whole(&self) -> PyResult<Bound<'py, PyCode>> {
        compile(&self.bytes, self.file_name, Mode::Statements, FLAGS)
    }

    /// Compiles the statements before `end`.
    pub(super) fn head(&mut self, end: usize) -> PyResult<Bound<'py, PyCode>> {
        let next = std::mem::replace(&mut self.bytes[end], 0);
        let code = compile(&self.bytes[..=end], self.file_name, Mode::Statements, FLAGS);
        self.bytes[end] = next;
        code
    }

    /// Compiles the expression between `start` and `end`, last of all: the text before it is overwritten.
    ///
    /// The expression keeps its place: newlines stand for the lines before it, and spaces for what is before it in its line.
    /// A form feed after them resets the tokenizer's column, so that they are no indentation.
    pub(super) fn expression(
        mut self,
        start: usize,
        end: usize,
        flags: c_int,
    ) -> PyResult<Bound<'py, PyCode>> {
        let line = line_start(&self.bytes, start);
        let newlines = line_number(&self.bytes, start) - 1;
        let begin = line - newlines;
        self.bytes[begin..line].fill(b'\n');
        self.bytes[line..start].fill(b' ');
        if let Some(last) = self.bytes[line..start].last_mut() {
            *last = b'\x0c';
        }
        self.bytes[end] = 0;
        let text = &self.bytes[begin..=end];
        compile(text, self.file_name, Mode::Expression, FLAGS | flags)
    }
}

fn compile<'py>(
    text: &[u8],
    file_name: &Bound<'py, PyString>,
    mode: Mode,
    flags: c_int,
) -> PyResult<Bound<'py, PyCode>> {
    let text = CStr::from_bytes_with_nul(text)
        .map_err(|_| PyRuntimeError::new_err("a part of the cell contains a null byte"))?;
    let start = match mode {
        Mode::Statements => ffi::Py_file_input,
        Mode::Expression => ffi::Py_eval_input,
    };
    let code = cpython::compile(text, file_name, start, flags)?;
    Ok(code.cast_into::<PyCode>()?)
}
