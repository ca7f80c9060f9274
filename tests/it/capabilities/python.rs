//! Calls from Python: blocking, awaited, from threads; what is wrong with them, and what a cell that ends leaves.

use super::*;
use crate::support::{Cells, eventually, ms, timed};

fn session(tools: &Tools, placement: Placement) -> Open {
    open(placed(Language::Python, placement).capability(tools.capability()))
}

fn everywhere(test: impl Fn(&Tools, &Open)) {
    for placement in PLACEMENTS {
        let tools = Tools::default();
        let session = session(&tools, placement);
        test(&tools, &session);
    }
}

#[test]
fn arguments_and_results_go_through_without_loss() {
    everywhere(|tools, session| {
        let code = "rows = tools.echo({'a': [1, 2.5, None, True, 'é', 2**63]})";
        assert!(session.cell(code).ok);
        assert_eq!(
            value(&session.cell("return rows")),
            "{\"a\":[1,2.5,null,true,\"é\",9223372036854775808]}"
        );
        assert_eq!(
            tools.calls(),
            ["{\"value\":{\"a\":[1,2.5,null,true,\"é\",9223372036854775808]}}"]
        );
        let code = "return [tools.add(1), tools.add(1, 2), tools.add(1, other=3), tools.add(other=4, one=1), host.tools.add(5), host['tools']['add'](6)]";
        assert_eq!(value(&session.cell(code)), "[101,3,4,5,105,106]");
        let code = "return [tools['my-tool'](), tools['__proto__'](), len(tools.long(10_000_000))]";
        assert_eq!(value(&session.cell(code)), "[\"odd\",\"proto\",10000000]");
        let code = "
value, levels = tools.deep(12_000), 0
while value: value, levels = value[0], levels + 1
return levels + 1";
        assert_eq!(value(&session.cell(code)), "12000");
    });
}

#[test]
fn what_does_not_fit_is_an_error_of_the_language_and_is_never_sent() {
    everywhere(|tools, session| {
        for (code, name, message) in [
            (
                "tools.add()",
                "TypeError",
                "tools.add() needs the argument `one`",
            ),
            (
                "tools.add(1, 2, 3)",
                "TypeError",
                "tools.add() takes at most 2 arguments, and 3 were given",
            ),
            (
                "tools.add(1, three=3)",
                "TypeError",
                "tools.add() has no parameter `three`, but `one`, `other`",
            ),
            (
                "tools.add('1')",
                "TypeError",
                "tools.add() takes an integer as `one`, not a string",
            ),
            (
                "tools.add(1, one=1)",
                "TypeError",
                "tools.add() got `one` twice",
            ),
            (
                "tools.echo(float('nan'))",
                "ValueError",
                "tools.echo() cannot send its arguments: `[0]` is nan, which JSON cannot hold",
            ),
            (
                "tools.nope()",
                "AttributeError",
                "the capability `tools` has no action `nope`, but `__proto__`, `add`, `deep`, `echo`, `explode`, `fail`, `long`, `my-tool`, `never`, `stuck`, `wait`",
            ),
            ("tools['nope']()", "KeyError", "'nope'"),
            (
                "host.nope",
                "AttributeError",
                "the host offers no capability `nope`",
            ),
            (
                "tools.x = 1",
                "AttributeError",
                "the capability `tools` cannot be changed",
            ),
        ] {
            let outcome = session.cell(code);
            let failure = outcome.error.expect(code);
            assert_eq!(
                (failure.name.as_deref(), &*failure.message),
                (Some(name), message),
                "{code}"
            );
        }
        assert_eq!(tools.calls(), Vec::<String>::new());
    });
}

#[test]
fn what_the_host_offers_is_neither_copied_nor_pickled() {
    everywhere(|_, session| {
        let code = "
import copy, pickle
def refused(thing):
    try: pickle.dumps(thing)
    except TypeError as error: return str(error)
things = [tools, tools.add, host]
return [[copy.copy(thing) is thing for thing in things], copy.deepcopy({'a': tools})['a'] is tools, list(map(refused, things))]";
        assert_eq!(
            value(&session.cell(code)),
            "[[true,true,true],true,[\"<capability tools> belongs to its session and cannot be pickled\",\
             \"<host function tools.add> belongs to its session and cannot be pickled\",\
             \"<host> belongs to its session and cannot be pickled\"]]"
        );
    });
}

