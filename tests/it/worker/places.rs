//! Which program a worker runs, and sessions that come to a worker from elsewhere: a stuck interpreter's, a spare's.

use std::cell::RefCell;

use serde_json::json;
use warmcell::{Cell, FailureKind, Language, Limits, RuntimeError, Session, SessionState};

use super::{Worker, builder, kind, notice, open, value};
use crate::support::{
    Alone, Cells, Program, Server, eventually, in_own_process, ms, processes, settle, test_name,
    timed, warmcell,
};

fn in_process() -> Worker {
    open(
        Session::builder(Language::Python)
            .worker_executable(env!("CARGO_BIN_EXE_warmcell"))
            .limits(Limits::default()),
    )
}

#[test]
fn sessions_of_a_stuck_interpreter_go_on_in_workers_and_say_what_they_lost() {
    in_own_process!(|| {
        let first = in_process();
        let second = in_process();
        assert!(first.cell("x = 1").ok && second.cell("y = 1").ok);
        let stuck = first.start(Cell::new("sum(range(10**13))").with_timeout(ms(200)));
        let stuck = settle(stuck);
        assert_eq!(kind(&stuck), FailureKind::Timeout);
        assert_eq!(stuck.state, SessionState::Lost);
        for session in [&first, &second] {
            let next = session.cell("return 'x' in globals() or 'y' in globals()");
            assert_eq!(value(&next), "false");
            assert_eq!(next.state, SessionState::Lost);
            assert!(
                notice(&next)
                    .starts_with("the interpreter of this process is stuck in an earlier cell")
            );
            // From here on it is a session as any other in a worker.
            assert_eq!(value(&session.cell("z = 3; return z")), "3");
            assert_eq!(
                session.cell("import os; os._exit(1)").state,
                SessionState::Restored
            );
            assert_eq!(value(&session.cell("return z")), "3");
        }
        let third = in_process();
        let first_outcome = third.cell("return 1");
        assert_eq!(value(&first_outcome), "1");
        assert_eq!(first_outcome.state, SessionState::Kept, "{first_outcome:?}");
    });
}

#[test]
fn a_host_that_has_threads_cannot_be_its_own_worker_and_is_told_what_to_do() {
    Alone::new(test_name!()).env("PATH", "/nonexistent").run(|| {
        // Tests run on threads.
        warmcell::worker::init();
        let builder = Session::builder(Language::Python).placement(warmcell::Placement::Worker);
        let Err(RuntimeError::Unavailable(text)) = settle(builder.open()) else {
            panic!("there is no worker to be found");
        };
        assert!(
            text.ends_with("hint: install `warmcell`, name it with `worker_executable`, or call `warmcell::worker::init()` first thing in a plain `fn main()`, before any thread starts"),
            "{text}"
        );
    });
}

#[test]
fn a_spare_is_there_once_a_session_is_quiet_and_the_next_session_takes_it() {
    in_own_process!(|| {
        let first = open(builder());
        assert!(first.cell("x = 1").ok);
        // It says nothing when it has come to life; a session that is opened then has a process that was there before.
        let takes_a_spare = || {
            let before = processes::workers();
            let session = open(builder());
            let told = session.cell("import os\nreturn os.getpid()");
            let is_spare = before.contains(&value(&told).parse().unwrap());
            (is_spare, session)
        };
        eventually("a session takes a spare", || takes_a_spare().0);
        // One that has been halted is no spare, and one that has died is none.
        let own: i32 = value(&first.cell("import os\nreturn os.getpid()"))
            .parse()
            .unwrap();
        for spoil in [processes::halt, processes::kill] {
            let others = processes::workers().into_iter();
            others.filter(|worker| *worker != own).for_each(spoil);
            let (took, (is_spare, quiet)) = timed(takes_a_spare);
            assert!(!is_spare && took < ms(5000), "{took:?}");
            eventually("a session takes a spare", || takes_a_spare().0);
            drop(quiet);
        }
        assert_eq!(value(&takes_a_spare().1.cell("return 1 + 1")), "2");
        let other = open(builder().env_pass("WARMCELL_NONE").cwd("/"));
        assert_eq!(value(&other.cell("return 1 + 1")), "2");
    });
}

