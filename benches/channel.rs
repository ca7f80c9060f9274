//! What a cell costs a host: mailbox, interpreter thread, outcome, reply; beside an empty round trip over the same kinds of
//! channel and the bare C API on the interpreter's own thread.
//!
//! Compare as ratios within one run: waking a thread across idle cores costs ten times what it costs on one core, and the
//! scheduler decides. `taskset -c 0 cargo bench --bench channel` takes the scheduler out of it; measured so on two virtual
//! cores, µs, in three runs: empty round trip 2.0, bare `1+1` 4.3 to 4.6, a round trip to a bare `1+1` 7.5 to 7.9, a cell of `1+1`
//! 9.2, 9.4 and 10.1 (1.42, 1.49 and 1.52 times the first two together), the same from the code cache 3.5. Thin LTO with one
//! codegen unit takes 4 % off the cell, and a minute more for each binary to link.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pyo3::ffi;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use warmcell::{Language, Limits, Session};

fn runtimes() -> [(&'static str, Runtime); 2] {
    let current = Builder::new_current_thread().build().expect("a runtime");
    let multi = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    [("current-thread", current), ("multi-thread", multi)]
}

fn cells(criterion: &mut Criterion) {
    let open = |code_cache| {
        let limits = Limits::default().with_value_bytes(1 << 30);
        let builder = Session::builder(Language::Python)
            .limits(limits)
            .code_cache(code_cache);
        builder.open_blocking().expect("a session")
    };
    let (session, cached) = (open(false), open(true));
    let (long, longer) = (long_cell(40), long_cell(1000));
    for (name, runtime) in runtimes() {
        let mut group = criterion.benchmark_group(name);
        group.bench_function("empty round trip", |bencher| {
            let echo = Echo::start();
            bencher.iter(|| runtime.block_on(echo.call()));
        });
        // With the empty round trip, the floor of a cell of `1+1`: summed up, and in one.
        group.bench_function("bare 1+1, no channel", |bencher| {
            Python::attach(|py| bencher.iter(|| bare(py)));
        });
        group.bench_function("round trip to a bare 1+1", |bencher| {
            let echo = Echo::of_python(bare);
            bencher.iter(|| runtime.block_on(echo.call()));
        });
        let sources: [(&str, &str); 7] = [
            ("1+1", "1+1"),
            ("assignment", "x = 1"),
            ("print", "print('hello world')"),
            ("nested return", "for i in range(3):\n    if i: return i"),
            ("await", "import asyncio\nawait asyncio.sleep(0)"),
            ("40 lines", &long),
            ("1000 lines", &longer),
        ];
        for (name, source) in sources {
            group.bench_function(name, |bencher| {
                bencher.iter(|| run(&runtime, &session, black_box(source)))
            });
            group.bench_function(format!("{name}, code cache"), |bencher| {
                bencher.iter(|| run(&runtime, &cached, black_box(source)));
            });
        }
        group.finish();
    }
}

/// A cell of about `lines` lines that ends in an expression.
fn long_cell(lines: usize) -> String {
    let function = |n| {
        format!(
            "def f{n}(a):\n    total = 0\n    for i in range(a):\n        total += i\n    return total\n\n\n\n"
        )
    };
    (0..lines / 8).map(function).collect::<String>() + "f0(3)\n"
}

/// `1+1` through the C API alone.
fn bare(_py: Python<'_>) {
    // SAFETY: the lock is held, and every reference is dropped once.
    unsafe {
        let globals = ffi::PyModule_GetDict(ffi::PyImport_AddModule(c"__main__".as_ptr()));
        let mut flags = ffi::PyCompilerFlags {
            cf_flags: 0,
            cf_feature_version: 11,
        };
        let code = ffi::Py_CompileStringExFlags(
            c"1+1".as_ptr(),
            c"<bare>".as_ptr(),
            ffi::Py_eval_input,
            &raw mut flags,
            -1,
        );
        ffi::Py_XDECREF(ffi::PyEval_EvalCode(code, globals, globals));
        ffi::Py_XDECREF(code);
    }
}

fn run(runtime: &Runtime, session: &Session, source: &str) -> bool {
    runtime
        .block_on(session.run(source.into()).expect("an execution"))
        .ok
}

/// A thread behind a channel that answers at once: what any design with a thread of its own pays.
struct Echo(crossbeam_channel::Sender<oneshot::Sender<u64>>);

impl Echo {
    fn start() -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded::<oneshot::Sender<u64>>();
        std::thread::spawn(move || {
            for reply in receiver {
                let _ = reply.send(1);
            }
        });
        Self(sender)
    }

    /// The same, with work for CPython before each answer.
    fn of_python(work: fn(Python<'_>)) -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded::<oneshot::Sender<u64>>();
        std::thread::spawn(move || {
            // Attached once: a thread that attaches for each answer makes itself known to CPython anew, for ten microseconds.
            Python::attach(|py| {
                while let Ok(reply) = py.detach(|| receiver.recv()) {
                    work(py);
                    let _ = reply.send(1);
                }
            });
        });
        Self(sender)
    }

    async fn call(&self) -> u64 {
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).expect("the thread lives");
        answer.await.expect("an answer")
    }
}

criterion_group!(benches, cells);
criterion_main!(benches);
