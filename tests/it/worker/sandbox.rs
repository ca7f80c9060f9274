//! What a sandboxed worker reaches, and that what cannot be enforced is refused.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use warmcell::{Isolation, JavaScriptEngine, Language, Sandbox, Session, SessionState};

use super::{Worker, builder, builder_of, open, value};
use crate::support::{Cells, eventually, settle};

/// A folder with a workspace in it, and a secret beside that.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("warmcell-test-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("workspace")).expect("a folder");
        fs::write(folder.join("secret"), "secret").expect("a file");
        fs::write(folder.join("workspace/data"), "data").expect("a file");
        std::os::unix::fs::symlink(folder.join("secret"), folder.join("workspace/link"))
            .expect("a link");
        Self(folder)
    }

    fn open(&self, sandbox: Sandbox) -> Worker {
        open(
            builder()
                .sandbox(sandbox)
                .workspace(self.0.join("workspace")),
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Tells what became of an attempt.
const TRY: &str = "
import os, socket, subprocess, sys, tempfile, json
def attempt(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return 'done'
def write(path):
    with open(path, 'w') as file: file.write('x')
def read(path):
    with open(path) as file: return file.read()
";

#[test]
fn a_kernel_of_today_holds_files_calls_and_signals() {
    let isolation = Isolation::of_this_kernel();
    assert!(isolation.seccomp, "{isolation:?}");
    // The machine that tests run on must offer it, or the tests below say nothing.
    assert!(isolation.holds_files(), "{isolation:?}");
}

#[test]
fn workspace_write_writes_there_and_nowhere_else() {
    let place = Place::new("write");
    let session = place.open(Sandbox::WorkspaceWrite);
    assert!(session.cell(TRY).ok);
    let secret = place.0.join("secret");
    let outcome = session.cell(&format!(
        "return [read('data'), attempt(lambda: write('new')), attempt(lambda: write({0:?} + '.new')), attempt(lambda: read({0:?})), attempt(lambda: read('link')), attempt(lambda: os.truncate({0:?}, 0)), attempt(lambda: os.remove({0:?})), attempt(lambda: write('/dev/null')), attempt(lambda: read('/etc/passwd')), attempt(lambda: read('/proc/1/environ')), attempt(lambda: os.listdir(os.path.expanduser('~')))]",
        secret
    ));
    let denied = "PermissionError";
    assert_eq!(
        value(&outcome),
        format!(
            "[\"data\",\"done\",\"{denied}\",\"{denied}\",\"{denied}\",\"{denied}\",\"{denied}\",\"done\",\"done\",\"{denied}\",\"{denied}\"]"
        )
    );
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    // Children are held as well, and packages, the temporary folder and semaphores are there.
    let works = session.cell(&format!(
        "
import multiprocessing, sqlite3, ssl
child = subprocess.run(['cat', {secret:?}], capture_output=True).returncode
with tempfile.TemporaryFile() as file: file.write(b'x')
lock = multiprocessing.Lock()
return [child, os.getcwd() == os.path.realpath({:?})]",
        place.0.join("workspace")
    ));
    assert_eq!(value(&works), "[1,true]", "{works:?}");
}

#[test]
fn read_only_writes_to_its_temporary_folder_alone_which_goes_with_it() {
    let place = Place::new("read");
    let session = place.open(Sandbox::ReadOnly);
    assert!(session.cell(TRY).ok);
    let outcome = session.cell("return [read('data'), attempt(lambda: write('new')), attempt(lambda: write('data')), attempt(lambda: write(tempfile.gettempdir() + '/new'))]");
    assert_eq!(
        value(&outcome),
        "[\"data\",\"PermissionError\",\"PermissionError\",\"done\"]"
    );
    let folder = session.cell("return tempfile.gettempdir()");
    let folder: String = serde_json::from_str(value(&folder)).unwrap();
    assert!(folder.contains("/warmcell-") && fs::metadata(&folder).is_ok());
    // A backup is held as the process that it replaces.
    assert_eq!(session.cell("os._exit(1)").state, SessionState::Restored);
    let after = session.cell("return [attempt(lambda: write('new')), attempt(lambda: write(tempfile.gettempdir() + '/new'))]");
    assert_eq!(value(&after), "[\"PermissionError\",\"done\"]");
    drop(session);
    eventually("the folder is gone", || fs::metadata(&folder).is_err());
}

#[test]
fn without_network_no_socket_of_it_is_made() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connect = format!(
        "return [attempt(lambda: socket.create_connection(('127.0.0.1', {port}))), attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)), attempt(lambda: socket.socketpair())]"
    );
    let held = open(builder().network(false));
    assert!(held.cell(TRY).ok);
    assert_eq!(
        value(&held.cell(&connect)),
        "[\"PermissionError\",\"PermissionError\",\"done\"]"
    );
    // The loop's own sockets are no network.
    assert_eq!(
        value(&held.cell("import asyncio\nawait asyncio.sleep(0)\nreturn 1")),
        "1"
    );
    let child = held.cell(&format!("return subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'], capture_output=True).returncode"));
    assert_eq!(value(&child), "1");
    let free = open(builder());
    assert!(free.cell(TRY).ok);
    assert_eq!(value(&free.cell(&connect)), "[\"done\",\"done\",\"done\"]");
}

#[test]
fn a_sandboxed_cell_cannot_signal_what_is_not_its_own() {
    let place = Place::new("signal");
    let session = place.open(Sandbox::WorkspaceWrite);
    assert!(session.cell(TRY).ok);
    let host = std::process::id();
    let outcome = session.cell(&format!(
        "return [attempt(lambda: os.kill(os.getppid(), 9)), attempt(lambda: os.kill({host}, 0))]"
    ));
    if Isolation::of_this_kernel().holds_signals() {
        assert_eq!(value(&outcome), "[\"PermissionError\",\"PermissionError\"]");
    }
    let stopped = session.cell_within(std::time::Duration::from_millis(100), "while True: pass");
    assert_eq!(stopped.state, SessionState::Kept);
}

#[test]
fn javascript_reads_its_workspace_alone() {
    let place = Place::new("javascript");
    fs::write(place.0.join("outside.js"), "export const x = 1;").unwrap();
    fs::write(place.0.join("workspace/inside.js"), "export const x = 2;").unwrap();
    for engine in JavaScriptEngine::ALL {
        let session = open(
            builder_of(Language::JavaScript)
                .javascript_engine(*engine)
                .sandbox(Sandbox::ReadOnly)
                .workspace(place.0.join("workspace")),
        );
        let inside = session.cell("return (await import('./inside.js')).x");
        assert_eq!(value(&inside), "2");
        let outside = session.cell("return (await import('../outside.js')).x");
        assert!(!outside.ok, "{outside:?}");
    }
}

#[test]
fn a_sandbox_without_a_process_of_its_own_is_refused() {
    let refused =
        |builder: warmcell::SessionBuilder| settle(builder.open()).unwrap_err().to_string();
    let here = Session::builder(Language::Python);
    let text = |what: &str| {
        format!(
            "{what} needs a process of its own\nhint: open the session in a worker (`placement`)"
        )
    };
    assert_eq!(
        refused(here.clone().sandbox(Sandbox::ReadOnly)),
        text("`sandbox`")
    );
    assert_eq!(refused(here.network(false)), text("`network`"));
    assert!(
        refused(builder().workspace("/tmp")).starts_with("`workspace` is given, and nothing holds")
    );
    assert_eq!(
        refused(builder().sandbox(Sandbox::ReadOnly).workspace("/no/such")),
        "`workspace` is `/no/such`, which is not a folder"
    );
}
