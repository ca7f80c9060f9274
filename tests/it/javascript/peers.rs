//! What broke in comparable projects, each as the public report of it describes, with the behaviour that is right here.

use serde_json::json;
use warmcell::{FailureKind, Limits, SessionState};

use super::on_each_engine;
use crate::support::{Cells, Judge, each, in_own_process, ms, settle, timed};

/// Stopping a cell killed the kernel and lost its variables: denoland/deno#24491.
#[test]
fn a_cancelled_cell_loses_no_variables() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session.cell("var s = 'foo'").succeeded();
        // Nothing can settle the promise, and the cell says so at once; with a timer left it has to be cancelled.
        session
            .cell("await new Promise(() => {})")
            .failed(FailureKind::Exception);
        session.cell("s").returned(json!("foo"));
        let (cell, mut events) = warmcell::Cell::from(
            "console.log('waits'); setInterval(() => {}, 1000); await new Promise(() => {})",
        )
        .with_events(4);
        let execution = session.start(cell.without_timeout());
        settle(events.next()).expect("it waits");
        let (took, outcome) = timed(|| {
            execution.canceller().cancel();
            settle(execution)
        });
        outcome.failed(FailureKind::Cancelled);
        assert!(took < ms(500), "{took:?} on {}", engine.name);
        session.cell("s").returned(json!("foo"));
    });
}

/// With a top-level await, reassignments were lost: can1357/oh-my-pi#10987.
#[test]
fn reassignments_are_kept_with_an_await() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                "var v = 0; v = 1; await 0;",
                "let v = 0; await 0; v = 1",
                "await 0; var v; { v = 1 }",
                "let v; await Promise.resolve().then(() => { v = 1 })",
                "let v = 0; v++; await 0",
                "var [v] = [0]; for await (const x of [1]) v = x;",
                "v = 1; await 0",
                "if (await true) { var v = 1 }",
            ],
            |code| {
                session.cell(code).succeeded();
                session.cell("v").returned(json!(1));
                session.cell("v = 'other'; await 0").succeeded();
                session.cell("v").returned(json!("other"));
            },
        );
    });
}

/// A user's `const fetch` replaced a global for ever, or an injected name replaced the user's: code-yeongyu/senpi#1784,
/// can1357/oh-my-pi#10988.
#[test]
fn a_name_of_the_platform_may_be_shadowed_and_a_reset_gives_it_back() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        session
            .cell("const fetch = 1; typeof fetch")
            .returned(json!("number"));
        session.cell("typeof fetch").returned(json!("number"));
        each(
            [
                "setTimeout",
                "console",
                "URL",
                "structuredClone",
                "Buffer",
                "performance",
                "Map",
                "JSON",
                "Promise",
                "Array",
                "Object",
                "crypto",
                "queueMicrotask",
            ],
            |name| {
                session
                    .cell(&format!("const {name} = 'mine'; {name}"))
                    .returned(json!("mine"));
                session
                    .cell(&format!("[{name}, typeof globalThis.{name}]"))
                    .returned(json!([
                        "mine",
                        if ["console", "performance", "JSON", "crypto"].contains(&name) {
                            "object"
                        } else {
                            "function"
                        }
                    ]));
            },
        );
        // The runtime itself goes on with what it had.
        session
            .cell("await null; [1, { a: [2] }]")
            .returned(json!([1, { "a": [2] }]));
        session.reset_now();
        session
            .cell(
                "[typeof fetch, typeof setTimeout, new URL('http://a/').href, typeof console.log]",
            )
            .returned(json!(["undefined", "function", "http://a/", "function"]));
    });
}

/// Running a cell with `const` a second time failed: n-riesco/ijavascript#107.
#[test]
fn a_cell_that_declares_may_run_again() {
    on_each_engine(|engine| {
        let session = engine.javascript();
        each(
            [
                ("const x = $; x", "x"),
                ("let x = $; x", "x"),
                ("class A { n = $ } new A().n", "new A().n"),
                ("function f() { return $ } f()", "f()"),
                ("const { x, y: [z] } = { x: 0, y: [$] }; z", "z"),
                ("const x = await $; x", "x"),
                ("async function f() { return $ } await f()", "await f()"),
            ],
            |(code, read)| {
                for n in [1, 2] {
                    session
                        .cell(&code.replace('$', &n.to_string()))
                        .returned(json!(n));
                    session.cell(read).returned(json!(n));
                }
            },
        );
        let session = engine.typescript();
        for n in [1, 2] {
            session
                .cell(&format!(
                    "enum E {{ A = {n} }} interface I {{ a: number }} type T = I; namespace N {{ export const v = {n} }}\n\
                     const x: T = {{ a: E.A }}; [x.a, N.v, E[{n}]]"
                ))
                .returned(json!([n, n, "A"]));
            session.cell("[E.A, N.v]").returned(json!([n, n]));
        }
    });
}

