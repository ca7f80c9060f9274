//! The interpreter: how CPython comes to life on the calling thread, and what all its sessions share.
//!
//! It is never finalised: extension modules load but once in a process, and nothing of it needs saving. The thread that
//! starts it is Python's main thread, the only one in which CPython runs signal handlers.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyModule, PyString};

use super::compile::Compiler;
use super::failure::{Environment, Reporter};
use super::locate::{Located, locate};
use super::streams::Streams;
use super::tasks::Tasks;
use super::{
    audit, children, cpython, display, guard, helper, interrupt, memory, packages, version,
};
use crate::engine::{EngineError, Opening};

/// CPython, ready to open sessions.
pub(super) struct Interpreter {
    pub(super) located: Located,
    pub(super) compiler: Compiler,
    pub(super) reporter: Reporter,
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
    variable_name: Py<PyAny>,
    /// `os`'s own dict, `os.environ`, and the dict behind it.
    os: Py<PyDict>,
    environ: Py<PyAny>,
    environ_entries: Py<PyDict>,
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
        display::install(py)?;
        packages::install(py)?;
        let baseline = helper::load(py, "baseline", include_str!("baseline.py"))?;
        let linecache = py
            .import("linecache")?
            .getattr("cache")?
            .cast_into::<PyDict>()?
            .unbind();
        let executable = located.executable.to_string_lossy().into_owned();
        let os = py.import("os")?;
        let environ = os.getattr("environ")?;
        Ok(Self {
            located,
            compiler,
            reporter,
            streams,
            baseline_memory: memory::used(),
            executable,
            tasks: std::cell::OnceCell::new(),
            builtins: py.import("builtins")?.unbind(),
            modules: sys.getattr("modules")?.cast_into::<PyDict>()?.unbind(),
            linecache,
            baseline: baseline.getattr("Baseline")?.call0()?.unbind(),
            variable_name: baseline.getattr("variable_name")?.unbind(),
            os: os.dict().unbind(),
            environ_entries: environ.getattr("_data")?.cast_into::<PyDict>()?.unbind(),
            environ: environ.unbind(),
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

    /// What every namespace finds beyond its own names.
    pub(super) fn builtins<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.builtins.bind(py).dict()
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
        let line = |line: &str| match line.ends_with('\n') {
            true => PyString::new(py, line),
            false => PyString::new(py, &format!("{line}\n")),
        };
        let lines: Vec<_> = source.split_inclusive('\n').map(line).collect();
        let lines = PyList::new(py, lines)?;
        self.linecache
            .bind(py)
            .set_item(file_name, (source.len(), py.None(), lines, file_name))
    }

    pub(super) fn has_lines(&self, py: Python<'_>, file_name: &Bound<'_, PyString>) -> bool {
        self.linecache.bind(py).contains(file_name).unwrap_or(false)
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

    /// Has imports look into `folder` first.
    pub(super) fn import_from(&self, py: Python<'_>, folder: &Path) -> PyResult<()> {
        let path = py.import("sys")?.getattr("path")?;
        path.call_method1("insert", (0, folder.as_os_str()))?;
        Ok(())
    }

    /// Has imports look into `folder` no more.
    pub(super) fn import_no_more_from(&self, py: Python<'_>, folder: &Path) {
        // A program may have taken it out, or have bound the name to something else.
        let path = py.import("sys").and_then(|sys| sys.getattr("path"));
        let _ = path.and_then(|path| path.call_method1("remove", (folder.as_os_str(),)));
    }

    /// Sets and removes environment variables, in `os.environ` and for C code alike, without any code that a program can
    /// have changed; and undoes a rebinding of `os.environ` itself.
    pub(super) fn set_variables<'a>(
        &self,
        py: Python<'_>,
        changes: impl IntoIterator<Item = Change<'a>>,
    ) -> PyResult<()> {
        let entries = self.environ_entries.bind(py);
        for (name, value) in changes {
            let key = PyBytes::new(py, name.as_bytes());
            match value {
                Some(value) => {
                    // SAFETY: other threads of the host may read the environment meanwhile, which glibc makes safe for all
                    // but pointers that they keep; the program in this session has changed it just so.
                    unsafe { std::env::set_var(name, value) };
                    entries.set_item(key, PyBytes::new(py, value.as_bytes()))?;
                }
                None => {
                    // SAFETY: as above.
                    unsafe { std::env::remove_var(name) };
                    if entries.contains(&key)? {
                        entries.del_item(key)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// `os.environ` is the process's own, whatever a cell bound there.
    pub(super) fn put_environ_back(&self, py: Python<'_>) -> PyResult<()> {
        self.os
            .bind(py)
            .set_item(pyo3::intern!(py, "environ"), &self.environ)
    }

    /// A package whose import was interrupted is taken off the list of modules by CPython, the parts of it that were
    /// imported are not, and would keep it from being imported well. Extension modules stay: they load but once.
    pub(super) fn drop_half_imported(&self, py: Python<'_>) {
        let modules = self.modules.bind(py);
        let is_orphan = |name: &Bound<'_, PyAny>, module: &Bound<'_, PyAny>| -> PyResult<bool> {
            let name = name.extract::<String>()?;
            let Some((package, _)) = name.split_once('.') else {
                return Ok(false);
            };
            if modules.contains(package)? {
                return Ok(false);
            }
            let file = module
                .getattr("__file__")
                .and_then(|file| file.extract::<String>());
            Ok(file.is_ok_and(|file| file.ends_with(".py")))
        };
        let orphans: Vec<_> = modules
            .iter()
            .filter(|(name, module)| is_orphan(name, module).unwrap_or(false))
            .map(|(name, _)| name)
            .collect();
        for name in orphans {
            let _ = modules.del_item(name);
        }
    }

    /// `name` as Python reads it, when a program could have bound it: an identifier in its normal form, no keyword, and
    /// none of the names that the interpreter keeps for itself.
    pub(super) fn variable_name(&self, py: Python<'_>, name: &str) -> Option<String> {
        let name: String = self
            .variable_name
            .bind(py)
            .call1((name,))
            .ok()?
            .extract()
            .ok()?;
        (!name.is_empty()).then_some(name)
    }

    /// What failures say about where cells run.
    pub(super) fn environment<'a>(&'a self, opening: &'a Opening) -> Environment<'a> {
        Environment {
            executable: &self.executable,
            notice: self.located.notice.as_deref(),
            memory_mb: opening.limits.memory_mb,
            withheld: &opening.withheld,
        }
    }
}

/// A change of the environment: a name, and what it should be.
pub(super) type Change<'a> = (&'a OsStr, Option<&'a OsStr>);

fn problem(problem: impl std::fmt::Display) -> EngineError {
    EngineError(problem.to_string())
}
