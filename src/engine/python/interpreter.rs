//! The interpreter: how CPython comes to life on the calling thread, and what all its sessions share.
//!
//! It is never finalised: extension modules load but once in a process, and nothing of it needs saving. The thread that
//! starts it is Python's main thread, the only one in which CPython runs signal handlers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyString};

use super::compile::Compiler;
use super::display::Displayer;
use super::failure::{Environment, Reporter};
use super::locate::{Located, locate};
use super::streams::Streams;
use super::surroundings::Change;
use super::tasks::Tasks;
use super::{audit, children, cpython, guard, helper, interrupt, memory, version};
use crate::engine::EngineError;

/// CPython, ready to open sessions.
pub(super) struct Interpreter {
    pub(super) located: Located,
    pub(super) compiler: Compiler,
    pub(super) reporter: Reporter,
    pub(super) displayer: Displayer,
    pub(super) streams: Streams,
    /// What the interpreter held when it was ready, in bytes.
    pub(super) baseline_memory: i64,
    executable: String,
    tasks: std::cell::OnceCell<Tasks>,
    /// Held, since a program may break importing.
    builtins: Py<PyModule>,
    modules: Py<PyDict>,
    linecache: Py<PyDict>,
    baseline: Py<PyAny>,
    set_variables: Py<PyAny>,
}

impl Interpreter {
    /// Starts CPython on the calling thread as the python that `asked` names, or the one that is found.
    pub(super) fn start(asked: Option<&Path>, cwd: &Path) -> Result<Self, EngineError> {
        let virtual_env = std::env::var_os("VIRTUAL_ENV");
        let located = locate(asked, cwd, virtual_env.as_deref()).map_err(problem)?;
        version::loaded_version_matches().map_err(problem)?;
        // SAFETY: documented as callable at any time.
        if unsafe { ffi::Py_IsInitialized() } != 0 {
            return Err(EngineError(
                "CPython runs in this process already, started by something other than warmcell\nhint: open the session before anything else starts CPython, or in another process"
                    .to_owned(),
            ));
        }
        memory::install();
        audit::install();
        cpython::initialise(&located.executable, located.home.as_deref()).map_err(EngineError)?;
        // SAFETY: this thread has just initialised CPython and holds its lock.
        let py = unsafe { Python::assume_attached() };
        let interpreter = Self::furnish(py, located).map_err(|error| {
            EngineError(format!(
                "the interpreter started, but the runtime's own code failed in it: {error}"
            ))
        });
        cpython::release_after_start();
        interpreter
    }

    /// Sets up what sessions share.
    fn furnish(py: Python<'_>, located: Located) -> PyResult<Self> {
        children::note_thread();
        memory::self_test(py).map_err(pyo3::exceptions::PyRuntimeError::new_err)?;
        let handler = interrupt::prepare(py)?;
        guard::install(py, &handler)?;
        let sys = py.import("sys")?;
        // Modules of the working folder can be imported, as with `python -c`.
        sys.getattr("path")?.cast::<PyList>()?.insert(0, "")?;
        if located.home.is_some() {
            // A spawned child gets our `sys.path`, and with it the standard library of the installation we run on.
            py.import("multiprocessing")?
                .call_method1("set_executable", (version::BUILT_EXECUTABLE,))?;
        }
        let streams = Streams::new(py)?;
        let compiler = Compiler::new(py)?;
        let reporter = Reporter::load(py)?;
        let displayer = Displayer::load(py)?;
        let baseline = helper::load(py, "baseline", include_str!("baseline.py"))?;
        let linecache = py
            .import("linecache")?
            .getattr("cache")?
            .cast_into::<PyDict>()?
            .unbind();
        let executable = located.executable.to_string_lossy().into_owned();
        Ok(Self {
            located,
            compiler,
            reporter,
            displayer,
            streams,
            baseline_memory: memory::used(),
            executable,
            tasks: std::cell::OnceCell::new(),
            builtins: py.import("builtins")?.unbind(),
            modules: sys.getattr("modules")?.cast_into::<PyDict>()?.unbind(),
            linecache,
            baseline: baseline.getattr("Baseline")?.call0()?.unbind(),
            set_variables: baseline.getattr("set_variables")?.unbind(),
        })
    }

