//! What compiling a cell costs beside CPython's bare `Py_CompileStringObject` of the same text.
//!
//! `plain` is that floor: the text as statements. Where the text has a `return` of its own, the floor is the same text with
//! the `return` taken out, since CPython refuses it otherwise.

#![expect(
    clippy::expect_used,
    reason = "a bench that cannot start has nothing to measure"
)]

use std::ffi::CString;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use warmcell::internals::Bench;

const FUNCTION: &str = r#"def f{n}(a, b=2, *args):
    """doc"""
    total = 0
    for i in range(a):
        if i % 2 == 0 and b > 1:
            total += i * b
        else:
            total -= len(args)
    try:
        r = {k: v for k, v in enumerate(args)}
    except ValueError as e:
        print(f"bad {e}")
    return total, r
"#;

/// A cell's name, its text, and the text that the floor compiles.
struct Text {
    name: String,
    cell: String,
    plain: String,
}

fn texts() -> Vec<Text> {
    let mut texts = Vec::new();
    let mut text =
        |name: String, cell: String, plain: String| texts.push(Text { name, cell, plain });
    text("1 line/expression".into(), "1+1".into(), "1+1".into());
    text("1 line/statement".into(), "x = 1".into(), "x = 1".into());
    text("1 line/return".into(), "return 1+1".into(), "1+1".into());
    text(
        "1 line/nested return".into(),
        "if x: return 1".into(),
        "if x: 1".into(),
    );
    for lines in [40, 1000] {
        let functions: String = (0..lines / 13)
            .map(|number| FUNCTION.replace("{n}", &number.to_string()))
            .collect();
        let statements: String = (0..lines)
            .map(|number| format!("value_{number} = compute({number}, scale=2) + offset\n"))
            .collect();
        for (kind, head) in [("functions", &functions), ("statements", &statements)] {
            for (ending, tail, plain) in [
                ("expression", "f0(3)\n", "f0(3)\n"),
                ("statement", "x = f0(3)\n", "x = f0(3)\n"),
                ("return", "return f0(3)\n", "f0(3)\n"),
                (
                    "nested return",
                    "for i in range(3):\n    if i:\n        return f0(3)\n",
                    "for i in range(3):\n    if i:\n        f0(3)\n",
                ),
            ] {
                let name = format!("{lines} lines of {kind}/{ending}");
                text(name, format!("{head}{tail}"), format!("{head}{plain}"));
            }
        }
        let first = "if x:\n    return 1\n";
        let name = format!("{lines} lines of functions/return at the start");
        text(
            name,
            format!("{first}{functions}"),
            format!("if x:\n    1\n{functions}"),
        );
    }
    texts
}

fn compile(criterion: &mut Criterion) {
    Python::initialize();
    Python::attach(|py| {
        let bench = Bench::new(py).expect("the compiler starts");
        let name = PyString::new(py, "<cell 1>");
        let mut group = criterion.benchmark_group("compile");
        for Text {
            name: id,
            cell,
            plain,
        } in texts()
        {
            let plain = CString::new(plain).expect("no null byte");
            group.bench_function(BenchmarkId::new("plain", &id), |bencher| {
                bencher.iter(|| {
                    // SAFETY: the text ends with a null byte, the name is a `str`, and the thread is attached.
                    unsafe {
                        let code = ffi::Py_CompileStringObject(
                            black_box(&plain).as_ptr(),
                            name.as_ptr(),
                            ffi::Py_file_input,
                            std::ptr::null_mut(),
                            -1,
                        );
                        assert!(!code.is_null());
                        ffi::Py_DECREF(code);
                    }
                });
            });
            group.bench_function(BenchmarkId::new("cell", &id), |bencher| {
                bencher.iter(|| {
                    bench
                        .compile(py, black_box(&cell), &name)
                        .expect("it compiles")
                });
            });
        }
        group.finish();
    });
}

criterion_group!(benches, compile);
criterion_main!(benches);
