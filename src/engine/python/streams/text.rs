//! The objects that stand in `sys.stdout` and `sys.stderr`: the whole surface of a text stream, natively, since a print costs
//! two calls of theirs.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::super::cpython;
use super::{descriptor, flush, print, unsupported};
use crate::output::Stream;

/// `sys.stdout` and `sys.stderr`.
#[pyclass(frozen, dict, weakref, module = "warmcell", name = "TextStream")]
pub(super) struct TextStream {
    pub(super) stream: Stream,
}

#[pymethods]
impl TextStream {
    fn write(&self, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = text.py();
        let Ok(text) = text.cast::<PyString>() else {
            let type_name = cpython::type_name(text);
            return Err(PyTypeError::new_err(format!(
                "write() argument must be str, not {type_name}"
            )));
        };
        match text.to_str() {
            Ok(utf8) => print(py, self.stream, utf8.as_bytes()),
            // A lone surrogate.
            Err(_) => {
                let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
                print(py, self.stream, bytes.extract::<&[u8]>()?);
            }
        }
        // SAFETY: the lock is held and `text` is a str.
        Ok(usize::try_from(unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) }).unwrap_or(0))
    }

    fn writelines(&self, lines: &Bound<'_, PyAny>) -> PyResult<()> {
        for line in lines.try_iter()? {
            self.write(&line?)?;
        }
        Ok(())
    }

    fn flush(&self, py: Python<'_>) {
        flush(py, self.stream);
    }

    #[getter]
    fn buffer(&self) -> ByteStream {
        ByteStream {
            stream: self.stream,
        }
    }

    #[getter]
    fn name(&self) -> &'static str {
        match self.stream {
            Stream::Stdout => "<stdout>",
            Stream::Stderr => "<stderr>",
        }
    }

    #[getter]
    fn mode(&self) -> &'static str {
        "w"
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        "utf-8"
    }

    #[getter]
    fn errors(&self) -> &'static str {
        "backslashreplace"
    }

    #[getter]
    fn newlines(&self) -> Option<&'static str> {
        None
    }

    #[getter]
    fn line_buffering(&self) -> bool {
        true
    }

    #[getter]
    fn write_through(&self) -> bool {
        true
    }

    #[getter]
    fn closed(&self) -> bool {
        false
    }

    /// Does nothing: the stream belongs to the runtime, and stays open.
    fn close(&self) {}

    /// Takes what `io.TextIOWrapper` takes; text is UTF-8 and goes through at once, whatever is asked.
    #[pyo3(signature = (**_options))]
    fn reconfigure(&self, _options: Option<&Bound<'_, PyDict>>) {}

    fn isatty(&self) -> bool {
        false
    }

    fn readable(&self) -> bool {
        false
    }

    fn writable(&self) -> bool {
        true
    }

    fn seekable(&self) -> bool {
        false
    }

    /// In a process of its own the session has the descriptors to itself; elsewhere they are the host's.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        descriptor(py, self.stream)
    }

    fn detach(&self, py: Python<'_>) -> PyResult<()> {
        Err(unsupported(py, "detach"))
    }

    #[pyo3(signature = (*_arguments))]
    fn read(&self, py: Python<'_>, _arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        Err(unsupported(py, "not readable"))
    }

    #[pyo3(signature = (*_arguments))]
    fn readline(&self, py: Python<'_>, _arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        Err(unsupported(py, "not readable"))
    }

    #[pyo3(signature = (*_arguments))]
    fn readlines(&self, py: Python<'_>, _arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        Err(unsupported(py, "not readable"))
    }

    #[pyo3(signature = (*_arguments))]
    fn seek(&self, py: Python<'_>, _arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        Err(unsupported(py, "underlying stream is not seekable"))
    }

    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        Err(unsupported(py, "underlying stream is not seekable"))
    }

    #[pyo3(signature = (*_arguments))]
    fn truncate(&self, py: Python<'_>, _arguments: &Bound<'_, PyTuple>) -> PyResult<()> {
        Err(unsupported(py, "truncate"))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<()> {
        Err(unsupported(py, "not readable"))
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_arguments))]
    fn __exit__(&self, _arguments: &Bound<'_, PyTuple>) {}

    fn __repr__(&self) -> String {
        format!(
            "<warmcell.TextStream name='{}' mode='w' encoding='utf-8'>",
            self.name()
        )
    }
}

/// `sys.stdout.buffer`: the same stream in bytes.
#[pyclass(frozen, module = "warmcell", name = "ByteStream")]
struct ByteStream {
    stream: Stream,
}

#[pymethods]
impl ByteStream {
    fn write(&self, py: Python<'_>, bytes: PyBuffer<u8>) -> PyResult<usize> {
        let bytes = bytes.to_vec(py)?;
        print(py, self.stream, &bytes);
        Ok(bytes.len())
    }

    fn writelines(&self, py: Python<'_>, lines: &Bound<'_, PyAny>) -> PyResult<()> {
        for line in lines.try_iter()? {
            self.write(py, PyBuffer::get(&line?)?)?;
        }
        Ok(())
    }

    fn flush(&self, py: Python<'_>) {
        flush(py, self.stream);
    }

    #[getter]
    fn raw(&self) -> Self {
        Self {
            stream: self.stream,
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        false
    }

    fn close(&self) {}

    fn isatty(&self) -> bool {
        false
    }

    fn readable(&self) -> bool {
        false
    }

    fn writable(&self) -> bool {
        true
    }

    fn seekable(&self) -> bool {
        false
    }

    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        descriptor(py, self.stream)
    }
}
