//! Sessions in processes of their own: what kills a worker, what the session is then, and that nothing is left behind.

mod chaos;
mod edges;
mod forgery;
#[cfg(any(feature = "javascript", feature = "quickjs"))]
mod javascript;
mod limits;
mod packages;
mod peers;
mod places;
mod sandbox;
mod survival;

use std::time::Duration;

use warmcell::{
    Backup, Cell, FailureKind, Language, Limits, Outcome, Placement, Session, SessionBuilder,
    SessionState,
};

use crate::support::{Cells, each, eventually, in_own_process, ms, processes, settle, timed};

const SECOND: Duration = Duration::from_secs(1);

fn builder() -> SessionBuilder {
    builder_of(Language::Python)
}

fn builder_of(language: Language) -> SessionBuilder {
    Session::builder(language)
        .placement(Placement::Worker)
        .worker_executable(env!("CARGO_BIN_EXE_warmcell"))
}

/// A session that is closed at the end of its test, also of one that fails.
struct Worker(Session);

impl std::ops::Deref for Worker {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        settle(self.0.close());
    }
}

fn open(builder: SessionBuilder) -> Worker {
    Worker(settle(builder.open()).expect("the session opens"))
}

fn value(outcome: &Outcome) -> &str {
    match &outcome.value {
        Some(value) => value.as_str(),
        None => panic!("no value: {outcome:?}"),
    }
}

#[track_caller]
fn kind(outcome: &Outcome) -> FailureKind {
    outcome.error.as_ref().expect("a failure").kind
}

#[track_caller]
fn message(outcome: &Outcome) -> &str {
    &outcome.error.as_ref().expect("a failure").message
}

#[track_caller]
fn notice(outcome: &Outcome) -> &str {
    outcome.notice.as_deref().expect("a notice")
}

/// What is asked for after a cell is answered after its backup was made and announced.
fn wait_for_the_backup(session: &Session) {
    settle(session.inspect()).expect("the names");
}

#[test]
fn a_worker_that_dies_goes_back_to_before_the_cell() {
    let session = open(builder());
    assert!(
        session
            .cell("import os, ctypes, signal\nnumbers = iter(range(100)); x = 1")
            .ok
    );
    each(
        [
            ("x = 2; os._exit(3)", "ended with status 3"),
            ("x = 2; ctypes.string_at(0)", "was killed by SIGSEGV"),
            ("x = 2; os.abort()", "was killed by SIGABRT"),
            (
                "x = 2; os.kill(os.getpid(), signal.SIGKILL)",
                "was killed by SIGKILL",
            ),
            (
                "x = 2; os.kill(os.getpid(), signal.SIGTERM)",
                "was killed by SIGTERM",
            ),
            (
                "x = 2; os.closerange(3, 1 << 16)",
                "lost its connection to the host: the program closed descriptors that are not its own",
            ),
        ],
        |(code, death)| {
            let next: i64 = value(&session.cell("return next(numbers)"))
                .parse()
                .unwrap();
            let died = session.cell(code);
            assert_eq!(kind(&died), FailureKind::WorkerExit, "{died:?}");
            assert_eq!(message(&died), format!("the worker process {death}"));
            assert_eq!(died.state, SessionState::Restored);
            let number = died.execution_count;
            assert!(
                notice(&died)
                    .starts_with(&format!("the session is as it was before cell {number}:"))
            );
            let after = session.cell("return [x, next(numbers)]");
            assert_eq!(value(&after), format!("[1,{}]", next + 1));
            assert_eq!((after.state, after.notice), (SessionState::Kept, None));
        },
    );
}

#[test]
fn what_a_cell_printed_before_its_process_died_is_there() {
    let session = open(builder());
    let died = session.cell("import os\nprint('first'); os.write(1, b'second\\n'); os.system('echo third'); print('fourth'); os._exit(0)");
    assert_eq!(died.stdout, "first\nsecond\nthird\nfourth\n");
    assert_eq!(message(&died), "the worker process ended with status 0");
}