/// A spare that is opened in advance is as good as a session of one's own, and is no other session's.
#[test]
fn a_spare_serves_only_a_session_that_is_opened_as_it_was() {
    in_own_process!(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let folder = folder.path().join("workspace");
        std::fs::create_dir(&folder).unwrap();
        let of = |name: &str| open(builder().cwd(&folder).env("NAME", name));
        let told = "import os\nreturn [os.environ['NAME'], os.path.samefile('.', os.getcwd()), os.getpid()]";
        let tell = |session: &Worker| -> (String, bool, i32) {
            serde_json::from_str(value(&session.cell(told))).unwrap()
        };
        // A session has to be left alone for a moment before there is a spare, so it stays until the next one has come.
        let kept = RefCell::new(None);
        let takes_a_spare = |name: &str| {
            let before = processes::workers();
            let session = of(name);
            let (told, is_there, process) = tell(&session);
            assert_eq!((told.as_str(), is_there), (name, true));
            kept.replace(Some(session));
            before.contains(&process)
        };
        eventually("a session takes a spare", || takes_a_spare("one"));
        // The first cell of a session out of a spare has a backup as any other.
        let session = of("one");
        let killed = session.cell("x = 1\nimport os; os._exit(1)");
        assert_eq!(killed.state, SessionState::Restored, "{killed:?}");
        assert!(notice(&killed).starts_with("the session is as it was before cell 1"));
        assert_eq!(value(&session.cell("return 'x' in globals()")), "false");
        // One that was opened otherwise gets none of them, and from then on all can have theirs.
        assert!(!takes_a_spare("two"));
        for name in ["three", "one"] {
            eventually("a session takes a spare", || takes_a_spare(name));
        }
        // A folder that was removed and made anew is another.
        std::fs::remove_dir(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let session = of("one");
        assert!(session.cell("open('here', 'w').close()").ok);
        assert!(folder.join("here").exists());
    });
}

#[test]
fn the_supervisors_environment_holds_nothing_of_the_hosts() {
    Alone::new(test_name!())
        .env("WARMCELL_TEST_KEY", "secret")
        .run(|| {
            let session = open(builder());
            let outcome = session.cell(
                "import os\nreturn open(f'/proc/{os.getppid()}/environ').read().split('\\0')",
            );
            let names = value(&outcome);
            assert!(
                !names.contains("secret") && names.contains("WARMCELL_WORKER=1"),
                "{names}"
            );
        });
}

/// The host is killed in the midst of a cell: nothing of it is left.
#[test]
fn the_death_of_the_host_ends_everything() {
    let mut server = Server::start();
    let opened = server.call("open", json!({ "language": "python" }));
    let session = opened["session"].as_str().unwrap().to_owned();
    let code = "import os, subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True, env={})\nreturn [os.getppid(), os.getpid(), child.pid]";
    let told = server.cell(&session, code);
    let family: Vec<i32> = serde_json::from_value(told["value"].clone()).unwrap();
    server.send(
        "execute",
        json!({ "session": session, "code": "while True: pass" }),
    );
    drop(server);
    for process in family {
        eventually("it has ended", || !processes::is_alive(process));
    }
}

#[test]
fn cells_of_the_command_line_run_in_workers_where_they_are_asked_to() {
    let code = "import os; return open(f'/proc/{os.getppid()}/cmdline').read().split('\\0')[1:3]";
    let ran = Program::run(warmcell(["exec", "--placement", "worker", code]), "");
    let printed = "[\"worker\",\"supervise\"]\n";
    assert_eq!(
        (ran.status, ran.stdout.as_str()),
        (0, printed),
        "{}",
        ran.stderr
    );
    let here = Program::run(
        warmcell([
            "exec",
            "import os; return os.path.basename(os.readlink('/proc/self/exe'))",
        ]),
        "",
    );
    assert_eq!(here.stdout, "\"warmcell\"\n");
    let crashed = Program::run(
        warmcell([
            "exec",
            "--placement",
            "worker",
            "x = 1",
            "import os; os._exit(3)",
            "return x",
        ]),
        "",
    );
    assert_eq!(crashed.status, 1);
}

#[test]
fn a_client_takes_its_session_back_by_one_cell() {
    let mut server = Server::start();
    let opened = server.call("open", json!({ "language": "python", "backup": "undo" }));
    let session = opened["session"].as_str().unwrap().to_owned();
    assert_eq!(server.cell(&session, "rows = [1, 2]")["ok"], true);
    assert_eq!(server.cell(&session, "rows.clear()")["ok"], true);
    let undone = server.call("undo", json!({ "session": session }));
    assert_eq!(undone, json!({ "undone": 2 }));
    assert_eq!(server.cell(&session, "return rows")["value"], json!([1, 2]));
    assert_eq!(server.finish().status, 0);
}
