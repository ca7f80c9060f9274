//! The native built-ins against what Node made of the same expressions, recorded by `tests/record.js`.

use std::thread;

use crate::JavaScriptEngine;
use crate::engine::javascript::internals::{InThread, STACK_BYTES};

const RECORDED: &str = include_str!("tests/recorded.json");
/// Data nested so deep that recursion over it would overflow the stack.
const DEEP: usize = 200_000;

/// Runs cells in a fresh session, on a thread with the stack boa needs.
fn in_session(test: impl FnOnce(&mut InThread) + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let running = thread.spawn(|| {
        let mut session = InThread::open(JavaScriptEngine::Boa, false).expect("a session");
        test(&mut session);
    });
    running.expect("a thread").join().expect("no panic");
}

#[test]
fn built_ins_do_what_they_do_on_node() {
    let recorded: Vec<(String, String)> = serde_json::from_str(RECORDED).expect("JSON");
    assert!(recorded.len() > 200);
    in_session(move |session| {
        let mut differences = Vec::new();
        for (expression, expected) in recorded {
            let cell = format!(
                "JSON.stringify((() => {{ try {{ return ['value', {expression}] }} catch (error) {{ return [error.name, error.message] }} }})())"
            );
            let result = session.run(&cell);
            let expected = Ok(Some(serde_json::to_string(&expected).expect("JSON")));
            if result != expected {
                differences.push(format!("{expression}\n  {result:?}\n  {expected:?}"));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    });
}

#[test]
fn deep_data_overflows_nothing() {
    in_session(|session| {
        let build = format!("let deep = []; for (let i = 0; i < {DEEP}; i++) deep = [deep]; 0");
        assert_eq!(session.run(&build), Ok(Some("0".to_owned())));
        let parsed = format!("JSON.parse('['.repeat({DEEP}) + ']'.repeat({DEEP})).length");
        assert_eq!(session.run(&parsed), Ok(Some("1".to_owned())));
        let round = "let less = []; for (let i = 0; i < 9000; i++) less = [less]; \
            const text = JSON.stringify(less); JSON.stringify(JSON.parse(text)) === text";
        assert_eq!(session.run(round), Ok(Some("true".to_owned())));
        let revived = "JSON.stringify(JSON.parse(text, (key, value) => value)) === text";
        assert_eq!(session.run(revived), Ok(Some("true".to_owned())));
        for cell in [
            "String(deep)",
            "JSON.stringify(deep)",
            "const own = { toString: Object.prototype.toLocaleString }; String(own)",
        ] {
            let failure = session.run(cell).expect_err(cell);
            assert_eq!(failure, "Maximum call stack size exceeded", "{cell}");
        }
        assert_eq!(session.run("1 + 1"), Ok(Some("2".to_owned())));
    });
}