#[test]
fn prints_c_code_and_children_stand_in_order_and_late_output_is_background() {
    let session = open(builder());
    let code = "
import os, threading
print('1'); os.system('echo 2'); os.write(1, b'3\\n'); print('4', end='')
go = threading.Event()
def late():
    go.wait(); print('late')
thread = threading.Thread(target=late); thread.start()";
    assert_eq!(session.cell(code).stdout, "1\n2\n3\n4");
    let outcome = session.cell("print('mine'); go.set(); thread.join(); print('mine too')");
    assert_eq!(outcome.stdout, "mine\nmine too\n");
    assert_eq!(outcome.background.stdout, "late\n");
}

#[test]
fn a_megabyte_of_output_comes_whole_and_characters_are_not_cut() {
    let session = open(builder().limits(Limits::default().with_output_bytes(4 << 20)));
    let outcome = session.cell("for _ in range(1000): print('é' * 500)");
    assert_eq!(
        outcome.stdout,
        format!("{}\n", "é".repeat(500)).repeat(1000)
    );
    let broken = session.cell("import os\nos.write(1, b'\\xc3'); os.write(1, b'\\xa9\\xff')");
    assert_eq!(broken.stdout, "é\u{fffd}");
}

#[test]
fn a_cell_that_nothing_stops_is_killed_and_the_session_goes_back() {
    let session = open(builder());
    assert!(session.cell("x = 1").ok);
    let (took, stopped) = timed(|| session.cell_within(ms(100), "x = 2; sum(range(10**13))"));
    assert_eq!(kind(&stopped), FailureKind::Timeout);
    assert_eq!(stopped.state, SessionState::Restored);
    assert!(took < 5 * SECOND, "took {took:?}");
    assert_eq!(value(&session.cell("return x")), "1");
}

#[test]
fn a_cell_that_is_interrupted_keeps_the_session() {
    let session = open(builder());
    let stopped = session.cell_within(ms(200), "x = 5\nwhile True: pass");
    assert_eq!(kind(&stopped), FailureKind::Timeout);
    assert_eq!(stopped.state, SessionState::Kept);
    assert_eq!(value(&session.cell("return x")), "5");
    let execution = session.start(Cell::new("import time\nwhile True: time.sleep(0.01)"));
    eventually("the cell runs", || session.interrupt());
    let cancelled = settle(execution);
    assert_eq!(kind(&cancelled), FailureKind::Cancelled);
    assert_eq!(cancelled.state, SessionState::Kept);
}

#[test]
fn a_session_that_goes_back_has_its_loop_and_its_tasks() {
    let session = open(builder());
    let code = "
import asyncio, os
count = 0
async def counter():
    global count
    while True:
        await asyncio.sleep(0.001)
        count += 1
task = asyncio.create_task(counter())
await asyncio.sleep(0.05)
return count > 0";
    assert_eq!(value(&session.cell(code)), "true");
    assert_eq!(
        session.cell("await asyncio.sleep(0.01); os._exit(1)").state,
        SessionState::Restored
    );
    let after = session.cell(
        "before = count; await asyncio.sleep(0.05); return count > before and not task.done()",
    );
    assert_eq!(value(&after), "true");
    let threaded = session.cell("return await asyncio.to_thread(sum, [1, 2])");
    assert_eq!(value(&threaded), "3");
}

#[test]
fn without_a_backup_the_session_is_lost_and_the_reason_is_told() {
    let session = open(builder());
    let threaded = session.cell("import threading, os\nx = 1\nstop = threading.Event()\nthreading.Thread(target=stop.wait).start()");
    assert_eq!(
        notice(&threaded),
        "from here on a crash would lose the session: there is no backup, since threads of the program are alive"
    );
    assert_eq!(session.cell("x").notice, None);
    let died = session.cell("os._exit(1)");
    assert_eq!(died.state, SessionState::Lost);
    assert!(notice(&died).contains("there is no backup: threads of the program are alive"));
    assert_eq!(
        session.cell("x").error.unwrap().name.as_deref(),
        Some("NameError")
    );

    let off = open(builder().backup(Backup::Off));
    assert_eq!(off.cell("x = 1").notice, None);
    let died = off.cell("import os; os._exit(1)");
    assert_eq!(died.state, SessionState::Lost);
    assert!(notice(&died).contains("backups are turned off"));
}

