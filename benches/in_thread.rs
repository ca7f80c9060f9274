//! What a cell costs on the interpreter's own thread, beside the bare C API: no mailbox, no watchdog, no outcome.
//!
//! The interpreter starts on the benching thread, so this is a program of its own: `benches/channel.rs` has its interpreter
//! on another thread.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]

use std::ffi::CString;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pyo3::ffi;
use pyo3::prelude::*;
use warmcell::internals::InThread;

fn function(number: usize) -> String {
    format!(
        "def f{number}(a, b=2, *rest):\n    total = 0\n    for i in range(a):\n        if i % 2 == 0 and b > 1:\n            total += i * b\n        else:\n            total -= len(rest)\n    return total\n"
    )
}

/// A cell of about `lines` lines that ends in an expression.
fn long_cell(lines: usize) -> String {
    let mut source: String = (0..lines / 8).map(function).collect();
    source.push_str("f0(3)\n");
    source
}

fn cells(criterion: &mut Criterion) {
    let mut session = InThread::start(false).expect("the interpreter starts");
    let long = [long_cell(40), long_cell(1000)];
    let sources: [(&str, &str); 9] = [
        ("1+1", "1+1"),
        ("assignment", "x = 1"),
        ("return", "return 1+1"),
        ("nested return", "for i in range(3):\n    if i: return i"),
        ("await", "import asyncio\nawait asyncio.sleep(0)"),
        ("print", "print('hello world')"),
        ("40 lines", &long[0]),
        ("1000 lines", &long[1]),
        ("a line that raises", "1/0"),
    ];
    for (name, source) in sources {
        let mut group = criterion.benchmark_group(name);
        group.bench_function("bare", |bencher| {
            Python::attach(|py| bencher.iter(|| bare(py, black_box(source))));
        });
        session.keep_compiled(false);
        group.bench_function("in thread", |bencher| {
            bencher.iter(|| run(&mut session, black_box(source)));
        });
        session.keep_compiled(true);
        group.bench_function("in thread, code cache", |bencher| {
            bencher.iter(|| run(&mut session, black_box(source)));
        });
        group.finish();
    }
    let mut group = criterion.benchmark_group("others");
    group.sample_size(10);
    session
        .run("big = list(range(7_000_000))")
        .expect("it runs");
    group.bench_function("a 50 MB list as value", |bencher| {
        bencher.iter(|| session.run("return big").expect("a value"));
    });
    group.bench_function("reset", |bencher| {
        bencher.iter(|| session.reset().expect("a reset"))
    });
    group.finish();
}

fn run(session: &mut InThread, source: &str) -> bool {
    session.run(source).is_ok()
}

/// The same text through the C API alone: compile as an expression or as statements, evaluate, drop.
fn bare(py: Python<'_>, source: &str) {
    let text = CString::new(source).expect("no null byte");
    // SAFETY: the lock is held, and every reference is dropped once.
    unsafe {
        let globals = ffi::PyModule_GetDict(ffi::PyImport_AddModule(c"__main__".as_ptr()));
        let mut flags = ffi::PyCompilerFlags {
            cf_flags: 0,
            cf_feature_version: 11,
        };
        let code = [ffi::Py_eval_input, ffi::Py_file_input]
            .into_iter()
            .find_map(|mode| {
                let code = ffi::Py_CompileStringExFlags(
                    text.as_ptr(),
                    c"<bare>".as_ptr(),
                    mode,
                    &raw mut flags,
                    -1,
                );
                if code.is_null() {
                    ffi::PyErr_Clear()
                }
                (!code.is_null()).then_some(code)
            });
        let Some(code) = code else { return };
        let value = ffi::PyEval_EvalCode(code, globals, globals);
        if value.is_null() {
            ffi::PyErr_Clear()
        }
        ffi::Py_XDECREF(value);
        ffi::Py_DECREF(code);
    }
    let _ = py;
}

criterion_group!(benches, cells);
criterion_main!(benches);
