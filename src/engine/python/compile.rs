//! From a cell's source to code objects: what to run, and where its value comes from.
//!
//! CPython has no notion of "the value of these statements", and building a syntax tree to find the last expression doubles
//! what compiling costs. So the cell is cut in its text: [`scan`] sees where the last statement starts, CPython compiles what
//! is before it as statements and the rest as an expression, each byte once. That both compile alone proves the cut right,
//! since statements that compile end where a statement ends. Only a `return` that is not simply the last statement, and the
//! few cells the scan is not sure of, go by way of the syntax tree (`rewrite.py`).
//!
//! Warnings come exactly as often as from a plain `compile`: a text that was compiled once is compiled again only with
//! warnings silenced. Whatever fails fails with the error of the whole cell, so that message and position are CPython's own.
//!
//! Nothing here runs a cell.

mod error;
mod scan;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::ffi::c_int;

use pyo3::exceptions::PyWarning;
use pyo3::ffi::CO_COROUTINE;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyCodeMethods, PyDict, PyList, PyString, PyTuple};

use self::scan::{Scan, Shape, scan};
use self::text::{FUTURE_FLAGS, Parts};

/// Where the value of a cell comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// There is none: no last expression, one hidden by a `;`, or a bare `return` at the end.
    Nothing,
    /// The last part is the last expression.
    Expression,
    /// The last part is the expression behind the `return` that ends the cell.
    Return,
    /// The cell says by itself what it returned: ask [`take_flagged`] after it ran, however it ended.
    Flagged,
}

/// What a cell that ended as [`Ending::Flagged`] gave.
#[derive(Debug)]
pub(super) enum Returned {
    /// It ran to its end, and the last statement was no expression.
    Nothing,
    /// By `return` without a value.
    Bare,
    /// By `return` with this value.
    Value(Py<PyAny>),
    /// It ran to its end, and this is the value of the last expression.
    Expression(Py<PyAny>),
}

/// A compiled cell.
#[derive(Debug)]
pub(super) struct Compiled {
    /// To be run in this order in the globals of the module; the value of the last is the cell's where [`Ending`] says so.
    pub(super) parts: [Option<Py<PyCode>>; 2],
    pub(super) ending: Ending,
    /// A part is a coroutine: the whole cell runs inside the event loop.
    pub(super) awaits: bool,
    /// Something in the cell has code of its own (a function, a class, before 3.12 a comprehension) that may outlive the cell
    /// and names its file: not for a code cache, and the cell's lines must stay known.
    pub(super) has_functions: bool,
    /// No part names anything, so that no code runs but operators on constants: nobody can look for the cell's lines before it
    /// has failed.
    pub(super) names_nothing: bool,
    /// The text as compiled, where it is not the one given: plain newlines, without a block's indentation.
    pub(super) source: Option<String>,
    /// How many columns of indentation were taken off each line: what a position needs to be one of the text given.
    pub(super) indentation: usize,
    slots: Option<Py<PyAny>>,
}

/// Compiles cells. There is one for an interpreter.
pub(super) struct Compiler {
    /// `compile_tree` of `rewrite.py`.
    compile_tree: Py<PyAny>,
    nested_f_strings: bool,
}

impl Compiler {
    /// Makes the compiler before any cell runs: its Python code keeps the builtins that it finds.
    ///
    /// # Errors
    ///
    /// When `rewrite.py` does not run.
    pub(super) fn new(py: Python<'_>) -> PyResult<Self> {
        let globals = PyDict::new(py);
        let builtins = py.import("builtins")?.dict().copy()?;
        globals.set_item("__builtins__", builtins)?;
        globals.set_item("__name__", "warmcell.rewrite")?;
        let name = PyString::new(py, "<warmcell rewrite>");
        let code = Parts::new(include_str!("compile/rewrite.py"), &name).whole()?;
        code.run(Some(&globals), None)?;
        let compile_tree = globals.as_any().get_item("compile_tree")?.unbind();
        Ok(Self {
            compile_tree,
            nested_f_strings: py.version_info() >= (3, 12),
        })
    }

    /// Compiles a cell, whose code objects get `file_name`.
    ///
    /// # Errors
    ///
    /// What CPython raises for the source, in positions of `source`: `SyntaxError` and its kin, `RecursionError`,
    /// `MemoryError`, `OverflowError`; and what the program has made of a warning.
    pub(super) fn compile(
        &self,
        py: Python<'_>,
        source: &str,
        file_name: &Bound<'_, PyString>,
    ) -> PyResult<Compiled> {
        let given = text::with_plain_newlines(source, file_name)?;
        let mut scanned = scan(&given, self.nested_f_strings);
        let indentation = match &scanned.shape {
            Shape::Indented { indentation } => &given[indentation.clone()],
            _ => "",
        };
        let mut dedented = None;
        if !indentation.is_empty() {
            let text = dedented.insert(text::dedented(&given, indentation));
            scanned = scan(text, self.nested_f_strings);
        }
        let cell = Cell {
            text: dedented.as_deref().unwrap_or(&given),
            scan: scanned,
            file_name,
            compile_tree: self.compile_tree.bind(py),
        };
        let mut compiled = cell
            .compile()
            .map_err(|failure| error::in_given_text(failure, py, &given, indentation))?;
        compiled.indentation = indentation.chars().count();
        compiled.source = match (dedented, given) {
            (Some(text), _) | (None, Cow::Owned(text)) => Some(text),
            // Without its byte order mark.
            (None, Cow::Borrowed(text)) if text.len() < source.len() => Some(text.to_owned()),
            (None, Cow::Borrowed(_)) => None,
        };
        Ok(compiled)
    }
}