#[test]
fn a_death_between_cells_is_told_at_the_next_one() {
    let _ = in_own_process!(|| {
        let session = open(builder());
        let code = "import os\nx = 1\nreturn os.getpid()";
        let process: i32 = value(&session.cell(code)).parse().unwrap();
        assert!(session.cell("x += 1").ok);
        wait_for_the_backup(&session);
        processes::kill(process);
        let after = session.cell(
            "return [x, os.getpid() == {process}]"
                .replace("{process}", &process.to_string())
                .as_str(),
        );
        assert_eq!(value(&after), "[2,false]");
        assert_eq!(after.state, SessionState::Kept);
        assert_eq!(
            notice(&after),
            "the worker process was killed by SIGKILL between two cells; the session went on from its backup, as it was after cell 2"
        );
    });
}

#[test]
fn a_supervisor_that_is_killed_costs_the_sessions_but_not_the_host() {
    // The supervisor is that of the whole process.
    let _ = in_own_process!(|| {
        let session = open(builder());
        let code = "import os, subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True)\nreturn [os.getpid(), child.pid]";
        let processes: Vec<i32> = serde_json::from_str(value(&session.cell(code))).unwrap();
        let died = session.cell("import time\nos.kill(os.getppid(), 9); time.sleep(10)");
        assert_eq!(died.state, SessionState::Lost);
        assert_eq!(
            message(&died),
            "the supervisor of the worker processes was killed, and the worker with it"
        );
        assert_eq!(value(&session.cell("return 1 + 1")), "2");
        for process in processes {
            eventually("what it left has ended", || !processes::is_alive(process));
        }
    });
}

#[test]
fn closing_ends_every_descendant() {
    let session = open(builder());
    let code = "
import os, subprocess
plain = subprocess.Popen(['sleep', '1000'])
apart = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={})
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, str(os.getpid()).encode())
        os.execve('/bin/sleep', ['sleep', '1000'], {})
    os._exit(0)
os.wait()
daemon = int(os.read(read, 20))
return [os.getpid(), plain.pid, apart.pid, daemon]";
    let processes: Vec<i32> = serde_json::from_str(value(&session.cell(code))).unwrap();
    assert!(
        processes
            .iter()
            .all(|process| processes::is_alive(*process))
    );
    drop(session);
    for process in processes {
        assert!(!processes::is_alive(process), "{process} is left");
    }
}

#[test]
fn readers_of_the_programs_pipes_see_their_end_while_a_backup_sleeps() {
    let session = open(builder());
    assert!(
        session
            .cell("import os, socket\nread, write = os.pipe(); one, other = socket.socketpair()")
            .ok
    );
    assert!(session.cell("pass").ok);
    let outcome = session
        .cell("os.close(write); one.close()\nreturn [len(os.read(read, 1)), len(other.recv(1))]");
    assert_eq!(value(&outcome), "[0,0]");
    assert!(session.cell("read, write = os.pipe()").ok);
    assert_eq!(session.cell("os._exit(1)").state, SessionState::Restored);
    // A restored session finds its pipes closed.
    let after = session
        .cell("try:\n    os.write(write, b'x')\nexcept BrokenPipeError:\n    return 'closed'");
    assert_eq!(value(&after), "\"closed\"");
}

#[test]
fn the_program_sees_no_child_but_its_own() {
    let session = open(builder());
    assert!(session.cell("import os, random\nrandom.seed(1); before = random.random(); state = random.getstate()").ok);
    let alone = session
        .cell("try:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    return 'none'");
    assert_eq!(value(&alone), "\"none\"");
    assert_eq!(session.cell("os._exit(1)").state, SessionState::Restored);
    assert_eq!(
        value(&session.cell("return random.getstate() == state")),
        "true"
    );
}

