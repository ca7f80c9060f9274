//! What a worker holds its cells to: memory, processor time, processes, files, and what they see of the environment.

use std::time::Instant;

use warmcell::{FailureKind, Limits, RuntimeError, SessionState};

use super::{SECOND, builder, kind, message, open, value};
use crate::support::{Alone, Cells, each, ms, settle, test_name};

#[test]
fn memory_that_is_asked_for_is_refused_and_the_cell_can_catch_it() {
    let session = open(builder().limits(Limits::default().with_memory_mb(128)));
    assert!(session.cell("x = 1").ok);
    let caught = session
        .cell("try:\n    block = bytearray(1 << 30)\nexcept MemoryError:\n    return 'caught'");
    assert_eq!(value(&caught), "\"caught\"");
    let mapped = session.cell("import mmap\ntry:\n    block = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nexcept (OSError, MemoryError):\n    return 'refused'");
    assert_eq!(value(&mapped), "\"refused\"");
}

/// Shared memory counts for no limit of the process; the watch sees it.
#[test]
fn memory_that_goes_by_every_limit_is_seen_by_the_watch() {
    let session = open(builder().limits(Limits::default().with_memory_mb(64)));
    assert!(session.cell("import mmap, time, os\nx = 1").ok);
    let grow = "block = mmap.mmap(-1, 1 << 30)\nfor page in range(0, 1 << 30, 4096):\n    block[page] = 1\ntime.sleep(10)";
    let own = format!("x = 2\n{grow}");
    let childs = format!(
        "x = 2\nif os.fork() == 0:\n{}\nos.wait()",
        grow.replace("block =", "    block =")
            .replace("for page", "    for page")
            .replace("    block[", "        block[")
            .replace("\ntime", "\n    time")
    );
    each([own, childs], |code| {
        let died = session.cell(&code);
        assert_eq!(kind(&died), FailureKind::Memory, "{died:?}");
        assert!(message(&died).ends_with("over its limit of 64 MiB"));
        assert_eq!(died.state, SessionState::Restored);
        assert_eq!(value(&session.cell("return x")), "1");
    });
}

#[test]
fn processor_time_is_counted_for_the_cell_and_its_children() {
    let mut limits = Limits::default();
    limits.cpu = Some(ms(200));
    let session = open(builder().limits(limits));
    assert!(session.cell("import subprocess, sys, time\nx = 1").ok);
    each(
        [
            "x = 2\nwhile True: pass",
            "x = 2\nsubprocess.run([sys.executable, '-c', 'while True: pass'])",
        ],
        |code| {
            let started = Instant::now();
            let stopped = session.cell(code);
            assert_eq!(kind(&stopped), FailureKind::Timeout, "{stopped:?}");
            assert!(message(&stopped).contains("CPU"), "{stopped:?}");
            assert_eq!(stopped.state, SessionState::Kept);
            assert!(started.elapsed() < 20 * SECOND);
        },
    );
    // Time that passes is no processor time.
    assert!(session.cell("time.sleep(0.5)").ok);
}

#[test]
fn cells_may_have_so_many_processes_and_no_more() {
    let mut limits = Limits::default();
    limits.processes = Some(5);
    let session = open(builder().limits(limits));
    let within = session.cell("import subprocess, time, os\nx = 1\nchildren = [subprocess.Popen(['sleep', '1000']) for _ in range(4)]\ntime.sleep(0.3)\nfor child in children: child.kill(); child.wait()");
    assert!(within.ok, "{within:?}");
    let died = session.cell("x = 2\nchildren = [subprocess.Popen(['sleep', '1000'], start_new_session=True) for _ in range(9)]\ntime.sleep(10)");
    assert_eq!(kind(&died), FailureKind::WorkerExit, "{died:?}");
    // How many there were when they were counted is the machine's affair.
    let counted = (6..=9).find(|count| {
        message(&died)
            == format!("the worker process was killed when its cells had {count} processes, over the limit of 5")
    });
    assert!(counted.is_some(), "{died:?}");
    assert_eq!(died.state, SessionState::Restored);
    assert_eq!(value(&session.cell("return x")), "1");
}