/// Takes out of a cell what it returned; the cell keeps nothing of it. Call it after every run, failed ones too.
///
/// # Errors
///
/// When the program has tampered with what the cell left.
pub(super) fn take_flagged(py: Python<'_>, compiled: &Compiled) -> PyResult<Returned> {
    let Some(slots) = &compiled.slots else {
        return Ok(Returned::Nothing);
    };
    let slots = slots.bind(py).getattr(intern!(py, "__dict__"))?;
    let slots = slots.cast::<PyDict>()?;
    let returned = slots.get_item(intern!(py, "returned"))?;
    let value = slots.get_item(intern!(py, "value"))?;
    slots.clear();
    // A `return` that something cancelled leaves `None`.
    if let Some(returned) = returned.filter(|returned| !returned.is_none()) {
        let returned = returned.cast_into::<PyTuple>()?;
        return match returned.len() {
            0 => Ok(Returned::Bare),
            _ => Ok(Returned::Value(returned.get_item(0)?.unbind())),
        };
    }
    match value {
        Some(value) => {
            let value = value.cast_into::<PyTuple>()?.get_item(0)?;
            Ok(Returned::Expression(value.unbind()))
        }
        None => Ok(Returned::Nothing),
    }
}

/// One cell on its way.
struct Cell<'cell, 'py> {
    text: &'cell str,
    scan: Scan,
    file_name: &'cell Bound<'py, PyString>,
    compile_tree: &'cell Bound<'py, PyAny>,
}

/// The statements and the expression of a cell, and the slots of a rewritten one.
#[derive(Default)]
struct Code<'py> {
    parts: [Option<Bound<'py, PyCode>>; 2],
    slots: Option<Bound<'py, PyAny>>,
}

impl<'py> Cell<'_, 'py> {
    fn compile(&self) -> PyResult<Compiled> {
        let attempt = match &self.scan.shape {
            Shape::Statements | Shape::Indented { .. } => self.statements(),
            Shape::Expression { start } => {
                self.split(*start, *start, self.text.len(), Ending::Expression)
            }
            Shape::Return { start, value } => {
                self.split(*start, value.start, value.end, Ending::Return)
            }
            Shape::BareReturn { start } => self.statements_before(*start),
            Shape::EarlyReturn { start } => self.rewritten_from(*start),
            Shape::Unclear => return self.by_tree(0, 0)?.finish(None),
        };
        match attempt {
            Ok(compiled) => Ok(compiled),
            Err(failure) if error::is_syntax(&failure, self.py()) => self.explain(failure),
            Err(failure) => Err(failure),
        }
    }

    fn statements(&self) -> PyResult<Compiled> {
        let code = Parts::new(self.text, self.file_name).whole()?;
        Code::of([Some(code), None]).finish(Some(Ending::Nothing))
    }

    fn statements_before(&self, end: usize) -> PyResult<Compiled> {
        let mut parts = Parts::new(self.text, self.file_name);
        let head = self.head(&mut parts, end)?;
        Code::of([head, None]).finish(Some(Ending::Nothing))
    }

    /// Statements before `start`, and the expression between `value` and `end`.
    fn split(&self, start: usize, value: usize, end: usize, ending: Ending) -> PyResult<Compiled> {
        let mut parts = Parts::new(self.text, self.file_name);
        let head = self.head(&mut parts, start)?;
        let future = future_flags(head.as_ref())?;
        let value = parts.expression(value, end, future)?;
        Code::of([head, Some(value)]).finish(Some(ending))
    }

    /// Statements before `start`, and the rest by way of its syntax tree.
    fn rewritten_from(&self, start: usize) -> PyResult<Compiled> {
        if start == 0 {
            return self.by_tree(0, 0)?.finish(None);
        }
        let mut parts = Parts::new(self.text, self.file_name);
        let head = self.head(&mut parts, start)?;
        let future = future_flags(head.as_ref())?;
        match self.by_tree(start, future)? {
            Code {
                parts: [rest, None],
                slots,
            } => Code {
                parts: [head, rest],
                slots,
            }
            .finish(None),
            // No `return` after all.
            _ => self.by_tree(0, 0)?.finish(None),
        }
    }

    /// The statements before `end`, if there are any.
    fn head(&self, parts: &mut Parts<'_, 'py>, end: usize) -> PyResult<Option<Bound<'py, PyCode>>> {
        (end > self.scan.first).then(|| parts.head(end)).transpose()
    }

    /// Compiles the text from `start` on by way of its syntax tree.
    fn by_tree(&self, start: usize, future: c_int) -> PyResult<Code<'py>> {
        let text = text::rest_from(self.text, start);
        let flags = text::BUILTIN_FLAGS | future;
        let result = self
            .compile_tree
            .call1((text.as_ref(), self.file_name, flags))
            .inspect_err(|failure| failure.set_traceback(self.py(), None))?;
        let (statements, value, slots) = result.extract()?;
        Ok(Code {
            parts: [statements, value],
            slots,
        })
    }

    /// Raises what CPython says of the whole cell; or compiles the cell after all, by way of its tree, where a part fails and
    /// the whole does not, or only for its `return`.
    fn explain(&self, failure: PyErr) -> PyResult<Compiled> {
        let py = self.py();
        let by_tree = || self.by_tree(0, 0)?.finish(None);
        // Either in a class, and then the tree fails the same way, or overlooked by the scan.
        if error::is_return_outside_function(&failure, py) {
            return silently(py, by_tree);
        }
        if self.scan.shape == Shape::Statements {
            return Err(failure);
        }
        match silently(py, || Parts::new(self.text, self.file_name).whole()) {
            Err(error) if !error::is_return_outside_function(&error, py) => Err(error),
            // The tree was asked already.
            Err(_) if matches!(self.scan.shape, Shape::EarlyReturn { .. }) => Err(failure),
            _ => by_tree(),
        }
    }

    fn py(&self) -> Python<'py> {
        self.file_name.py()
    }
}