#[test]
fn garbage_on_every_descriptor_settles_the_cell_and_hurts_nobody() {
    let neighbour = open(builder());
    assert!(neighbour.cell("x = 1").ok);
    let session = open(builder());
    assert!(session.cell("x = 1").ok);
    let outcome = session.cell(
        "
import os
for descriptor in range(3, 1 << 16):
    try:
        os.write(descriptor, b'\\xff' * 64)
    except OSError:
        pass",
    );
    assert_eq!(kind(&outcome), FailureKind::WorkerExit, "{outcome:?}");
    assert_eq!(outcome.state, SessionState::Restored);
    assert_eq!(value(&session.cell("return x")), "1");
    assert_eq!(value(&neighbour.cell("return x")), "1");
}

#[test]
fn names_are_listed_bound_and_forgotten() {
    let session = open(builder());
    settle(session.bind("rows", warmcell::Json::new("[1, 2]").unwrap())).unwrap();
    assert_eq!(value(&session.cell("return sum(rows)")), "3");
    assert_eq!(
        session.cell("import os; os._exit(1)").state,
        SessionState::Restored
    );
    let variables = settle(session.inspect()).unwrap();
    assert_eq!(
        variables
            .iter()
            .map(|variable| variable.name.as_str())
            .collect::<Vec<_>>(),
        ["rows"]
    );
    let refused = settle(session.bind("no name", warmcell::Json::new("1").unwrap()));
    assert!(refused.is_err());
    session.reset_now();
    assert_eq!(
        session.cell("rows").error.unwrap().name.as_deref(),
        Some("NameError")
    );
}

#[test]
fn the_last_cell_can_be_undone() {
    let session = open(builder().backup(Backup::Undo));
    assert!(session.cell("rows = [1]; numbers = iter(range(9))").ok);
    assert!(session.cell("rows.append(2); next(numbers)").ok);
    assert!(session.cell("rows.clear(); big = 'x' * 100_000").ok);
    assert_eq!(settle(session.undo()).unwrap(), 3);
    let after = session.cell("return [rows, next(numbers), 'big' in globals()]");
    assert_eq!(value(&after), "[[1,2],1,false]");
    assert_eq!((after.state, after.notice), (SessionState::Kept, None));
    // A value that is larger than any message of a sleeping copy.
    assert_eq!(value(&session.cell("return 'x' * 100_000")).len(), 100_002);
    settle(session.bind("rows", warmcell::Json::new("[7]").unwrap())).unwrap();
    assert_eq!(settle(session.undo()).unwrap(), 5);
    assert_eq!(value(&session.cell("return rows")), "[1,2]");
    assert_eq!(
        session.cell("import os; os._exit(1)").state,
        SessionState::Restored
    );
}

#[test]
fn what_cannot_be_undone_is_refused() {
    let undone = |session: &Session| settle(session.undo()).unwrap_err().to_string();
    let plain = open(builder());
    assert!(plain.cell("x = 1").ok);
    assert!(undone(&plain).starts_with("the session was not opened to be undone"));
    let session = open(builder().backup(Backup::Undo));
    assert!(undone(&session).starts_with("there is no cell to undo"));
    assert!(session.cell("x = 1").ok);
    assert_eq!(settle(session.undo()).unwrap(), 1);
    assert!(undone(&session).starts_with("there is no cell to undo"));
    assert_eq!(
        session.cell("x").error.unwrap().name.as_deref(),
        Some("NameError")
    );
    let code =
        "import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait).start()";
    assert!(session.cell(code).ok);
    assert_eq!(
        undone(&session),
        "there is nothing to go back to, since threads of the program are alive"
    );
    let here = settle(
        Session::builder(Language::Python)
            .backup(Backup::Undo)
            .open(),
    );
    assert!(
        here.unwrap_err()
            .to_string()
            .starts_with("`backup` is `undo`, which needs a process of its own")
    );
}

#[test]
fn a_worker_executable_that_is_none_is_refused() {
    let missing = settle(builder().worker_executable("/nonexistent/warmcell").open());
    assert_eq!(
        missing.err().unwrap().to_string(),
        "the worker executable `/nonexistent/warmcell` is not a file that can be run"
    );
    let session = open(builder().worker_executable("/bin/true"));
    let outcome = session.cell("1");
    assert_eq!(kind(&outcome), FailureKind::Unavailable, "{outcome:?}");
}