/// They start as fast as they can, from a cell that has ended long before. They are as many as they are and start no more by
/// themselves: a test that fails must not take the machine with it.
#[test]
fn a_flood_of_processes_that_a_cell_leaves_behind_is_ended() {
    let mut limits = Limits::default();
    limits.processes = Some(40);
    let session = open(builder().limits(limits));
    assert!(session.cell("import subprocess\nx = 1").ok);
    let flood = "subprocess.Popen(['sh', '-c', 'sleep 0.2; for i in $(seq 200); do setsid sleep 100 & done; sleep 100'])\nreturn x";
    assert_eq!(value(&session.cell(flood)), "1");
    std::thread::sleep(SECOND);
    let after = session.cell("return x");
    assert_eq!(value(&after), "1");
    assert!(
        after.notice.unwrap().contains("over the limit of 40"),
        "the flood was seen"
    );
}

#[test]
fn files_are_as_many_and_as_large_as_they_may_be() {
    let mut limits = Limits::default();
    (limits.open_files, limits.file_mb) = (Some(100), Some(1));
    let session = open(builder().limits(limits));
    let many = session.cell("import os, tempfile\nx = 1\nfiles = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError as error:\n    return [len(files) < 100, error.strerror]");
    assert_eq!(value(&many), "[true,\"Too many open files\"]");
    assert!(session.cell("files.clear()").ok);
    let large = session.cell("file = tempfile.TemporaryFile()\ntry:\n    file.write(b'x' * (2 << 20)); file.flush()\nexcept OSError as error:\n    return error.strerror");
    assert_eq!(value(&large), "\"File too large\"");
    assert_eq!(session.cell("os._exit(0)").state, SessionState::Restored);
    assert_eq!(value(&session.cell("return x")), "1");
}

#[test]
fn limits_that_make_no_sense_are_refused_when_the_session_is_opened() {
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        settle(builder().limits(limits).open()).unwrap_err()
    };
    assert!(matches!(
        limits(|limits| limits.open_files = Some(3)),
        RuntimeError::InvalidLimit {
            limit: "openFiles",
            given: 3,
            ..
        }
    ));
    assert!(matches!(
        limits(|limits| limits.file_mb = Some(0)),
        RuntimeError::InvalidLimit {
            limit: "fileMb",
            ..
        }
    ));
    assert!(matches!(
        limits(|limits| limits.processes = Some(1 << 40)),
        RuntimeError::InvalidLimit {
            limit: "processes",
            ..
        }
    ));
}

#[test]
fn cells_see_of_the_environment_what_they_need_and_what_is_passed() {
    Alone::new(test_name!())
        .env("WARMCELL_TEST_KEY", "secret")
        .env("WARMCELL_TEST_NAME", "told")
        .env("LC_TEST", "here")
        .run(|| {
            let session = open(builder().env_pass("WARMCELL_TEST_NAME").env("GIVEN", "value"));
            let seen = session.cell("import os\nreturn [os.environ.get(name) for name in ['WARMCELL_TEST_KEY', 'WARMCELL_TEST_NAME', 'LC_TEST', 'GIVEN', 'WARMCELL_WORKER', 'PATH']]");
            let path = serde_json::to_string(&std::env::var("PATH").unwrap()).unwrap();
            assert_eq!(
                value(&seen),
                format!("[null,\"told\",\"here\",\"value\",null,{path}]")
            );
            let looked_for = session.cell("os.environ['WARMCELL_TEST_KEY']");
            assert_eq!(
                looked_for.error.unwrap().hint.as_deref(),
                Some("the host has `WARMCELL_TEST_KEY`, and cells in a worker do not see it: pass it by its name (`envPass`, `--env-pass WARMCELL_TEST_KEY`), or give it a value")
            );
            // A key of the program's own is none of the host's variables.
            let own = session.cell("{}['WARMCELL_TEST_KEY']");
            assert_eq!(own.error.unwrap().hint, None);
        });
}