    /// The functions for cells that await, loaded when the first one comes.
    pub(super) fn tasks(&self, py: Python<'_>) -> PyResult<&Tasks> {
        if let Some(tasks) = self.tasks.get() {
            return Ok(tasks);
        }
        let tasks = Tasks::load(py)?;
        Ok(self.tasks.get_or_init(|| tasks))
    }

    /// A module as the python command gives it to a script.
    pub(super) fn fresh_main(&self, py: Python<'_>) -> PyResult<(Py<PyModule>, Py<PyDict>)> {
        let module = PyModule::new(py, "__main__")?;
        let globals = module.dict();
        globals.set_item("__builtins__", &self.builtins)?;
        Ok((module.unbind(), globals.unbind()))
    }

    /// Makes `module` the `__main__` of what is imported, pickled or looked up from now on.
    pub(super) fn make_main(&self, py: Python<'_>, module: &Py<PyModule>) -> PyResult<()> {
        self.modules
            .bind(py)
            .set_item(pyo3::intern!(py, "__main__"), module)
    }

    /// No event loop runs any more, whatever an interrupt skipped: `asyncio.run` of a program's own may not have said so.
    pub(super) fn leave_any_loop(&self, py: Python<'_>) {
        if let Ok(Some(asyncio)) = self.modules.bind(py).get_item("asyncio")
            && let Err(error) = asyncio.call_method1("_set_running_loop", (py.None(),))
        {
            error.write_unraisable(py, None);
        }
    }

    /// Makes the lines of a cell known to tracebacks and to `inspect`.
    pub(super) fn remember_lines(
        &self,
        py: Python<'_>,
        file_name: &Bound<'_, PyString>,
        source: &str,
    ) -> PyResult<()> {
        let lines = if source.ends_with('\n') {
            PyList::new(py, source.split_inclusive('\n').collect::<Vec<_>>())?
        } else {
            let (whole, last) =
                source.split_at(source.rfind('\n').map_or(0, |newline| newline + 1));
            let lines = PyList::new(py, whole.split_inclusive('\n').collect::<Vec<_>>())?;
            lines.append(format!("{last}\n"))?;
            lines
        };
        self.linecache
            .bind(py)
            .set_item(file_name, (source.len(), py.None(), lines, file_name))
    }

    /// Forgets the lines of a cell.
    pub(super) fn forget_lines(&self, py: Python<'_>, file_name: &Py<PyString>) {
        // A program may have cleared the cache.
        let _ = self.linecache.bind(py).del_item(file_name);
    }

    /// Gets everything that is not a session's own back to how it was at the start.
    pub(super) fn restore_baseline(
        &self,
        py: Python<'_>,
        folder: Option<&PathBuf>,
    ) -> PyResult<()> {
        let here = std::env::current_dir().ok();
        let folders: Vec<OsString> = [here.as_ref(), folder]
            .into_iter()
            .flatten()
            .map(|path| path.into())
            .collect();
        self.baseline
            .bind(py)
            .call_method1("restore", (folders,))
            .map(drop)
    }

    pub(super) fn set_variables<'a>(
        &self,
        py: Python<'_>,
        changes: impl IntoIterator<Item = Change<'a>>,
    ) -> PyResult<()> {
        let environ = self.baseline.bind(py).getattr("environ")?;
        let changes: Vec<Change<'a>> = changes.into_iter().collect();
        self.set_variables
            .bind(py)
            .call1((environ, changes))
            .map(drop)
    }

    /// What failures say about where cells run.
    pub(super) fn environment(&self, memory_mb: u64) -> Environment<'_> {
        Environment {
            executable: &self.executable,
            notice: self.located.notice.as_deref(),
            memory_mb,
        }
    }
}

fn problem(problem: impl std::fmt::Display) -> EngineError {
    EngineError(problem.to_string())
}
