//! Cells, how they end, and what a plain `compile`, `ast` and functions say about the same text.

mod endings;
mod failures;
mod positions;
mod properties;
mod scanning;

use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyModule};
use std::ffi::CString;

use super::*;
use crate::engine::python::testing;

/// Runs a test with Python.
fn with_python<T: Send + 'static>(
    test: impl FnOnce(&Bench<'_>) -> PyResult<T> + Send + 'static,
) -> T {
    testing::python(|py| {
        Bench::new(py)
            .and_then(|bench| {
                let result = test(&bench)?;
                bench.support.call_method0("close")?;
                Ok(result)
            })
            .unwrap_or_else(|error| {
                error.print(py);
                panic!("{error}")
            })
    })
}

struct Bench<'py> {
    py: Python<'py>,
    compiler: &'static Compiler,
    support: Bound<'py, PyModule>,
}

impl<'py> Bench<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        static COMPILER: PyOnceLock<Compiler> = PyOnceLock::new();
        static SUPPORT: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let support = SUPPORT.get_or_try_init(py, || {
            let code = CString::new(include_str!("tests/support.py"))?;
            PyModule::from_code(py, &code, c"support.py", c"support").map(Bound::unbind)
        })?;
        Ok(Self {
            py,
            compiler: COMPILER.get_or_try_init(py, || Compiler::new(py))?,
            support: support.bind(py).clone(),
        })
    }

    fn compile(&self, source: &str) -> PyResult<Compiled> {
        let name = PyString::new(self.py, "<cell>");
        self.compiler.compile(self.py, source, &name)
    }

    /// What a cell gives, in words: `Expression 2`, `Nothing`, `SyntaxError:2:5 invalid syntax`, `ValueError: x`.
    fn cell(&self, source: &str, globals: &Bound<'py, PyDict>) -> PyResult<String> {
        let compiled = match self.compile(source) {
            Ok(compiled) => compiled,
            Err(error) => return self.compile_error(&error),
        };
        let run = self.run(&compiled, globals);
        let returned = take_flagged(self.py, &compiled)?;
        let value = match run {
            Ok(value) => value,
            Err(error) => return Ok(error.to_string()),
        };
        let text = match (compiled.ending, returned) {
            (Ending::Nothing, _) | (_, Returned::Nothing) if compiled.ending == Ending::Nothing => {
                "Nothing".to_owned()
            }
            (Ending::Expression, _) => format!("Expression {}", value.repr()?),
            (Ending::Return, _) => format!("Return {}", value.repr()?),
            (_, Returned::Nothing) => "Flagged Nothing".to_owned(),
            (_, Returned::Bare) => "Flagged Bare".to_owned(),
            (_, Returned::Value(value)) => format!("Flagged Value {}", value.bind(self.py).repr()?),
            (_, Returned::Expression(value)) => {
                format!("Flagged Expression {}", value.bind(self.py).repr()?)
            }
        };
        Ok(text)
    }

    /// Runs the parts; gives the value of the last.
    fn run(
        &self,
        compiled: &Compiled,
        globals: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if compiled.awaits {
            let parts = self.parts(compiled)?;
            return self.support.call_method1("run", (parts, globals));
        }
        let none = self.py.None().into_bound(self.py);
        compiled
            .parts
            .iter()
            .flatten()
            .try_fold(none, |_, part| part.bind(self.py).run(Some(globals), None))
    }

    fn compile_error(&self, error: &PyErr) -> PyResult<String> {
        let value = error.value(self.py);
        let kind = value.get_type().name()?;
        if !error::is_syntax(error, self.py) {
            return Ok(format!("{kind} while compiling"));
        }
        let line: Option<usize> = value.getattr("lineno")?.extract()?;
        let column: Option<usize> = value.getattr("offset")?.extract()?;
        let message = value.getattr("msg")?;
        Ok(format!(
            "{kind}:{}:{} {message}",
            line.unwrap_or(0),
            column.unwrap_or(0)
        ))
    }

    fn parts(&self, compiled: &Compiled) -> PyResult<Bound<'py, PyList>> {
        PyList::new(self.py, compiled.parts.iter().flatten())
    }

    fn session(&self) -> PyResult<Bound<'py, PyDict>> {
        let globals = PyDict::new(self.py);
        globals.set_item("__name__", "__main__")?;
        Ok(globals)
    }

    /// Runs the cells of one session, all of which must give what they are said to give.
    fn check(&self, cells: &[(&str, &str)]) -> PyResult<()> {
        let globals = self.session()?;
        for (source, wanted) in cells {
            assert_eq!(&self.cell(source, &globals)?, wanted, "{source}");
        }
        Ok(())
    }

    /// `ending` as `expected` of `support.py` names it, and whether the parts differ from those of the tree.
    fn against_tree(&self, source: &str) -> PyResult<(String, String, bool)> {
        let expected = self.support.call_method1("expected", (source,))?;
        let (wanted, codes): (String, Bound<'py, PyAny>) = expected.extract()?;
        let Ok(compiled) = self.compile(source) else {
            return Ok((wanted, "error".to_owned(), false));
        };
        let differs = !matches!(wanted.as_str(), "Flagged" | "error")
            && self
                .support
                .call_method1("differs", (codes, self.parts(&compiled)?))?
                .extract()?;
        Ok((wanted, format!("{:?}", compiled.ending), differs))
    }

    /// Compiling `source` as a Python function without arguments.
    fn compiling(&self, source: &str) -> PyResult<Bound<'py, PyCFunction>> {
        let (source, compiler) = (source.to_owned(), self.compiler);
        PyCFunction::new_closure(self.py, None, None, move |arguments, _| {
            let name = PyString::new(arguments.py(), "<cell>");
            compiler.compile(arguments.py(), &source, &name).map(drop)
        })
    }
}