#[test]
fn a_failed_call_is_an_exception_with_all_its_facts() {
    everywhere(|_, session| {
        let code = "
try:
    tools.fail()
except CapabilityError as error:
    return [str(error), error.capability, error.action, error.kind, error.retryable, error.data, type(error) is host.CapabilityError]";
        assert_eq!(
            value(&session.cell(code)),
            "[\"the disk is full\",\"tools\",\"fail\",\"tool\",true,{\"free\":0},true]"
        );
        let outcome = session.cell("x = 1\ntools.explode()");
        let failure = outcome.error.expect("a failure");
        assert_eq!(failure.name.as_deref(), Some("CapabilityError"));
        assert_eq!(failure.message, "the host function panicked: what a mess");
        assert_eq!(failure.line, Some(2));
        let traceback = failure.traceback.expect("a traceback");
        assert!(!traceback.contains("<warmcell"), "{traceback}");
    });
}

#[test]
fn many_awaited_calls_run_at_once_within_the_number_that_may() {
    everywhere(|tools, session| {
        let code = "
import asyncio
answers = await asyncio.gather(*[tools.wait.aio(5) for _ in range(1000)])
return [len(answers), set(answers) == {5}]";
        assert_eq!(value(&session.cell(code)), "[1000,true]");
        let most = tools.most.load(Ordering::SeqCst);
        assert!((2..=16).contains(&most), "{most}");
        // Also the ways in which awaiting goes wrong.
        let code = "
future = tools.echo.aio(1)
task = asyncio.create_task(tools.echo.aio(7))
async with asyncio.TaskGroup() as group:
    grouped = group.create_task(tools.echo.aio(8))
assert [await task, grouped.result()] == [7, 8]
both = await asyncio.gather(future, future)
failed = await asyncio.gather(tools.fail.aio(), tools.echo.aio(2), tools.fail.aio(), return_exceptions=True)
try:
    await tools.fail.aio()
except CapabilityError as error:
    kind = error.kind
return [both, [type(one).__name__ for one in failed], kind]";
        assert_eq!(
            value(&session.cell(code)),
            "[[1,1],[\"CapabilityError\",\"int\",\"CapabilityError\"],\"tool\"]"
        );
        assert_eq!(session.cell("1").stderr, "");
    });
}

