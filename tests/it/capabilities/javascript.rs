//! Calls from JavaScript and TypeScript, on both engines: promises, what is wrong with them, and what a cell that ends leaves.

use warmcell::JavaScriptEngine;

use super::*;
use crate::support::{Cells, eventually, ms, timed};

fn everywhere(test: impl Fn(&Tools, &Open)) {
    for engine in JavaScriptEngine::ALL {
        for placement in PLACEMENTS {
            let tools = Tools::default();
            let builder = placed(Language::JavaScript, placement)
                .javascript_engine(*engine)
                .capability(tools.capability());
            test(&tools, &open(builder));
        }
    }
}

#[test]
fn arguments_and_results_go_through_without_loss() {
    everywhere(|tools, session| {
        let code = "const rows = await tools.echo({ a: [1, 2.5, null, true, 'é'] })";
        assert!(session.cell(code).ok);
        assert_eq!(
            value(&session.cell("return rows")),
            "{\"a\":[1,2.5,null,true,\"é\"]}"
        );
        assert_eq!(
            tools.calls(),
            ["{\"value\":{\"a\":[1,2.5,null,true,\"é\"]}}"]
        );
        let code = "return [await tools.add(1), await tools.add(1, 2), await tools.add({ one: 1, other: 3 }), await tools.add(1, { other: 4 }), await host.tools.add(5)]";
        assert_eq!(value(&session.cell(code)), "[101,3,4,5,105]");
        let code = "return [await tools['my-tool'](), await tools['__proto__'](), (await tools.long(10_000_000)).length]";
        assert_eq!(value(&session.cell(code)), "[\"odd\",\"proto\",10000000]");
        assert_eq!(
            value(&session.cell("let deep = await tools.deep(900), levels = 1; while (deep.length) [deep, levels] = [deep[0], levels + 1]; return levels")),
            "900"
        );
        let refused = session.cell("await tools.deep(12_000)").error.unwrap();
        assert_eq!(
            refused.message,
            "the host answered what cannot be taken over: it is nested by 12000 levels, and at most 1000 are taken"
        );
    });
}

#[test]
fn what_does_not_fit_is_a_type_error_and_is_never_sent() {
    everywhere(|tools, session| {
        for (code, message) in [
            ("await tools.add()", "tools.add() needs the argument `one`"),
            (
                "await tools.add(1, 2, 3)",
                "tools.add() takes at most 2 arguments, and 3 were given",
            ),
            (
                "await tools.add('1')",
                "tools.add() takes an integer as `one`, not a string",
            ),
            (
                "await tools.echo(NaN)",
                "tools.echo() cannot send its arguments: `[0]` is NaN, which JSON cannot hold",
            ),
        ] {
            let failure = session.cell(code).error.expect(code);
            assert_eq!(
                (failure.name.as_deref(), &*failure.message),
                (Some("TypeError"), message)
            );
        }
        let nope = session.cell("await tools.nope()").error.unwrap();
        assert_eq!(nope.name.as_deref(), Some("TypeError"));
        let changed = session.cell("tools.add = 1").error.unwrap();
        assert_eq!(changed.name.as_deref(), Some("TypeError"));
        assert_eq!(tools.calls(), Vec::<String>::new());
        // Nothing of the host is behind them.
        let escape = session.cell("tools.add.constructor.constructor('return globalThis')()");
        assert!(!escape.ok);
    });
}

#[test]
fn a_failed_call_is_an_error_with_all_its_facts() {
    everywhere(|_, session| {
        let code = "
try {
  await tools.fail()
} catch (error) {
  const { message, name, capability, action, kind, retryable, data } = error
  return [message, name, capability, action, kind, retryable, data, error instanceof CapabilityError]
}";
        assert_eq!(
            value(&session.cell(code)),
            "[\"the disk is full\",\"CapabilityError\",\"tools\",\"fail\",\"tool\",true,{\"free\":0},true]"
        );
        let failure = session.cell("await tools.explode()").error.unwrap();
        assert_eq!(failure.name.as_deref(), Some("CapabilityError"));
        assert_eq!(failure.message, "the host function panicked: what a mess");
    });
}

