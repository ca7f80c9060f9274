//! What goes wrong around a worker rather than in it: descriptors that run out, files that two processes share, a supervisor
//! that is stopped, a host that is killed.

use std::fs;

use serde_json::json;
use warmcell::{FailureKind, Sandbox, SessionState};

use super::{builder, kind, notice, open, value, wait_for_the_backup};
use crate::support::{Cells, Server, eventually, in_own_process, ms, processes, settle};

#[test]
fn without_descriptors_there_is_no_backup_which_is_told() {
    let session = open(builder());
    assert!(session.cell("import os\nx = 1").ok);
    let code = "
files = []
try:
    while True: files.append(open('/etc/passwd'))
except OSError: pass";
    let told = session.cell(code);
    let told = match told.notice {
        Some(notice) => notice,
        // It is found out after the reply.
        None => notice(&session.cell("y = 2")).to_owned(),
    };
    assert!(
        told.starts_with("from here on a crash would lose the session: there is no backup, since "),
        "{told}"
    );
    assert!(told.contains("Too many open files"), "{told}");
    assert_eq!(session.cell("z = 3").notice, None);
    let died = session.cell("os._exit(1)");
    assert_eq!(died.state, SessionState::Lost, "{died:?}");

    // With descriptors again there are backups again.
    assert!(session.cell("import os\nx = 1\nfiles = []").ok);
    assert!(session.cell(code).ok);
    assert!(session.cell("del files").ok);
    assert_eq!(session.cell("os._exit(1)").state, SessionState::Restored);
    assert_eq!(value(&session.cell("return x")), "1");
}

#[test]
fn a_session_that_goes_back_stands_in_its_files_where_it_did() {
    let session = open(builder());
    let code = "
import os, tempfile
folder = tempfile.TemporaryDirectory()
path = folder.name + '/numbers'
with open(path, 'w') as file: file.writelines(f'{number}\\n' for number in range(100000))
numbers = open(path); next(numbers)
log = open(folder.name + '/log', 'w'); log.write('abc')";
    assert!(session.cell(code).ok);
    let died = session.cell("list(numbers); log.write('lost'); log.flush(); os._exit(1)");
    assert_eq!(died.state, SessionState::Restored);
    let after = session.cell("return [sum(1 for _ in numbers), log.tell()]");
    assert_eq!(value(&after), "[99999,3]");
}

#[test]
fn a_stopped_supervisor_is_woken() {
    let _ = in_own_process!(|| {
        let session = open(builder());
        assert!(session.cell("import os, signal\nx = 1").ok);
        assert!(session.cell("os.kill(os.getppid(), signal.SIGSTOP)").ok);
        let other = open(builder().env_pass("WARMCELL_NONE"));
        assert_eq!(value(&other.cell("return 1 + 1")), "2");
        assert!(session.cell("os.kill(os.getppid(), signal.SIGSTOP)").ok);
        assert_eq!(session.cell("os._exit(1)").state, SessionState::Restored);
        assert_eq!(value(&session.cell("return x")), "1");
    });
}

#[test]
fn the_temporary_folder_of_a_host_that_was_killed_is_removed() {
    let mut server = Server::start();
    let opened = server.call(
        "open",
        json!({ "language": "python", "sandbox": "read-only" }),
    );
    let session = opened["session"].as_str().unwrap().to_owned();
    let told = server.cell(&session, "import tempfile; return tempfile.gettempdir()");
    let folder = told["value"].as_str().unwrap().to_owned();
    assert!(folder.contains("/warmcell-") && fs::metadata(&folder).is_ok());
    drop(server);
    eventually("the folder is gone", || fs::metadata(&folder).is_err());
}

#[test]
fn two_cells_in_a_row_are_undone_and_no_more() {
    let session = open(builder().backup(warmcell::Backup::Undo));
    for cell in ["x = 1", "x = 2", "x = 3"] {
        assert!(session.cell(cell).ok);
        wait_for_the_backup(&session);
    }
    let undo = || settle(session.undo());
    assert_eq!(undo().unwrap(), 3);
    assert_eq!(value(&session.cell("return x")), "2");
    wait_for_the_backup(&session);
    let _ = (undo(), undo());
    let refused = undo().unwrap_err().to_string();
    assert!(
        refused.ends_with("was not kept: one or two cells in a row can be undone")
            || refused == "there is no cell to undo",
        "{refused}"
    );
}

#[test]
fn streams_have_the_descriptors_that_are_the_sessions() {
    let session = open(builder());
    let outcome = session.cell(
        "import subprocess, sys\nsubprocess.run(['echo', 'out'], stdout=sys.stdout)\nsubprocess.run(['echo', 'err'], stdout=sys.stderr)\nreturn [sys.stdout.fileno(), sys.stderr.buffer.fileno()]",
    );
    assert_eq!(value(&outcome), "[1,2]");
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("out\n", "err\n"));
}

#[test]
fn a_sandboxed_cell_leaves_other_processes_limits_and_secrets_alone() {
    let session = open(builder().sandbox(Sandbox::ReadOnly));
    let code = format!(
        "
import os, resource
def attempt(action):
    try: action()
    except OSError as error: return type(error).__name__
    return 'done'
host, parent = {}, os.getppid()
own = resource.getrlimit(resource.RLIMIT_NOFILE)
return [
    attempt(lambda: resource.prlimit(host, resource.RLIMIT_CORE, (0, 0))),
    attempt(lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (0, 0))),
    attempt(lambda: os.setpriority(os.PRIO_PROCESS, host, 5)),
    attempt(lambda: os.sched_setaffinity(host, [0])),
    attempt(lambda: open(f'/proc/{{host}}/environ').read()),
    attempt(lambda: os.chroot('/tmp')),
    attempt(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, own)),
    attempt(lambda: resource.prlimit(host, resource.RLIMIT_CORE)),
    attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))),
]",
        std::process::id()
    );
    let denied = "PermissionError";
    assert_eq!(
        value(&session.cell(&code)),
        format!(
            "[\"{denied}\",\"{denied}\",\"{denied}\",\"{denied}\",\"{denied}\",\"{denied}\",\"done\",\"done\",\"done\"]"
        )
    );
    assert!(processes::is_alive(std::process::id() as i32));
}

#[test]
fn a_loop_that_the_program_closed_is_replaced() {
    let session = open(builder());
    let code = "import asyncio\nasync def five(): return 5\nawait five()";
    assert_eq!(value(&session.cell(code)), "5");
    let closed = "loop = asyncio.get_event_loop()\nresult = loop.run_until_complete(five())\nloop.close()\nresult";
    assert_eq!(value(&session.cell(closed)), "5");
    let after = session.cell("await five()");
    assert_eq!((value(&after), &*after.stderr), ("5", ""));
}

/// In a process that has done little yet it takes its time to tell where a cell was stopped.
#[test]
fn the_first_stop_of_a_worker_names_its_line() {
    for _ in 0..5 {
        let session = open(builder());
        assert!(session.cell("x = 1").ok);
        // No stop is heard in the sum. It takes 0.1 s, and far less than the grace on a loaded machine, too.
        let stopped = session.cell_within(ms(20), "pass\nsum(range(6_000_000))");
        assert_eq!(kind(&stopped), FailureKind::Timeout, "{stopped:?}");
        let line = stopped.error.as_ref().and_then(|error| error.line);
        assert_eq!((line, &*stopped.stderr), (Some(2), ""), "{stopped:?}");
    }
}
