//! What CPython's audit events tell at no cost to a cell: whether the folder or the environment may have changed, so that
//! putting them back is done only when needed, and whether this process is a child that the program forked.
//!
//! The hook runs on whatever thread does the thing, before it is done; it sets flags and records what was there.

use std::collections::HashMap;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;

use super::{children, cpython};

/// The process is a child that the program forked: it has one thread, and no engine to go back to.
static FORKED: AtomicBool = AtomicBool::new(false);

static TOUCHED: AtomicBool = AtomicBool::new(false);

/// The running cell started a process.
static SPAWNED: AtomicBool = AtomicBool::new(false);

/// The running cell set a trace or profile function.
static TRACED: AtomicBool = AtomicBool::new(false);

/// What was there before the running cell first touched it. Locked by whoever touches and by the engine after the cell,
/// for as long as it takes to read the folder or the environment.
static BEFORE: Mutex<Before> = Mutex::new(Before {
    folder: None,
    environment: None,
});

/// What a cell found before it changed it.
#[derive(Debug)]
pub(super) struct Before {
    /// The working folder, held open so that it is found again under any name.
    pub(super) folder: Option<OwnedFd>,
    pub(super) environment: Option<HashMap<OsString, OsString>>,
}

/// Starts listening. To be called before CPython is initialised.
pub(super) fn install() {
    cpython::add_audit_hook(hear);
    // SAFETY: the handler only stores to an atomic, which is allowed in a forked child.
    unsafe { libc::pthread_atfork(None, None, Some(note_fork)) };
}

extern "C" fn note_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

/// This process was forked by the runtime, and goes on in the place of the one it was forked from.
pub(super) fn forget_fork() {
    FORKED.store(false, Ordering::Relaxed);
}

/// Whether this process is a child that the program forked.
pub(super) fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Whether the cell that has just ended started a process.
pub(super) fn take_spawned() -> bool {
    SPAWNED.swap(false, Ordering::Relaxed)
}

/// Whether the cell that has just ended set a trace or profile function.
pub(super) fn take_traced() -> bool {
    TRACED.swap(false, Ordering::Relaxed)
}

/// What the cell that has just ended touched, if anything; nothing is recorded afterwards.
pub(super) fn take_touched() -> Option<Before> {
    if !TOUCHED.swap(false, Ordering::Relaxed) {
        return None;
    }
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    Some(Before {
        folder: before.folder.take(),
        environment: before.environment.take(),
    })
}

/// Holds the working folder open, so that it can be gone back to.
pub(super) fn open_working_folder() -> Option<OwnedFd> {
    // SAFETY: opens a path; a descriptor that is not negative is ours alone.
    unsafe {
        let folder = libc::open(
            c".".as_ptr(),
            libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC,
        );
        (folder >= 0).then(|| OwnedFd::from_raw_fd(folder))
    }
}

/// Goes back to a folder that [`open_working_folder`] opened.
pub(super) fn go_back(folder: &OwnedFd) -> std::io::Result<()> {
    // SAFETY: the descriptor is open.
    if unsafe { libc::fchdir(folder.as_raw_fd()) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// The environment is about to change.
pub(super) fn note_environment() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    before
        .environment
        .get_or_insert_with(|| std::env::vars_os().collect());
    TOUCHED.store(true, Ordering::Relaxed);
}

extern "C" fn hear(
    event: *const c_char,
    _arguments: *mut ffi::PyObject,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: CPython passes the event's name as a C string.
    let event = unsafe { CStr::from_ptr(event) }.to_bytes();
    let may_matter = event.starts_with(b"os.")
        || event.starts_with(b"sys.set")
        || event.starts_with(b"subprocess.");
    if !may_matter || is_forked_child() {
        return 0;
    }
    match event {
        b"os.fork" | b"os.forkpty" | b"os.posix_spawn" | b"os.system" | b"subprocess.Popen" => {
            children::note_thread();
            SPAWNED.store(true, Ordering::Relaxed);
        }
        b"sys.settrace" | b"sys.setprofile" => TRACED.store(true, Ordering::Relaxed),
        b"os.chdir" => {
            let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
            if before.folder.is_none() {
                before.folder = open_working_folder();
            }
            TOUCHED.store(true, Ordering::Relaxed);
        }
        b"os.putenv" | b"os.unsetenv" => note_environment(),
        _ => {}
    }
    0
}
