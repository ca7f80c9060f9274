//! Reset: the next cell meets a fresh session, whatever the last ones did to Python.

use serde_json::json;
use warmcell::{FailureKind, Language, Session};

use crate::support::{
    Cells, Judge, each, eventually, in_own_process, ms, settle, settle_within, turn,
};

/// Each of these changes something that the next cell must not find changed. The check is true in a fresh session.
#[test]
fn everything_a_cell_may_have_changed_is_put_back() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        each(
            [
                ("rows = [1]", "'rows' not in globals()"),
                ("import builtins; builtins.len = None", "len([1]) == 1"),
                (
                    "import builtins; builtins.__import__ = None",
                    "__import__('sys') is not None",
                ),
                (
                    "import builtins; builtins.extra = 1",
                    "not hasattr(__import__('builtins'), 'extra')",
                ),
                (
                    "import builtins; del builtins.sorted",
                    "sorted([2, 1]) == [1, 2]",
                ),
                ("print = None", "callable(print)"),
                ("__name__ = 'x'", "__name__ == '__main__'"),
                ("import sys; sys.stdout = None", "print('') is None"),
                (
                    "import sys; sys.__stdout__ = None",
                    "__import__('sys').__stdout__ is not None",
                ),
                (
                    "import sys; sys.stdin = None",
                    "__import__('sys').stdin is not None",
                ),
                (
                    "import os; os.chdir('/')",
                    "__import__('os').getcwd() != '/'",
                ),
                (
                    "import os; os.environ['NEW'] = '1'",
                    "'NEW' not in __import__('os').environ",
                ),
                (
                    "import os; os.environ.clear()",
                    "'PATH' in __import__('os').environ",
                ),
                (
                    "import os; os.umask(0o077)",
                    "(lambda os: os.umask(os.umask(0o022)) != 0o077)(__import__('os'))",
                ),
                (
                    "import sys; sys.path[:] = []",
                    "len(__import__('sys').path) > 1",
                ),
                (
                    "import sys; sys.path.insert(0, '/nowhere')",
                    "'/nowhere' not in __import__('sys').path",
                ),
                (
                    "import sys; sys.meta_path.clear()",
                    "len(__import__('sys').meta_path) >= 3",
                ),
                (
                    "import sys; sys.path_hooks.clear()",
                    "len(__import__('sys').path_hooks) >= 2",
                ),
                (
                    "import sys; sys.argv = ['x']",
                    "__import__('sys').argv != ['x']",
                ),
                (
                    "import sys; sys.excepthook = None",
                    "(lambda sys: sys.excepthook is sys.__excepthook__)(__import__('sys'))",
                ),
                (
                    "import sys; sys.displayhook = None",
                    "(lambda sys: sys.displayhook is sys.__displayhook__)(__import__('sys'))",
                ),
                (
                    "import threading; threading.excepthook = None",
                    "__import__('threading').excepthook is not None",
                ),
                (
                    "import sys; sys.settrace(lambda *a: None)",
                    "__import__('sys').gettrace() is None",
                ),
                (
                    "import sys; sys.setprofile(lambda *a: None)",
                    "__import__('sys').getprofile() is None",
                ),
                (
                    "import sys; sys.setrecursionlimit(5000)",
                    "__import__('sys').getrecursionlimit() < 5000",
                ),
                (
                    "import sys; sys.setswitchinterval(1)",
                    "__import__('sys').getswitchinterval() < 1",
                ),
                ("import gc; gc.disable()", "__import__('gc').isenabled()"),
                (
                    "import warnings; warnings.simplefilter('error')",
                    "__import__('warnings').warn('x') is None",
                ),
                (
                    "import warnings; warnings.showwarning = None",
                    "__import__('warnings').warn('x') is None",
                ),
                (
                    "import sys; del sys.modules['__main__']",
                    "__import__('sys').modules['__main__'].__dict__ is globals()",
                ),
                (
                    "import signal; signal.signal(signal.SIGUSR1, lambda *a: None)",
                    "(lambda s: s.getsignal(s.SIGUSR1) == s.SIG_DFL)(__import__('signal'))",
                ),
                ("x: int = 1", "not globals().get('__annotations__')"),
            ],
            |(change, check)| {
                session.cell(check).returned(json!(true));
                session.cell(change).succeeded();
                session.reset_now();
                let outcome = session.cell(check);
                assert_eq!(
                    outcome.value.as_ref().map(|value| value.as_str()),
                    Some("true"),
                    "after {change}: {outcome:#?}"
                );
                session.reset_now();
                session
                    .cell("print('works')")
                    .printed("works\n")
                    .succeeded();
            },
        );
    });
}

