//! Values crossing the border, against Python's own `json`: what a host pays for each megabyte.
//!
//! The losing variant, pythonize through serde_json, on the same machine, ms: out, ints 234 against 100, dicts 449 against 134; in,
//! ints 295 against 302, dicts 1,298 against 351.

use std::ffi::CStr;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use warmcell::internals::{from_json, to_json};

/// What is converted, as Python builds it: each about 50 MB of JSON text.
const VALUES: [(&str, &CStr); 4] = [
    ("ints", c"[n * 7919 % 1_000_003 for n in range(6_600_000)]"),
    (
        "dicts",
        c"[{'id': n, 'name': f'user {n}', 'score': n / 7, 'tags': ['a', 'b'], 'active': True} for n in range(500_000)]",
    ),
    ("floats", c"[n / 7 for n in range(2_700_000)]"),
    (
        "strings",
        c"[f'line {n} of a longer text, a \"quoted\" word, caf\\u00e9 {n}' for n in range(900_000)]",
    ),
];

fn values(criterion: &mut Criterion) {
    Python::initialize();
    for (name, source) in VALUES {
        Python::attach(|py| {
            measure(py, criterion, name, source)
                .unwrap_or_else(|error| panic!("`{name}` was not measured: {error}"));
        });
    }
}

fn measure(py: Python<'_>, criterion: &mut Criterion, name: &str, source: &CStr) -> PyResult<()> {
    let json = py.import("json")?;
    let (dumps, loads) = (json.getattr("dumps")?, json.getattr("loads")?);
    let compact = PyDict::new(py);
    compact.set_item("ensure_ascii", false)?;
    compact.set_item("separators", (",", ":"))?;
    let value = py.eval(source, None, None)?;
    let mut text = String::new();
    to_json(&value, &mut text).unwrap_or_else(|refusal| panic!("{refusal}"));

    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("to_json", |bencher| {
        bencher.iter(|| {
            let mut text = String::new();
            to_json(black_box(&value), &mut text).unwrap_or_else(|refusal| panic!("{refusal}"));
            text
        });
    });
    group.bench_function("pythonize out", |bencher| {
        bencher.iter(|| by_pythonize(black_box(&value)));
    });
    group.bench_function("json.dumps", |bencher| {
        bencher.iter(|| {
            dumps
                .call((black_box(&value),), Some(&compact))
                .unwrap_or_else(|error| panic!("{error}"))
        });
    });
    group.bench_function("from_json", |bencher| {
        bencher.iter(|| from_json(py, black_box(&text)).unwrap_or_else(|error| panic!("{error}")));
    });
    group.bench_function("pythonize in", |bencher| {
        bencher.iter(|| into_python(py, black_box(&text)));
    });
    let python_text = text.as_str().into_pyobject(py)?;
    group.bench_function("json.loads", |bencher| {
        bencher.iter(|| {
            loads
                .call1((black_box(&python_text),))
                .unwrap_or_else(|error| panic!("{error}"))
        });
    });
    group.finish();
    Ok(())
}

/// The way out through serde: no check for cycles, no path in a refusal.
fn by_pythonize(value: &Bound<'_, PyAny>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut python = pythonize::Depythonizer::from_object(value);
    serde_transcode::transcode(&mut python, &mut serde_json::Serializer::new(&mut text))
        .unwrap_or_else(|error| panic!("{error}"));
    text
}

/// The way in through serde: integers beyond 64 bits would come as floats.
fn into_python<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyAny> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_transcode::transcode(&mut json, pythonize::Pythonizer::new(py))
        .unwrap_or_else(|error| panic!("{error}"))
}

criterion_group!(benches, values);
criterion_main!(benches);
