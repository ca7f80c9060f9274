//! What broke in comparable projects and is the business of a process of one's own, each as the public report of it describes.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use warmcell::{Cell, FailureKind, JavaScriptEngine, Language, Limits, SessionState};

use super::{
    SECOND, Worker, builder, builder_of, kind, message, notice, open, value, wait_for_the_backup,
};
use crate::support::{
    Alone, Cells, Random, each, eventually, in_own_process, ms, processes, settle, test_name,
    timed, venv,
};

fn javascript(engine: JavaScriptEngine) -> Worker {
    open(builder_of(Language::JavaScript).javascript_engine(engine))
}

/// A timeout was raised, and then the process froze for the stuck thread: huggingface/smolagents#2464. An asynchronous
/// exception does not wake a call that blocks: python/cpython#144748.
#[test]
fn calls_that_block_end_at_their_deadline_and_the_session_is_kept() {
    let session = open(builder());
    assert!(
        session
            .cell("import time, threading, socket, select, os\nx = 41")
            .ok
    );
    each(
        [
            "time.sleep(3600)",
            "lock = threading.Lock(); lock.acquire(); lock.acquire()",
            "one, other = socket.socketpair(); one.recv(1)",
            "read, write = os.pipe(); select.select([read], [], [])",
            "threading.Event().wait()",
        ],
        |code| {
            let (took, stopped) = timed(|| session.cell_within(ms(300), code));
            assert_eq!(kind(&stopped), FailureKind::Timeout, "{stopped:?}");
            assert_eq!(stopped.state, SessionState::Kept);
            assert!(took < ms(1500), "{took:?}");
            assert_eq!(value(&session.cell("return x + 1")), "42");
        },
    );
}

/// One operation in C held the interpreter, and nothing could time out: huggingface/smolagents#2473. A hard kill was told as
/// "variables preserved": code-yeongyu/senpi#381.
#[test]
fn one_operation_that_never_looks_up_costs_its_cell_alone() {
    let session = open(builder());
    let neighbour = open(builder());
    assert!(session.cell("x = 41").ok && neighbour.cell("y = 1").ok);
    let execution = session.start(Cell::new("x = 0\nsum(range(10**13))").with_timeout(ms(200)));
    // The neighbour is served while the cell hangs.
    let started = Instant::now();
    while started.elapsed() < SECOND {
        assert_eq!(value(&neighbour.cell("return y")), "1");
    }
    let stopped = settle(execution);
    assert_eq!(kind(&stopped), FailureKind::Timeout);
    assert_eq!(stopped.state, SessionState::Restored);
    assert!(notice(&stopped).contains("the session is as it was before cell 2"));
    assert_eq!(value(&session.cell("return x + 1")), "42");
    let too_large = session.cell("1 << (8 * 10**10)");
    assert_eq!(kind(&too_large), FailureKind::Memory);
    assert_eq!(value(&session.cell("return x + 1")), "42");
}

/// An interrupt left a child process that was stuck: ipython/ipython#3400.
#[test]
fn the_children_of_a_stopped_cell_end_with_it() {
    in_own_process!(|| {
        let session = open(builder());
        assert!(session.cell("import subprocess\nx = 1").ok);
        each(
            [
                "subprocess.run(['sleep', '1234'])",
                "subprocess.Popen(['sleep', '1234'], start_new_session=True).wait()",
            ],
            |code| {
                let stopped = session.cell_within(ms(300), code);
                assert_eq!(kind(&stopped), FailureKind::Timeout, "{stopped:?}");
                assert_eq!(value(&session.cell("return x")), "1");
                eventually("the child has ended", || {
                    !processes::descendants()
                        .iter()
                        .any(|process| process.command.contains("1234"))
                });
            },
        );
    });
}