/// Errors are told in full again after a cell took apart what tells them.
#[test]
fn errors_are_whole_again() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        each(
            [
                "import traceback; traceback.TracebackException = None",
                "import traceback; traceback.format_exception = traceback.format_tb = traceback.extract_tb = None",
                "import linecache; linecache.cache = None",
                "import linecache; linecache.getline = linecache.getlines = linecache.checkcache = None",
                "import sys; sys.tracebacklimit = 0",
                "import sys; sys.modules['traceback'] = sys.modules['linecache'] = None",
            ],
            |change| {
                session.cell(change).succeeded();
                session.reset_now();
                let outcome = session.cell("x = 1\nx / 0");
                let error = outcome.raised("ZeroDivisionError");
                assert_eq!(error.line, Some(2), "after {change}: {outcome:#?}");
                let traceback = error.traceback.as_deref().unwrap_or_default();
                assert!(traceback.contains("x / 0"), "after {change}: {outcome:#?}");
            },
        );
    });
}

/// Modules that came from the session's folder, or from paths a cell added, are read anew; the library's stay.
#[test]
fn the_users_own_modules_are_read_anew() {
    in_own_process!(|| {
        let folder = tempfile::tempdir().unwrap();
        let added = tempfile::tempdir().unwrap();
        let write = |text: &str| {
            for (path, name) in [(folder.path(), "warm_near"), (added.path(), "warm_added")] {
                std::fs::write(path.join(format!("{name}.py")), text).unwrap();
                let package = path.join(format!("{name}_package"));
                std::fs::create_dir_all(&package).unwrap();
                std::fs::write(package.join("__init__.py"), "").unwrap();
                std::fs::write(package.join("part.py"), text).unwrap();
            }
        };
        let turn = turn();
        let session = turn.open(Session::builder(Language::Python).cwd(folder.path()));
        let read = format!(
            "import sys\nsys.dont_write_bytecode = True\nsys.path.append({:?})\nimport json, warm_near, warm_added, warm_near_package.part, warm_added_package.part\n\
             json.mark = 1\nreturn [warm_near.text, warm_added.text, warm_near_package.part.text, warm_added_package.part.text]",
            added.path()
        );
        write("text = 'first'\n");
        session.cell(&read).returned(json!(vec!["first"; 4]));
        write("text = 'the second'\n");
        session.cell(&read).returned(json!(vec!["first"; 4]));
        session.reset_now();
        session.cell(&read).returned(json!(vec!["the second"; 4]));
        session.reset_now();
        session
            .cell("import sys\n[name for name in sys.modules if name.startswith('warm_')]")
            .returned(json!([]));
    });
}

/// Tasks of the old session's loop are ended, in order.
#[test]
fn tasks_of_the_loop_are_ended() {
    let turn = turn();
    let session = turn.python();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ended");
    session
        .cell(&format!(
            "import asyncio\nasync def work():\n    try:\n        await asyncio.sleep(1000)\n    finally:\n        open({mark:?}, 'w').close()\n\
             async def stubborn():\n    while True:\n        try: await asyncio.sleep(1000)\n        except BaseException: pass\n\
             tasks = [asyncio.create_task(work()), asyncio.create_task(stubborn())]\nawait asyncio.sleep(0)"
        ))
        .succeeded();
    session.reset_now();
    assert!(mark.exists(), "the task's `finally` has run");
    session
        .cell("import asyncio\nawait asyncio.sleep(0)\nlen(asyncio.all_tasks())")
        .returned(json!(1));
}

