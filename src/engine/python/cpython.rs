//! What the engine needs of CPython beyond the limited API, in one place: everything else in this folder would also build
//! against abi3. Thin wrappers, each with the reason why the limited API does not do.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

/// Initialises CPython on the calling thread, which becomes its main thread, as the python at `executable` would see it.
///
/// An isolated configuration: no environment variables, no user site, no signal handlers, no change of locale or of the C
/// standard streams. `home` is where the standard library lies, when the interpreter was made with another installation
/// than the library that is loaded. (The limited API has no `PyConfig`.)
pub(super) fn initialise(executable: &Path, home: Option<&Path>) -> Result<(), String> {
    let executable = c_path(executable)?;
    let home = home.map(c_path).transpose()?;
    let mut preconfig = MaybeUninit::<ffi::PyPreConfig>::zeroed();
    // SAFETY: the call fills in the whole struct, which is plain data.
    let mut preconfig = unsafe {
        ffi::PyPreConfig_InitIsolatedConfig(preconfig.as_mut_ptr());
        preconfig.assume_init()
    };
    preconfig.utf8_mode = 1;
    preconfig.configure_locale = 0;
    // SAFETY: CPython is not initialised (the caller checked), and the struct lives across the call.
    let status = unsafe { ffi::Py_PreInitialize(&raw const preconfig) };
    check(status, "pre-initialisation")?;

    let mut config = MaybeUninit::<ffi::PyConfig>::zeroed();
    // SAFETY: the call fills in the whole struct, whose strings CPython owns until `PyConfig_Clear`.
    let mut config = unsafe {
        ffi::PyConfig_InitIsolatedConfig(config.as_mut_ptr());
        config.assume_init()
    };
    config.install_signal_handlers = 0;
    config.parse_argv = 0;
    config.configure_c_stdio = 0;
    config.faulthandler = 0;
    config.write_bytecode = 1;
    let config = &raw mut config;
    // SAFETY: `config` was initialised above and is cleared once below, on every path; both fields belong to it.
    unsafe {
        let pointer = config;
        let set =
            move |field, path: &CStr| ffi::PyConfig_SetBytesString(pointer, field, path.as_ptr());
        let mut status = set(&raw mut (*config).executable, &executable);
        if ffi::PyStatus_Exception(status) == 0 {
            status = set(&raw mut (*config).program_name, &executable);
        }
        if let Some(home) = &home
            && ffi::PyStatus_Exception(status) == 0
        {
            status = set(&raw mut (*config).home, home);
        }
        if ffi::PyStatus_Exception(status) == 0 {
            status = ffi::Py_InitializeFromConfig(config);
        }
        ffi::PyConfig_Clear(config);
        check(status, "initialisation")
    }
}

fn c_path(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| format!("`{}` holds a null byte", path.display()))
}

fn check(status: ffi::PyStatus, step: &str) -> Result<(), String> {
    // SAFETY: only reads the struct.
    if unsafe { ffi::PyStatus_Exception(status) } == 0 {
        return Ok(());
    }
    let message = if status.err_msg.is_null() {
        "no reason given".into()
    } else {
        // SAFETY: CPython's message is a static C string.
        unsafe { CStr::from_ptr(status.err_msg) }.to_string_lossy()
    };
    Err(format!("CPython's {step} failed: {message}"))
}

/// Lets go of the interpreter lock after initialisation; `Python::attach` finds this thread's state again.
pub(super) fn release_after_start() {
    // SAFETY: the calling thread has just initialised CPython and therefore holds the lock.
    unsafe { ffi::PyEval_SaveThread() };
}

/// Adds a hook that sees CPython's audit events, before CPython is initialised. (Not in the limited API.)
pub(super) fn add_audit_hook(
    hook: extern "C" fn(*const c_char, *mut ffi::PyObject, *mut c_void) -> c_int,
) {
    unsafe extern "C" {
        fn PySys_AddAuditHook(
            hook: extern "C" fn(*const c_char, *mut ffi::PyObject, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }
    // SAFETY: allowed before initialisation by its documentation; the hook is a plain function that lives for ever.
    unsafe { PySys_AddAuditHook(hook, std::ptr::null_mut()) };
}

/// Makes `hook` run at every call and line on this thread, also in frames that run already. (Not in the limited API; what
/// `sys.settrace` sets reaches only frames that start later.)
pub(super) fn set_trace(_py: Python<'_>, hook: ffi::Py_tracefunc) {
    // SAFETY: the lock is held.
    unsafe { ffi::PyEval_SetTrace(Some(hook), std::ptr::null_mut()) };
}

/// Takes any profile function off this thread.
pub(super) fn clear_profile(_py: Python<'_>) {
    // SAFETY: the lock is held.
    unsafe { ffi::PyEval_SetProfile(None, std::ptr::null_mut()) };
}

/// Takes any trace function off this thread.
pub(super) fn clear_trace(_py: Python<'_>) {
    // SAFETY: the lock is held.
    unsafe { ffi::PyEval_SetTrace(None, std::ptr::null_mut()) };
}

/// Runs a code object that compiles to a value or a coroutine, in a module's globals.
pub(super) fn evaluate<'py>(
    code: &Bound<'py, PyAny>,
    globals: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = code.py();
    // SAFETY: the lock is held; `code` is a code object and `globals` a dict, both alive across the call.
    unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyEval_EvalCode(code.as_ptr(), globals.as_ptr(), globals.as_ptr()),
        )
    }
}