#[test]
fn many_calls_run_at_once_within_the_number_that_may() {
    everywhere(|tools, session| {
        let code = "
const answers = await Promise.all(Array.from({ length: 1000 }, () => tools.wait(5)))
return [answers.length, answers.every((answer) => answer === 5)]";
        assert_eq!(value(&session.cell(code)), "[1000,true]");
        let most = tools.most.load(Ordering::SeqCst);
        assert!((2..=16).contains(&most), "{most}");
        let code = "
const settled = await Promise.allSettled([tools.fail(), tools.echo(2), tools.fail()])
return settled.map(({ status }) => status)";
        assert_eq!(
            value(&session.cell(code)),
            "[\"rejected\",\"fulfilled\",\"rejected\"]"
        );
        // A timer goes on beside a call.
        let code = "let ticks = 0; const timer = setInterval(() => ticks++, 1); await tools.wait(50); clearInterval(timer); return ticks > 2";
        assert_eq!(value(&session.cell(code)), "true");
    });
}

#[test]
fn a_call_that_never_returns_ends_with_its_cell_and_the_session_goes_on() {
    everywhere(|tools, session| {
        let (took, stopped) =
            timed(|| session.cell_within(ms(200), "let x = 1; await tools.never()"));
        let failure = stopped.error.expect("a failure");
        assert_eq!(failure.kind, warmcell::FailureKind::Timeout, "{failure:?}");
        assert_eq!(
            failure.hint.as_deref(),
            Some("the cell was waiting for `tools.never`")
        );
        assert_eq!(stopped.state, warmcell::SessionState::Kept);
        assert!(took < ms(1500), "{took:?}");
        assert_eq!(
            value(&session.cell("return [x, await tools.add(1, 1)]")),
            "[1,2]"
        );
        eventually("the host's function is dropped", || {
            tools.dropped.load(Ordering::SeqCst) == 1
        });
        let execution = session.start(warmcell::Cell::new("await tools.never()"));
        eventually("the cell runs", || session.interrupt());
        let cancelled = settle(execution).error.expect("a failure");
        assert_eq!(cancelled.kind, warmcell::FailureKind::Cancelled);
        assert_eq!(value(&session.cell("return await tools.add(2, 2)")), "4");
    });
}

#[test]
fn calls_that_a_cell_leaves_are_cancelled() {
    everywhere(|_, session| {
        assert!(
            session
                .cell("const left = tools.never(); left.catch(() => {}); 1")
                .ok
        );
        let code = "try { await left } catch (error) { return error.kind }";
        assert_eq!(value(&session.cell(code)), "\"cancelled\"");
    });
}

#[test]
fn an_answer_whose_then_is_the_programs_own_is_settled_and_can_be_stopped() {
    everywhere(|_, session| {
        let code = "
            Object.defineProperty(Object.prototype, 'then', { get() { throw new Error('mine') }, configurable: true });
            let told = 'nothing';
            try { await tools.echo({ a: 1 }) } catch (error) { told = error.message }
            delete Object.prototype.then;
            return told";
        assert_eq!(value(&session.cell(code)), "\"mine\"");
        let code = "
            Object.defineProperty(Object.prototype, 'then', { get() { while (true); }, configurable: true });
            await tools.echo({ a: 1 })";
        let outcome = session.cell_within(ms(500), code);
        let failure = outcome.error.expect("a failure");
        assert_eq!(failure.kind, warmcell::FailureKind::Timeout, "{failure:?}");
        let code = "delete Object.prototype.then; return await tools.echo({ a: 1 })";
        assert_eq!(value(&session.cell(code)), "{\"a\":1}");
    });
}

#[test]
fn a_name_that_a_cell_takes_is_back_after_a_reset() {
    everywhere(|_, session| {
        assert!(session.cell("const tools = 1").ok);
        assert_eq!(
            value(&session.cell("return [tools, await host.tools.add(1, 1)]")),
            "[1,2]"
        );
        let names = settle(session.inspect()).expect("the names");
        let names: Vec<&str> = names.iter().map(|name| &*name.name).collect();
        assert_eq!(names, ["tools"]);
        settle(warmcell::CodeRuntime::reset(&session.0)).expect("a reset");
        assert_eq!(value(&session.cell("return await tools.add(1, 1)")), "2");
    });
}

#[test]
fn typescript_calls_as_well_and_stubs_declare_what_is_offered() {
    let tools = Tools::default();
    let builder = placed(Language::TypeScript, Placement::InProcess).capability(tools.capability());
    let session = open(builder);
    let code = "const sum: number = await tools.add(1, 2); return sum";
    assert_eq!(value(&session.cell(code)), "3");
    let stubs = session.stubs();
    for line in [
        "declare const tools: {  // what a host may offer\n",
        "  add(one: number, other?: number): Promise<any>;\n",
        "  \"my-tool\"(): Promise<any>;\n",
    ] {
        assert!(stubs.contains(line), "{stubs}");
    }
}