/// What a program does to be kept does not keep a session half-reset.
#[test]
fn a_session_is_never_half_reset() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        each(
            [
                "class Trap:\n    def __del__(self):\n        while True: pass\nrows = Trap()",
                "class Trap:\n    def __del__(self): raise RuntimeError('no')\nrows = Trap()",
                "class Trap:\n    def __del__(self): globals()['rows'] = self\nrows = Trap()",
                "class Trap:\n    def __del__(self):\n        import builtins\n        builtins.len = None\nrows = Trap()",
                "import sys\nclass Trap(dict):\n    def __getattribute__(self, name): raise RuntimeError('no')\nrows = 1; sys.modules['odd'] = Trap()",
                "import sys\nclass Trap:\n    def find_spec(self, *a): raise RuntimeError('no')\nrows = 1; sys.meta_path.insert(0, Trap())",
                "import gc\nrows = []\ngc.callbacks.append(lambda *a: rows.append(1))",
                "import asyncio\nrows = 1\nasyncio.set_event_loop_policy(None); asyncio.set_event_loop(None)",
                "import asyncio\nrows = 1\nawait asyncio.sleep(0)\nasyncio.get_running_loop().call_soon(lambda: 1 / 0)",
            ],
            |trap| {
                session.cell(trap).succeeded();
                session.reset_now();
                session
                    .cell("['rows' in globals(), len('ab')]")
                    .returned(json!([false, 2]));
                session
                    .cell("import asyncio\nawait asyncio.sleep(0)\nprint('works')")
                    .printed("works\n")
                    .succeeded();
            },
        );
    });
}

/// One session's reset is not the other's.
#[test]
fn other_sessions_keep_what_they_have() {
    let turn = turn();
    let (one, other) = (turn.python(), turn.python());
    other
        .cell("import asyncio, json as j, os\nkeep = 41\nos.environ['OTHERS'] = '1'\ntask = asyncio.create_task(asyncio.sleep(0, 'done'))\nawait asyncio.sleep(0)")
        .succeeded();
    one.cell("keep = 1").succeeded();
    one.reset_now();
    one.cell("'keep' in globals()").returned(json!(false));
    other
        .cell("[keep + 1, j.dumps(1), os.environ['OTHERS'], await task]")
        .returned(json!([42, "1", "1", "done"]));
}

/// Reset waits its turn: cells given before run before, those given after run after.
#[test]
fn a_reset_takes_its_place_in_the_queue() {
    let turn = turn();
    let session = turn.python();
    let before = session.start("import time; time.sleep(0.1); x = 1; x");
    let runtime: &dyn warmcell::CodeRuntime = &*session;
    let reset = runtime.reset();
    let mut reset = Box::pin(reset);
    assert!(settle_within(ms(1), &mut reset).is_none(), "a cell runs");
    let after = session.start("'x' in globals()");
    settle(before).returned(json!(1));
    settle(reset).expect("the reset");
    settle(after).returned(json!(false));
}

/// The folder is the session's: neither a reset nor a cell that loses it takes it away for good, and no other session has it.
#[test]
fn a_session_goes_on_to_import_from_its_folder() {
    in_own_process!(|| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("beside_resets.py"), "name = 'beside'").unwrap();
        let turn = turn();
        let builder = Session::builder(Language::Python).imports_from(folder.path());
        let session = turn.open(builder);
        for _ in 0..2 {
            session
                .cell("import beside_resets; beside_resets.name")
                .returned(json!("beside"));
            session.cell("import sys; sys.path.clear()").succeeded();
            session.reset_now();
        }
        session.reset_now();
        settle(session.close());
        turn.python()
            .cell("import beside_resets")
            .raised("ModuleNotFoundError");
    });
}

#[test]
fn a_reset_after_a_stopped_cell() {
    let turn = turn();
    let session = turn.python();
    for _ in 0..20 {
        session
            .cell_within(ms(5), "x = 1\nwhile True: pass")
            .failed(FailureKind::Timeout);
        session.reset_now();
        session.cell("'x' in globals()").returned(json!(false));
    }
}

/// Threads cannot be ended, and what they print is not the fresh session's.
#[test]
fn threads_of_the_old_session_do_not_speak_in_the_new_one() {
    let turn = turn();
    let session = turn.python();
    let folder = tempfile::tempdir().unwrap();
    let (go, done) = (folder.path().join("go"), folder.path().join("done"));
    session
        .cell(&format!(
            "import os, threading, time\ndef late(go, done, exists, sleep, open):\n    while not exists(go): sleep(0.005)\n    print('from before')\n    open(done, 'w').close()\n\
             threading.Thread(target=late, args=({go:?}, {done:?}, os.path.exists, time.sleep, open)).start()"
        ))
        .succeeded();
    session.reset_now();
    std::fs::write(&go, "").unwrap();
    eventually("the thread has printed", || done.exists());
    let outcome = session.cell("print('new')");
    outcome.printed("new\n").succeeded();
}