/// The Python frame that runs on this thread.
pub(super) fn current_frame(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: the lock is held; the call borrows the frame, which stays while it is current.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }
}

/// A context variable, which tasks inherit. (The limited API has none.)
#[derive(Debug)]
pub(super) struct ContextVariable(Py<PyAny>);

impl ContextVariable {
    pub(super) fn new(py: Python<'_>, name: &CStr) -> PyResult<Self> {
        // SAFETY: the lock is held and the name is a C string.
        let variable = unsafe { ffi::PyContextVar_New(name.as_ptr(), std::ptr::null_mut()) };
        // SAFETY: a new reference, or null with an exception set.
        Ok(Self(
            unsafe { Bound::from_owned_ptr_or_err(py, variable) }?.unbind(),
        ))
    }

    pub(super) fn set(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        // SAFETY: the lock is held, the variable is one; the token that comes back is dropped at once.
        unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyContextVar_Set(self.0.as_ptr(), value.as_ptr()))
        }
        .map(drop)
    }

    /// The value in the calling thread's context.
    pub(super) fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let mut value = std::ptr::null_mut();
        // SAFETY: the lock is held; on success `value` is a new reference or null.
        unsafe {
            if ffi::PyContextVar_Get(self.0.as_ptr(), std::ptr::null_mut(), &raw mut value) != 0 {
                ffi::PyErr_Clear();
                return None;
            }
            Bound::from_owned_ptr_or_opt(py, value)
        }
    }
}

/// The ids of all threads that have a Python state, never used twice in a process.
///
/// (The limited API cannot list them.) The list is read under the lock: a state is unlinked with the lock held, and a new
/// one is linked in front of the head that was read.
pub(super) fn thread_ids(_py: Python<'_>) -> Vec<i64> {
    let mut ids = Vec::new();
    // SAFETY: the lock is held; see above for the list.
    unsafe {
        let mut state = ffi::PyInterpreterState_ThreadHead(ffi::PyInterpreterState_Get());
        while !state.is_null() {
            ids.push(ffi::PyThreadState_GetID(state));
            state = ffi::PyThreadState_Next(state);
        }
    }
    ids
}

/// No exception is being handled any more, on a thread where none can be. A trace function that raises on a line of CPython's
/// own clean-up of an `except` block leaves its exception there, and every later one would have it as its context.
pub(super) fn forget_handled(_py: Python<'_>) {
    // SAFETY: the lock is held; null is no exception.
    unsafe { ffi::PyErr_SetHandledException(std::ptr::null_mut()) };
}

/// Whether this is the only thread with a Python state.
pub(super) fn is_only_thread(_py: Python<'_>) -> bool {
    // SAFETY: the lock is held; as in `thread_ids`.
    unsafe {
        let head = ffi::PyInterpreterState_ThreadHead(ffi::PyInterpreterState_Get());
        ffi::PyThreadState_Next(head).is_null()
    }
}

/// What other threads there are with a Python state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    None,
    /// They run no Python code: threads of libraries on their way in or out, or of Python's at their start or end.
    Passing,
    Running,
}

pub(super) fn other_threads(_py: Python<'_>) -> Others {
    let mut others = Others::None;
    // SAFETY: the lock is held; as in `thread_ids`. The frame is given as a reference of our own.
    unsafe {
        let own = ffi::PyThreadState_Get();
        let mut state = ffi::PyInterpreterState_ThreadHead(ffi::PyInterpreterState_Get());
        while !state.is_null() {
            if state != own {
                let frame = ffi::PyThreadState_GetFrame(state);
                if !frame.is_null() {
                    ffi::Py_DECREF(frame.cast());
                    return Others::Running;
                }
                others = Others::Passing;
            }
            state = ffi::PyThreadState_Next(state);
        }
    }
    others
}

/// The calling thread's id, as in [`thread_ids`].
pub(super) fn current_thread_id(_py: Python<'_>) -> i64 {
    // SAFETY: the lock is held, so the thread has a state.
    unsafe { ffi::PyThreadState_GetID(ffi::PyThreadState_Get()) }
}

/// The name of an object's type, read from the type's C struct: no code of the program runs.
pub(super) fn type_name(object: &Bound<'_, PyAny>) -> String {
    class_name(&object.get_type())
}

