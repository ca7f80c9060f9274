//! What the host keeps as its own: signals, working directory, environment, threads, exit; and what a host may be built
//! like: any runtime, two of them, or none.

mod processes;
mod runtimes;
mod signals;

use std::collections::BTreeMap;
use std::ffi::{CStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use warmcell::{FailureKind, Language, RuntimeError, Session};

use crate::support::{Cells, Judge, each, in_own_process, ms, settle, turn};

/// What a cell changes about the place it runs in, it changes for its session; the host sees none of it.
#[test]
fn working_directory_and_environment_stay_the_hosts() {
    in_own_process!(|| {
        let before = Surroundings::now();
        let turn = turn();
        let session = turn.python();
        before.are_still("after start");
        each(
            [
                "import os\nos.chdir('/')",
                "os.environ['WARMCELL_NEW'] = '1'\nos.putenv('WARMCELL_PUT', '1')",
                "del os.environ['PATH']\nos.unsetenv('HOME')",
                "os.environb[b'WARMCELL_BYTES'] = b'\\xff'",
                "os.environ.clear()",
                "import subprocess, multiprocessing, asyncio, threading, tempfile, decimal, ssl, sqlite3",
                "folder = os.open('/usr', os.O_RDONLY)\nos.fchdir(folder)",
                "import threading\nthread = threading.Thread(target=os.chdir, args=('/etc',)); thread.start(); thread.join()",
            ],
            |code| {
                session.cell(code).succeeded();
                before.are_still(code);
            },
        );
        session
            .cell_within(
                ms(100),
                "os.chdir('/tmp')\nos.environ['WARMCELL_NEW'] = '2'\nwhile True: pass",
            )
            .failed(FailureKind::Timeout);
        before.are_still("after a timeout");
        session
            .cell("os.chdir('/usr')\nos.environ['WARMCELL_NEW'] = '3'\n1 / 0")
            .raised("ZeroDivisionError");
        before.are_still("after an exception");
        // The session has it all as it left it.
        session
            .cell("[os.getcwd(), dict(os.environ)]")
            .returned(json!(["/usr", {"WARMCELL_NEW": "3"}]));
        session.reset_now();
        before.are_still("after a reset");
    });
}

/// What surrounds the host's code.
struct Surroundings {
    cwd: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    locale: String,
}

impl Surroundings {
    fn now() -> Self {
        // SAFETY: with a null pointer it only reads; the text is copied before anything else calls it.
        let locale = unsafe { CStr::from_ptr(libc::setlocale(libc::LC_ALL, std::ptr::null())) };
        Self {
            cwd: std::env::current_dir().unwrap(),
            environment: std::env::vars_os().collect(),
            locale: locale.to_string_lossy().into_owned(),
        }
    }

    #[track_caller]
    fn are_still(&self, when: &str) {
        let now = Self::now();
        assert_eq!(now.cwd, self.cwd, "{when}");
        assert_eq!(now.locale, self.locale, "{when}");
        let names = now.environment.keys().chain(self.environment.keys());
        let changed: Vec<_> = names
            .filter(|name| now.environment.get(*name) != self.environment.get(*name))
            .collect();
        assert!(changed.is_empty(), "{when}: {changed:?} changed");
    }
}

/// Closing Python's streams leaves the host's descriptors open.
#[test]
fn the_standard_streams_stay_the_hosts() {
    let ended = in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import sys\nfor stream in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__):\n    stream.close()")
            .succeeded();
        session
            .cell("print('still')")
            .printed("still\n")
            .succeeded();
        session.reset_now();
        session
            .cell("print('afresh')")
            .printed("afresh\n")
            .succeeded();
        println!("the host prints");
    });
    if let Some(ended) = ended {
        ended.after("the host prints");
    }
}

/// Threads that touch the interpreter at the end of the process hung or crashed it: PyO3/pyo3#4874.
#[test]
fn a_host_ends_within_a_second_whatever_threads_its_cells_left() {
    let ended = in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell(
                "import asyncio, atexit, threading, time\n\
                 def spin():\n    while True: pass\n\
                 def talk():\n    while True: print('x'); time.sleep(0.001)\n\
                 for target in (spin, talk):\n    for daemon in (True, False):\n        threading.Thread(target=target, daemon=daemon).start()\n\
                 threading.Thread(target=time.sleep, args=(1000,)).start()\n\
                 atexit.register(time.sleep, 1000)\n\
                 task = asyncio.get_event_loop_policy()\nthreading.Timer(0.2, spin).start()",
            )
            .succeeded();
        session.cell("1 + 1").returned(json!(2));
        println!("leaving");
    });
    if let Some(ended) = ended {
        let took = ended.after("leaving");
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// A host that leaves while a cell runs, and one that never closed its session.
#[test]
fn a_host_ends_within_a_second_while_a_cell_runs() {
    let ended = in_own_process!(|| {
        let session = settle(Session::builder(Language::Python).open()).unwrap();
        session.cell("x = 1").succeeded();
        let (cell, mut events) =
            warmcell::Cell::from("print('runs', flush=True)\nwhile True: pass").with_events(1);
        let execution = session.start(cell);
        settle(events.next()).expect("it runs");
        std::mem::forget((session, execution));
        println!("leaving");
    });
    if let Some(ended) = ended {
        let took = ended.after("leaving");
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// A process where CPython runs already is somebody else's.
#[test]
fn an_interpreter_that_runs_already_is_refused() {
    in_own_process!(|| {
        start_cpython_ourselves();
        for _ in 0..2 {
            let problem = settle(Session::builder(Language::Python).open()).expect_err("refused");
            assert!(
                matches!(problem, RuntimeError::Unavailable(_)),
                "{problem:?}"
            );
            let text = problem.to_string();
            assert!(text.contains("already") && text.contains("hint:"), "{text}");
        }
    });
}

/// What a host does that embeds CPython by itself.
fn start_cpython_ourselves() {
    type InitializeEx = unsafe extern "C" fn(std::ffi::c_int);
    // SAFETY: the symbol is CPython's `void Py_InitializeEx(int)`, in the libpython that this binary is linked with; no
    // interpreter runs yet in this process, and nothing else in it touches CPython.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"Py_InitializeEx".as_ptr());
        assert!(!symbol.is_null(), "this binary is linked with libpython");
        let initialize: InitializeEx = std::mem::transmute(symbol);
        initialize(0);
    }
}

/// The interpreter's own account of where it lives.
#[test]
fn python_finds_itself_at_home() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell(
                "import os, subprocess, sys, threading\n\
                 child = subprocess.run([sys.executable, '-c', 'import sys; print(sys.version_info[:3], sys.prefix)'], capture_output=True, text=True)\n\
                 return [child.stdout == f'{sys.version_info[:3]} {sys.prefix}\\n', child.stderr, os.access(sys.executable, os.X_OK), threading.current_thread() is threading.main_thread(), sys.flags.utf8_mode, sys.getfilesystemencoding()]",
            )
            .returned(json!([true, "", true, true, 1, "utf-8"]));
        each(
            [
                "ssl",
                "sqlite3",
                "ctypes",
                "zlib",
                "hashlib",
                "decimal",
                "lzma",
                "bz2",
                "readline",
                "uuid",
                "xml.etree.ElementTree",
            ],
            |module| {
                session.cell(&format!("import {module}")).succeeded();
            },
        );
    });
}