/// A start that hung was outside any timeout: can1357/oh-my-pi#548.
#[test]
fn a_start_that_hangs_is_ended_and_says_where_it_hung() {
    let folder = venv().with_file_name("venv-that-hangs");
    let _ = fs::remove_dir_all(&folder);
    let copied = Command::new("cp")
        .arg("-a")
        .arg(venv())
        .arg(&folder)
        .status();
    assert!(copied.expect("`cp` runs").success());
    let packages = fs::read_dir(folder.join("lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let hook = packages.path().join("site-packages/sitecustomize.py");
    fs::write(hook, "import time\ntime.sleep(10_000)\n").expect("the hook");
    let session = open(builder().python(&folder));
    let waiting = session.start("1");
    let cancelled = session.start("2");
    cancelled.canceller().cancel();
    assert_eq!(kind(&settle(cancelled)), FailureKind::Cancelled);
    let (took, outcome) = timed(|| settle(waiting));
    assert_eq!(kind(&outcome), FailureKind::Unavailable, "{outcome:?}");
    assert!(
        message(&outcome).starts_with(
            "the worker did not come to life within 20 s: its interpreter was starting"
        )
    );
    assert!(took < 30 * SECOND, "{took:?}");
    let _ = fs::remove_dir_all(&folder);
}

/// A healthy start on a loaded machine was told as "not ready": code-yeongyu/oh-my-openagent#8317.
#[test]
fn a_start_on_a_loaded_machine_is_waited_for() {
    struct Busy(Vec<Child>);
    impl Drop for Busy {
        fn drop(&mut self) {
            for child in &mut self.0 {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
    let spin = |_| {
        let mut command = Command::new("sh");
        command
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null());
        command.spawn().expect("a busy process")
    };
    in_own_process!(|| {
        // The load is this test's own: those beside it measure how long things take, on the other processors.
        stay_on_this_processor();
        let busy = Busy((0..25).map(spin).collect());
        let session = open(builder());
        assert_eq!(value(&session.cell("return 1 + 1")), "2");
        drop(busy);
    });
}

/// Holds the calling thread, and what it starts, to the processor it runs on.
fn stay_on_this_processor() {
    // SAFETY: all zeros is a set of no processors, and the calls read and write nothing else.
    let held = unsafe {
        let mut processors: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut processors);
        libc::sched_setaffinity(0, size_of_val(&processors), &raw const processors)
    };
    assert_eq!(held, 0);
}

/// A kill while the allocator's lock was held left it held: hyperlight-dev/hyperlight#931.
#[test]
fn a_kill_at_any_moment_leaves_a_session_that_runs() {
    let session = open(builder());
    assert!(session.cell("import os\nx = 1").ok);
    let mut random = Random::new();
    for round in 0..150 {
        let process: i32 = value(&session.cell("return os.getpid()")).parse().unwrap();
        let (cell, mut events) = Cell::new(
            "x = 2; print('runs', flush=True)\nwhile True: b'x' * 100_000; [b'y'] * 1000",
        )
        .with_events(4);
        let execution = session.start(cell);
        settle(events.next()).expect("the cell runs");
        std::thread::sleep(random.between(ms(0), ms(8)));
        // SAFETY: the worker of this session, which lives until it is killed here.
        unsafe { libc::kill(process, libc::SIGKILL) };
        let died = settle(execution);
        assert_eq!(
            kind(&died),
            FailureKind::WorkerExit,
            "round {round}: {died:?}"
        );
        assert_eq!(
            died.state,
            SessionState::Restored,
            "round {round}: {died:?}"
        );
        assert_eq!(value(&session.cell("return x")), "1", "round {round}");
    }
}

/// What C code and children write was not captured: ipython/ipykernel#630.
#[test]
fn what_is_written_past_python_is_captured_in_order() {
    let session = open(builder());
    let outcome = session.cell("import os, subprocess, ctypes\nos.write(1, b'x\\n'); subprocess.run(['echo', 'hi']); libc = ctypes.CDLL(None); libc.puts(b'native'); libc.fflush(None); print('end'); os.write(2, b'err\\n')");
    assert_eq!(outcome.stdout, "x\nhi\nnative\nend\n");
    assert_eq!(outcome.stderr, "err\n");
}

/// An update of a library turned the memory limit off, and nobody saw it: everruns/bashkit#2298.
#[test]
fn the_memory_limit_is_armed_in_every_engine() {
    let limits = Limits::default().with_memory_mb(16);
    let python = open(builder().limits(limits.clone()));
    let outcome = python.cell("x = [str(number) for number in range(1_000_000)]");
    assert_eq!(kind(&outcome), FailureKind::Memory, "{outcome:?}");
    for engine in JavaScriptEngine::ALL {
        let session = open(
            builder_of(Language::JavaScript)
                .javascript_engine(*engine)
                .limits(limits.clone()),
        );
        let outcome = session.cell(
            "const x = []; for (let i = 0; i < 1e6; i++) x.push({ i, text: 'n' + i }); x.length",
        );
        assert_eq!(
            kind(&outcome),
            FailureKind::Memory,
            "{engine:?}: {outcome:?}"
        );
        assert_eq!(value(&session.cell("return 1")), "1");
    }
}

/// A guest made its host allocate outside any budget: GHSA-8h84-8vq7-j6cv.
#[test]
fn nothing_a_cell_does_makes_the_host_large() {
    in_own_process!(|| {
        let resident = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status
                .lines()
                .find(|line| line.starts_with("VmRSS:"))
                .unwrap();
            line.split_whitespace()
                .nth(1)
                .unwrap()
                .parse::<u64>()
                .unwrap()
                >> 10
        };
        let mut limits = Limits::default().with_output_bytes(4096);
        limits.file_mb = Some(8);
        let session = open(builder().limits(limits));
        assert!(session.cell("import io, os, sys, tempfile").ok);
        let before = resident();
        let buffer = session.cell("f = io.BytesIO(); f.seek(2**40); f.write(b'x')");
        assert_eq!(kind(&buffer), FailureKind::Memory);
        let sparse =
            session.cell("f = tempfile.TemporaryFile(); f.seek(2**40); f.write(b'x'); f.flush()");
        assert_eq!(sparse.error.unwrap().name.as_deref(), Some("OSError"));
        assert!(session.cell("for _ in range(300): sys.stdout.write('x' * (1 << 20)); os.write(2, b'y' * 65536)").ok);
        let too_long = session.cell("return 'x' * (100 << 20)");
        assert_eq!(kind(&too_long), FailureKind::OutputLimit);
        let grown = resident().saturating_sub(before);
        assert!(grown < 64, "the host has grown by {grown} MiB");
    });
}

/// Deep nesting overflowed the native stack: pydantic/monty#112, boa-dev/boa#1402, boa-dev/boa#5527.
#[test]
fn deep_nesting_is_an_error_of_the_cell() {
    let session = open(builder());
    assert!(session.cell("x = 1").ok);
    for depth in [300, 5_000, 20_000] {
        for open in ["(", "[", "[lambda: "] {
            let outcome = session.cell(&format!("{}1", open.repeat(depth)));
            assert!(
                matches!(kind(&outcome), FailureKind::Syntax | FailureKind::Memory),
                "{outcome:?}"
            );
            assert_eq!(outcome.state, SessionState::Kept);
        }
    }
    let deep = session.cell("d = []\nfor _ in range(100_000): d = [d]\nrepr(d)");
    assert_eq!(deep.error.unwrap().name.as_deref(), Some("RecursionError"));
    assert_eq!(value(&session.cell("return x")), "1");
    for engine in JavaScriptEngine::ALL {
        let session = javascript(*engine);
        assert!(session.cell("let x = 1").ok);
        for depth in [300, 5_000, 20_000] {
            for open in ["(", "["] {
                let outcome = session.cell(&format!("{}1", open.repeat(depth)));
                assert_eq!(
                    kind(&outcome),
                    FailureKind::Syntax,
                    "{engine:?}: {outcome:?}"
                );
                assert_eq!(outcome.state, SessionState::Kept);
            }
        }
        assert_eq!(value(&session.cell("return x")), "1");
    }
}

/// One guest's fault ended the server for everybody: Arize-ai/phoenix#14784.
#[test]
fn a_crash_is_the_sessions_own_affair() {
    let neighbour = open(builder());
    assert!(neighbour.cell("y = 1").ok);
    let session = open(builder());
    assert!(session.cell("import ctypes, faulthandler, os\nx = 1").ok);
    each(
        [
            ("ctypes.string_at(0)", "SIGSEGV"),
            ("os.abort()", "SIGABRT"),
            ("faulthandler._sigsegv()", "SIGSEGV"),
        ],
        |(code, signal)| {
            let died = session.cell(&format!("x = 2; {code}"));
            assert_eq!(
                message(&died),
                format!("the worker process was killed by {signal}")
            );
            assert_eq!(died.state, SessionState::Restored);
            assert_eq!(value(&session.cell("return x")), "1");
            assert_eq!(value(&neighbour.cell("return y")), "1");
        },
    );
}

/// Spawning processes ran the host's program again and again: PyO3/pyo3#4215.
#[test]
fn spawned_processes_run_python_and_not_the_worker() {
    in_own_process!(|| {
        let session = open(builder());
        let code = "
import concurrent.futures, multiprocessing, os, sys
spawn = multiprocessing.get_context('spawn')
process = spawn.Process(target=print, args=('hello',)); process.start(); process.join()
with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
    squares = list(pool.map(abs, [-1, -2]))
return [process.exitcode, squares, os.path.basename(os.path.realpath(sys.executable)).startswith('python')]";
        let outcome = session.cell(code);
        assert_eq!(value(&outcome), "[0,[1,2],true]", "{outcome:?}");
        let own = processes::descendants();
        let workers = own
            .iter()
            .filter(|process| process.command.contains(" worker "));
        // The supervisor, the worker and a spare, each with its backup.
        assert!(workers.count() <= 5, "{own:?}");
    });
}

/// A supervisor waits for its children in its own way, which its workers and their children must not inherit.
#[test]
fn no_signal_is_blocked_in_a_worker() {
    let session = open(builder());
    let code = "
import multiprocessing, signal, subprocess, sys
told = []
signal.signal(signal.SIGCHLD, lambda number, frame: told.append(number))
blocked = 'import signal; print(list(signal.pthread_sigmask(signal.SIG_BLOCK, [])))'
child = subprocess.run([sys.executable, '-c', blocked], capture_output=True, text=True)
process = multiprocessing.get_context('forkserver').Process(target=print); process.start(); process.join(20)
return [list(signal.pthread_sigmask(signal.SIG_BLOCK, [])), child.stdout, bool(told), process.exitcode]";
    let outcome = session.cell(code);
    assert_eq!(value(&outcome), r#"[[],"[]\n",true,0]"#, "{outcome:?}");
}

/// Functions of cells could not be unpickled in a pool: ipython/ipython#10894.
#[test]
fn a_pool_runs_the_functions_of_cells() {
    let session = open(builder());
    let outcome = session.cell("import multiprocessing\ndef double(n): return 2 * n\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n    doubled = pool.map(double, [1, 2])\nreturn doubled");
    assert_eq!(value(&outcome), "[2,4]", "{outcome:?}");
    // The pool has ended, and its threads with it.
    assert!(session.cell("pass").ok);
    wait_for_the_backup(&session);
    assert_eq!(
        session.cell("import os; os._exit(1)").state,
        SessionState::Restored
    );
    assert_eq!(value(&session.cell("return double(4)")), "8");
}

/// Extensions did not find the interpreter's symbols: PyO3/pyo3#2000.
#[test]
fn extensions_of_the_standard_library_are_imported() {
    let session = open(builder());
    let outcome = session.cell("import subprocess, ssl, sqlite3, ctypes, hashlib, lzma, zlib, decimal, unicodedata, _multiprocessing\nreturn sqlite3.connect(':memory:').execute('select 1 + 1').fetchone()[0]");
    assert_eq!(value(&outcome), "2");
}

/// A fork lost the interpreter's names without a word: mitos-run/mitos#596. What a restored session has and has not.
#[test]
fn a_session_that_went_back_has_its_names_files_and_random_numbers() {
    Alone::new(test_name!()).run(|| {
        let session = open(builder());
        let code = "
import os, random, socket, tempfile
x = 21
file = tempfile.TemporaryFile('w+'); file.write('first '); file.flush()
one, other = socket.socketpair()
random.seed(7); expected = random.Random(7).random()
environment = os.environ.setdefault('BRANCH', 'kept')";
        assert!(session.cell(code).ok);
        assert_eq!(session.cell("x = 0; os._exit(1)").state, SessionState::Restored);
        let after = session.cell("file.write('second'); file.seek(0)\ntry:\n    one.send(b'x'); sent = 'sent'\nexcept OSError: sent = 'closed'\nreturn [x + 1, random.random() == expected, file.read(), sent, os.getpid() != 0]");
        assert_eq!(value(&after), "[22,true,\"first second\",\"closed\",true]", "{after:?}");
    });
}