/// Native built-ins escaped the limits of loops: boa-dev/boa#3828, boa-dev/boa#2350.
#[test]
fn built_ins_are_held_to_time_and_memory() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let limits = Limits::default().with_memory_mb(256);
            let session = engine.open(|builder| builder.limits(limits));
            each(
                [
                    "const all = []; for (;;) all.push('x'.repeat(2 ** 30))",
                    "const all = []; for (;;) all.push('x'.repeat(2 ** 22) + all.length)",
                    "new Array(2 ** 32 - 1).fill(0)",
                    "/^(a+)+$/.test('a'.repeat(40) + 'b')",
                ],
                |code| {
                    let (took, outcome) = timed(|| session.cell_within(ms(500), code));
                    let kind = outcome.error.as_ref().map(|error| error.kind);
                    assert!(
                        matches!(
                            kind,
                            Some(
                                FailureKind::Memory | FailureKind::Timeout | FailureKind::Exception
                            )
                        ),
                        "{code} on {}: {outcome:#?}",
                        engine.name
                    );
                    assert!(took < ms(3000), "{took:?} for {code} on {}", engine.name);
                    session.cell("1 + 1").returned(json!(2));
                },
            );
        });
    });
}

/// Deep nesting overflowed the native stack: pydantic/monty#112, boa-dev/boa#1402, boa-dev/boa#5527.
#[test]
fn nesting_is_a_clean_error_or_works_at_every_depth() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let session = engine.javascript();
            session.cell("let keep = 41").succeeded();
            for depth in [300, 5_000, 20_000] {
                for (open, middle, close) in [
                    ("(", "1", ")"),
                    ("[", "", "]"),
                    ("{", "", "}"),
                    ("f(", "", ")"),
                    ("{a:", "1", "}"),
                    ("`${", "1", "}`"),
                    ("-", "1", ""),
                    ("x=>", "1", ""),
                    ("if(1)", "1", ""),
                    ("1?", "1", ":1"),
                ] {
                    let head = if open == "{a:" { "0," } else { "" };
                    let code = format!(
                        "0;{head}{}{middle}{}",
                        open.repeat(depth),
                        close.repeat(depth)
                    );
                    let code = code.replace("0;0,{a:", "0,{a:");
                    let outcome = session.cell(&code.replace("f(", "String("));
                    let kind = outcome.error.as_ref().map(|error| error.kind);
                    assert!(
                        matches!(kind, None | Some(FailureKind::Syntax)),
                        "{depth} times {open} on {}: {:?}",
                        engine.name,
                        outcome.error
                    );
                    if depth >= 20_000 {
                        outcome.failed(FailureKind::Syntax);
                    }
                    session.cell("keep").returned(json!(41));
                }
                let build = format!(
                    "let d = []; let o = {{}}; let p = {{ n: 1 }}; for (let i = 0; i < {depth}; i++) {{ d = [d]; o = {{ o }}; p = new Proxy(p, {{}}) }}"
                );
                session.cell(&build).succeeded();
                for code in [
                    "JSON.stringify(d).length",
                    "JSON.stringify(o).length",
                    "String(d).length",
                    "p.n",
                    "console.log(d, o, p)",
                    "'n' in p",
                    "Object.keys(p)",
                    "d.flat(Infinity).length",
                    "structuredClone(o); 1",
                ] {
                    let outcome = session.cell_within(ms(30_000), code);
                    let error = outcome.error.as_ref();
                    let is_right = error.is_none_or(|error| {
                        error.kind == FailureKind::Exception
                            && error.name.as_deref() == Some("RangeError")
                    });
                    assert!(
                        is_right && outcome.state == SessionState::Kept,
                        "{code} at {depth} on {}: {outcome:#?}",
                        engine.name
                    );
                    session.cell("keep").returned(json!(41));
                }
            }
        });
    });
}

/// A race against a timer bounded the answer and not the work: TanStack/ai#523.
#[test]
fn a_loop_after_an_await_stops_using_the_processor() {
    in_own_process!(|| {
        on_each_engine(|engine| {
            let session = engine.javascript();
            session
                .cell("let turns = 0; const timeout = new Promise(done => setTimeout(done, 20, 'timeout'))")
                .succeeded();
            for code in [
                "await null; for (;;) { turns++ }",
                "await Promise.race([timeout, (async () => { await null; for (;;) { turns++ } })()])",
            ] {
                let (took, outcome) = timed(|| session.cell_within(ms(200), code));
                outcome.failed(FailureKind::Timeout);
                assert!(took < ms(700), "{took:?} on {}", engine.name);
                let before = processor_time();
                std::thread::sleep(ms(200));
                let used = processor_time() - before;
                assert!(used < ms(100), "{used:?} of 200 ms on {}", engine.name);
                session.cell("turns > 0").returned(json!(true));
            }
        });
    });
}

/// What all threads of this process used so far.
fn processor_time() -> std::time::Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills in the structure that it is given.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
