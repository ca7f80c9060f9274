//! What a host gets wrong is said by name, with what to do, and nothing is lost by it.

use std::time::Duration;

use serde_json::json;
use warmcell::{Cell, FailureKind, Json, Language, Limits, RuntimeError, Session, SessionBuilder};

use crate::support::{Cells, Judge, each, settle, turn};

fn python() -> SessionBuilder {
    Session::builder(Language::Python)
}

fn refusal(builder: SessionBuilder) -> String {
    settle(builder.open()).expect_err("refused").to_string()
}

/// Zero became a second, without a word: can1357/oh-my-pi#5250. Here every number is taken as it is, or refused.
#[test]
fn limits_out_of_range_are_named() {
    const WEEK_MS: u64 = 604_800_000;
    const WEEK: Duration = Duration::from_millis(WEEK_MS);
    let defaults = Limits::default;
    let mut cpu = defaults();
    cpu.cpu = Some(Duration::ZERO);
    each(
        [
            (
                defaults().with_timeout(Duration::ZERO),
                "`timeoutMs` is 0, which is not between 1 and 604800000".to_owned(),
            ),
            (
                defaults().with_timeout(Duration::from_micros(999)),
                "`timeoutMs` is 0, which is not between 1 and 604800000".to_owned(),
            ),
            (
                defaults().with_timeout(WEEK + Duration::from_millis(1)),
                "`timeoutMs` is 604800001, which is not between 1 and 604800000".to_owned(),
            ),
            (
                defaults().with_timeout(Duration::MAX),
                format!(
                    "`timeoutMs` is {}, which is not between 1 and 604800000",
                    u64::MAX
                ),
            ),
            (
                cpu,
                "`cpuMs` is 0, which is not between 1 and 604800000".to_owned(),
            ),
            (
                defaults().with_memory_mb(0),
                "`memoryMb` is 0, which is not between 16 and 1048576".to_owned(),
            ),
            (
                defaults().with_memory_mb(u64::MAX),
                format!(
                    "`memoryMb` is {}, which is not between 16 and 1048576",
                    u64::MAX
                ),
            ),
            (
                defaults().with_output_bytes(0),
                "`outputBytes` is 0, which is not between 512 and 1073741824".to_owned(),
            ),
            (
                defaults().with_output_bytes(usize::MAX),
                format!(
                    "`outputBytes` is {}, which is not between 512 and 1073741824",
                    usize::MAX
                ),
            ),
            (
                defaults().with_value_bytes(15),
                "`valueBytes` is 15, which is not between 16 and 1073741824".to_owned(),
            ),
            (
                defaults().with_display_entries(10_001),
                "`displayEntries` is 10001, which is not between 0 and 10000".to_owned(),
            ),
        ],
        |(limits, said)| {
            let problem = limits.check().expect_err(&said);
            assert!(
                matches!(problem, RuntimeError::InvalidLimit { .. }),
                "{problem:?}"
            );
            assert_eq!(problem.to_string(), said);
            assert_eq!(refusal(python().limits(limits)), said);
        },
    );
    each(
        [
            defaults()
                .with_timeout(Duration::from_millis(1))
                .with_memory_mb(16)
                .with_output_bytes(512),
            defaults()
                .with_timeout(WEEK)
                .with_value_bytes(16)
                .with_display_entries(0),
            defaults()
                .without_timeout()
                .with_memory_mb(1 << 20)
                .with_output_bytes(1 << 30)
                .with_value_bytes(1 << 30),
        ],
        |limits| {
            limits.check().expect("in range");
        },
    );
}

/// A cell's own timeout is checked like a session's; the cell that is refused does not run.
#[test]
fn timeouts_out_of_range_are_named() {
    let turn = turn();
    let session = turn.python();
    each(
        [
            Duration::ZERO,
            Duration::from_micros(999),
            Duration::from_secs(604_801),
            Duration::MAX,
        ],
        |timeout| {
            let problem = session
                .run(Cell::from("ran = True").with_timeout(timeout))
                .map(drop)
                .expect_err("refused");
            assert!(
                problem.to_string().starts_with("`timeoutMs` is "),
                "{problem}"
            );
        },
    );
    let outcome = session.cell("'ran' in globals()");
    outcome.returned(json!(false));
    assert_eq!(outcome.execution_count, 1);
}