/// The name of a type, read likewise.
pub(super) fn class_name(type_object: &Bound<'_, PyType>) -> String {
    let full = full_type_name(type_object).to_string_lossy();
    // A class made by Python code has its bare name there, one of C code its module's path before it.
    full.rsplit('.').next().unwrap_or(&full).to_owned()
}

/// The name in a type's C struct, with its module where C code put it there. (The limited API gives a type's name only
/// from 3.11 on, and as a new object.)
pub(super) fn full_type_name<'a>(type_object: &'a Bound<'_, PyType>) -> &'a CStr {
    // SAFETY: every ready type has a name that ends in a null byte; it lives until the type goes or its `__name__` is
    // assigned, which takes Python code that does not run while the result is borrowed.
    unsafe { CStr::from_ptr((*type_object.as_type_ptr()).tp_name) }
}

/// A type's own dict, without what it inherits. (`__dict__` would go through the metaclass.)
///
/// Since CPython 3.12 there is none for what the interpreter itself defines.
pub(super) fn own_dict<'a, 'py>(
    type_object: &'a Bound<'py, PyType>,
) -> Option<Borrowed<'a, 'py, PyDict>> {
    // SAFETY: the type is alive and owns its dict, as long as the result is borrowed from it.
    unsafe {
        let dict = (*type_object.as_type_ptr()).tp_dict;
        (!dict.is_null()).then(|| Borrowed::from_ptr(type_object.py(), dict).cast_unchecked())
    }
}

/// Makes an iterator by a type's own slot, whatever a subclass of it defines.
///
/// # Safety
///
/// `object` is an instance of `type_object`.
pub(super) unsafe fn iterator_by<'py>(
    type_object: &Bound<'py, PyType>,
    object: &Bound<'py, PyAny>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    // SAFETY: the type is alive; its slot takes its instances, and gives a new reference or null with an exception set.
    unsafe {
        let make = (*type_object.as_type_ptr()).tp_iter?;
        Some(Bound::from_owned_ptr_or_err(
            object.py(),
            make(object.as_ptr()),
        ))
    }
}

/// Shows `visit` what an object refers to, as the cyclic collector would.
///
/// # Safety
///
/// `visit` takes `argument` for what it is, and runs no Python code.
pub(super) unsafe fn traverse(
    object: &Bound<'_, PyAny>,
    visit: ffi::visitproc,
    argument: *mut c_void,
) -> bool {
    // SAFETY: the slot belongs to the type of the live object; for the rest the caller vouches.
    unsafe {
        let Some(traverse) = (*ffi::Py_TYPE(object.as_ptr())).tp_traverse else {
            return false;
        };
        traverse(object.as_ptr(), visit, argument);
    }
    true
}

/// The size of a list, read from its memory; the limited API has a call for it, which checks the type each time.
///
/// # Safety
///
/// `list` is a list.
#[inline(always)]
pub(super) unsafe fn list_size(list: *mut ffi::PyObject) -> isize {
    // SAFETY: the caller vouches.
    unsafe { ffi::PyList_GET_SIZE(list) }
}

/// An item of a list, borrowed from it.
///
/// # Safety
///
/// `list` is a list, and `index` below its size.
#[inline(always)]
pub(super) unsafe fn list_item(list: *mut ffi::PyObject, index: isize) -> *mut ffi::PyObject {
    // SAFETY: the caller vouches.
    unsafe { ffi::PyList_GET_ITEM(list, index) }
}

/// The size of a tuple, read from its memory.
///
/// # Safety
///
/// `tuple` is a tuple.
#[inline(always)]
pub(super) unsafe fn tuple_size(tuple: *mut ffi::PyObject) -> isize {
    // SAFETY: the caller vouches.
    unsafe { ffi::PyTuple_GET_SIZE(tuple) }
}

/// An item of a tuple, borrowed from it.
///
/// # Safety
///
/// `tuple` is a tuple, and `index` below its size.
#[inline(always)]
pub(super) unsafe fn tuple_item(tuple: *mut ffi::PyObject, index: isize) -> *mut ffi::PyObject {
    // SAFETY: the caller vouches.
    unsafe { ffi::PyTuple_GET_ITEM(tuple, index) }
}

/// Compiles source with flags of our own. (The limited API's call takes none.)
pub(super) fn compile<'py>(
    source: &CStr,
    file_name: &Bound<'py, PyString>,
    start: c_int,
    flags: c_int,
) -> PyResult<Bound<'py, PyAny>> {
    // The feature version is read for syntax trees only.
    let mut flags = ffi::PyCompilerFlags {
        cf_flags: flags,
        cf_feature_version: 0,
    };
    // SAFETY: the source is a C string, the file name a `str`, the flags live through the call, and the lock is held, as the
    // file name's `Bound` shows. The call gives a new reference, or null with an exception set.
    unsafe {
        let code = ffi::Py_CompileStringObject(
            source.as_ptr(),
            file_name.as_ptr(),
            start,
            &raw mut flags,
            -1,
        );
        Bound::from_owned_ptr_or_err(file_name.py(), code)
    }
}