impl<'py> Code<'py> {
    fn of(parts: [Option<Bound<'py, PyCode>>; 2]) -> Self {
        Self { parts, slots: None }
    }

    /// `ending` is known, or read from what `rewrite.py` found.
    fn finish(self, ending: Option<Ending>) -> PyResult<Compiled> {
        let ending = ending.unwrap_or(match &self.parts {
            _ if self.slots.is_some() => Ending::Flagged,
            [_, Some(_)] => Ending::Expression,
            [_, None] => Ending::Nothing,
        });
        let (mut awaits, mut has_functions, mut names_nothing) = (false, false, true);
        for part in self.parts.iter().flatten() {
            awaits |= flags_of(part)? & CO_COROUTINE != 0;
            has_functions |= has_nested_code(part)?;
            names_nothing &= has_no_names(part)?;
        }
        let slots = self.slots.map(Bound::unbind);
        Ok(Compiled {
            parts: self.parts.map(|part| part.map(Bound::unbind)),
            ending,
            awaits,
            has_functions,
            names_nothing: names_nothing && !has_functions,
            source: None,
            indentation: 0,
            slots,
        })
    }
}

fn future_flags(head: Option<&Bound<'_, PyCode>>) -> PyResult<c_int> {
    head.map_or(Ok(0), |head| Ok(flags_of(head)? & FUTURE_FLAGS))
}

fn flags_of(code: &Bound<'_, PyCode>) -> PyResult<c_int> {
    code.getattr(intern!(code.py(), "co_flags"))?.extract()
}

fn has_nested_code(code: &Bound<'_, PyCode>) -> PyResult<bool> {
    let constants = code.getattr(intern!(code.py(), "co_consts"))?;
    let constants = constants.cast::<PyTuple>()?;
    Ok(constants
        .iter_borrowed()
        .any(|constant| constant.is_instance_of::<PyCode>()))
}

fn has_no_names(code: &Bound<'_, PyCode>) -> PyResult<bool> {
    let names = code.getattr(intern!(code.py(), "co_names"))?;
    Ok(names.cast::<PyTuple>()?.is_empty())
}

/// Compiles with all warnings ignored, for a text that has given its warnings before.
///
/// The filters are the program's, put back before any of its code can run again: compiling runs none when no warning is shown.
fn silently<'py, T>(py: Python<'py>, compile: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let Ok((warnings, filters)) = warning_filters(py) else {
        return compile();
    };
    let silence = ignore_all(py).and_then(|all| warnings.setattr(intern!(py, "filters"), all));
    let result = compile();
    if silence.is_ok() {
        warnings.setattr(intern!(py, "filters"), filters)?;
    }
    result
}

fn warning_filters(py: Python<'_>) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
    let warnings = modules.get_item(intern!(py, "warnings"))?;
    let filters = warnings.getattr(intern!(py, "filters"))?;
    Ok((warnings, filters))
}

fn ignore_all(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let everything = py.get_type::<PyWarning>();
    let filter = ("ignore", py.None(), everything, py.None(), 0).into_pyobject(py)?;
    PyList::new(py, [filter])
}