#[test]
fn a_thread_of_the_program_can_call() {
    everywhere(|_, session| {
        let code = "
import threading
answers = []
threads = [threading.Thread(target=lambda n=n: answers.append(tools.add(n, 0))) for n in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
return sorted(answers) == list(range(20))";
        assert_eq!(value(&session.cell(code)), "true");
    });
}

#[test]
fn a_call_that_never_returns_ends_with_its_cell_and_the_session_goes_on() {
    everywhere(|tools, session| {
        for (code, index) in [("tools.never()", 1), ("await tools.never.aio()", 2)] {
            let code = format!("x = {index}\n{code}");
            let (took, stopped) = timed(|| session.cell_within(ms(200), &code));
            let failure = stopped.error.expect("a failure");
            assert_eq!(failure.kind, warmcell::FailureKind::Timeout, "{failure:?}");
            assert_eq!(stopped.state, warmcell::SessionState::Kept);
            assert!(took < ms(1500), "{took:?}");
            assert_eq!(value(&session.cell("return x")), index.to_string());
            eventually("the host's function is dropped", || {
                tools.dropped.load(Ordering::SeqCst) == index
            });
        }
        let stopped = session.cell_within(ms(100), "tools.stuck()");
        let failure = stopped.error.expect("a failure");
        assert_eq!(
            failure.hint.as_deref(),
            Some("the cell was waiting for `tools.stuck`")
        );
        assert_eq!(value(&session.cell("return tools.add(1, 1)")), "2");
        let execution = session.start(warmcell::Cell::new("tools.never()"));
        eventually("the cell runs", || session.interrupt());
        let cancelled = settle(execution).error.expect("a failure");
        assert_eq!(cancelled.kind, warmcell::FailureKind::Cancelled);
        assert_eq!(value(&session.cell("return tools.add(2, 2)")), "4");
    });
}

#[test]
fn calls_that_a_cell_leaves_are_cancelled_and_the_next_cell_is_not_disturbed() {
    everywhere(|tools, session| {
        let code = "import asyncio\nasync def leave(): left.append(tools.never.aio())\nleft = []\nawait leave()\nawait asyncio.sleep(0.05)";
        assert!(session.cell(code).ok);
        eventually("it was cancelled", || {
            tools.dropped.load(Ordering::SeqCst) == 1
        });
        let code = "
try:
    await left[0]
except asyncio.CancelledError:
    return 'cancelled'";
        let outcome = session.cell(code);
        assert_eq!(value(&outcome), "\"cancelled\"");
        assert_eq!((&*outcome.stderr, &*outcome.background.stderr), ("", ""));
    });
}

#[test]
fn a_name_that_a_cell_takes_is_back_after_a_reset() {
    everywhere(|_, session| {
        assert!(session.cell("def tools(): pass").ok);
        assert_eq!(value(&session.cell("return host.tools.add(1, 1)")), "2");
        let names = settle(session.inspect()).expect("the names");
        let names: Vec<&str> = names.iter().map(|name| &*name.name).collect();
        assert_eq!(names, ["tools"]);
        settle(warmcell::CodeRuntime::reset(&session.0)).expect("a reset");
        assert_eq!(value(&session.cell("return tools.add(1, 1)")), "2");
    });
}

#[test]
fn a_denied_call_raises_a_permission_error() {
    for placement in PLACEMENTS {
        let tools = Tools::default();
        let builder = placed(Language::Python, placement)
            .capability(tools.capability())
            .permission(Arc::new(Denies("echo")));
        let session = open(builder);
        let code = "
try:
    tools.echo(1)
except CapabilityError as error:
    return [error.kind, error.retryable, str(error), tools.add(1, 1)]";
        assert_eq!(
            value(&session.cell(code)),
            "[\"permission\",false,\"`echo` is not allowed here\",2]"
        );
        assert_eq!(tools.calls(), Vec::<String>::new());
    }
}

#[test]
fn a_session_that_goes_back_calls_as_before() {
    let tools = Tools::default();
    let session = session(&tools, Placement::Worker);
    assert!(
        session
            .cell("import asyncio, os\nx = await tools.echo.aio(1)")
            .ok
    );
    let died = session.cell("tools.echo(2); os._exit(1)");
    assert_eq!(died.state, warmcell::SessionState::Restored);
    let after = session.cell("return [x, tools.echo(3), await tools.echo.aio(4)]");
    assert_eq!(value(&after), "[1,3,4]");
}

#[test]
fn stubs_declare_what_is_offered() {
    let tools = Tools::default();
    let session = session(&tools, Placement::InProcess);
    let stubs = session.stubs();
    for line in [
        "class tools:  # what a host may offer\n",
        "    def add(one: int, other: int = ...): ...\n",
        "    def echo(value: object): ...  # Gives back what it gets. (value: what comes back)\n",
        "    # tools[\"my-tool\"]()\n",
    ] {
        assert!(stubs.contains(line), "{stubs}");
    }
    // Python takes the declarations as they are.
    let outcome = session.cell(&format!("{stubs}\n1"));
    assert!(outcome.ok, "{outcome:?}");
}

#[test]
fn what_would_cost_the_host_more_than_it_allows_is_refused_early() {
    everywhere(|tools, session| {
        let outcome = session.cell("tools.echo('x' * (1 << 28))");
        let failure = outcome.error.expect("a failure");
        assert_eq!(failure.name.as_deref(), Some("ValueError"));
        assert_eq!(
            failure.message,
            "tools.echo() cannot send its arguments: the value is over its budget of 16777216 bytes of JSON text"
        );
        assert_eq!(tools.calls(), Vec::<String>::new());
        let code = "
import asyncio
calls = [tools.never.aio() for _ in range(10_050)]
await asyncio.sleep(0.5)
refused = [call for call in calls if call.done()]
return [len(refused), refused[0].exception().retryable, str(refused[0].exception())]";
        let outcome = session.cell(code);
        assert_eq!(
            value(&outcome),
            "[50,true,\"10000 calls are without an answer, and no more may be\\nhint: await some of them first\"]"
        );
        assert_eq!(value(&session.cell("return tools.add(1, 1)")), "2");
    });
}