/// What the interpreter cannot hold a cell to in process is refused and not passed over.
#[test]
fn processor_time_needs_a_process_of_its_own() {
    let mut limits = Limits::default();
    limits.cpu = Some(Duration::from_secs(1));
    let said = refusal(python().limits(limits));
    assert!(
        said.starts_with("`cpuMs` needs a process of its own") && said.contains("hint:"),
        "{said}"
    );
}

#[test]
fn a_working_directory_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert_eq!(
        refusal(python().cwd(&missing)),
        format!("`cwd` is `{}`, which does not exist", missing.display())
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(
        refusal(python().cwd(&file)),
        format!("`cwd` is `{}`, which is not a folder", file.display())
    );
}

#[test]
fn environment_variables_that_cannot_be_are_named() {
    for name in ["", "A=B", "A\0B"] {
        let said = refusal(python().env(name, "x"));
        assert!(
            said.contains("`env`") && said.contains(&format!("{name:?}")),
            "{said}"
        );
    }
    let said = refusal(python().env("GOOD_NAME", "bad\0value"));
    assert!(
        said.contains("`env`") && said.contains("GOOD_NAME"),
        "{said}"
    );
}

#[test]
fn text_that_is_not_json_is_refused() {
    for text in ["", "{", "[1,]", "nan", "1 2", "'a'", "{\"a\": undefined}"] {
        let problem = Json::new(text).expect_err(text);
        assert!(
            problem.to_string().starts_with("not valid JSON: "),
            "{problem}"
        );
    }
}

#[test]
fn blank_cells_are_failures_that_touch_nothing() {
    let turn = turn();
    let session = turn.python();
    for code in ["", " ", "\n", "\t \r\n", "```python\n```", "```\n\n```"] {
        let outcome = session.cell(code);
        let error = outcome.failed(FailureKind::Empty);
        assert_eq!(error.message, "the cell holds no code");
        assert_eq!(outcome.execution_count, 0, "{code:?}");
    }
    session.cell("# only a comment").returned_nothing();
}

/// Source that is not a program: a clear error at its line, and nothing ran.
#[test]
fn source_that_does_not_compile_runs_nothing() {
    let turn = turn();
    let session = turn.python();
    each(
        [
            ("ran = 1\nx = = 2", Some(2)),
            ("ran = 1\n(", Some(2)),
            ("ran = 1\n'''", Some(2)),
            ("ran = 1\nif True:\n", Some(2)),
            ("ran = 1\nbreak", Some(2)),
            ("ran = 1\ncontinue", Some(2)),
            ("ran = 1\nif 1:\n    break\nreturn 1", Some(3)),
            ("ran = 1\nfor i in []: pass\nelse: break", Some(3)),
            ("ran = 1\nyield 1", Some(2)),
            ("ran = 1\nyield 1\nreturn 2", Some(2)),
            ("ran = 1\nnonlocal x", Some(2)),
            ("ran = 1\ndef f():\n    x = 1\n    global x", Some(4)),
            ("ran = 1\nfrom __future__ import annotations", Some(2)),
            ("from __future__ import nothing", Some(1)),
            ("ran = 1\nf(a=1, a=2)", Some(2)),
            ("ran = 1\nnot a program, just a sentence.", Some(2)),
            ("ran = 1\n  x = 1", Some(2)),
            ("ran = 1\n\tx = 1", Some(2)),
            ("ran = 1\n0777", Some(2)),
            ("ran = 1\n\u{201c}quoted\u{201d}", Some(2)),
            ("ran = 1\nx = 1\0", None),
            ("ran = 1\nreturn = 1", Some(2)),
            ("ran = 1\ndef f():\n    await x\n", Some(3)),
            ("ran = 1\nclass A:\n    await x\n", Some(3)),
            ("ran = 1\nclass A:\n    return 1\n", Some(3)),
            ("%matplotlib inline\nran = 1", Some(1)),
            ("!ls\nran = 1", Some(1)),
        ],
        |(code, line)| {
            let outcome = session.cell(code);
            let error = outcome.failed(FailureKind::Syntax);
            if line.is_some() {
                assert_eq!(error.line, line, "{code}: {outcome:#?}");
            }
            let name = error.name.as_deref().unwrap_or_default();
            assert!(
                ["SyntaxError", "IndentationError", "TabError"].contains(&name),
                "{code}: {outcome:#?}"
            );
            assert!(
                !error.message.is_empty() && !error.message.contains("__cell"),
                "{code}: {outcome:#?}"
            );
            session.cell("'ran' in globals()").returned(json!(false));
        },
    );
}
