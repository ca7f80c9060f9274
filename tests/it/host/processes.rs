//! Processes that cells make: forked children that fall out of their cell, `subprocess`, `multiprocessing`, pools.

use serde_json::json;
use warmcell::{FailureKind, Language, Session};

use crate::support::{Cells, Judge, each, in_own_process, ms, turn};

/// A forked child ran the engine's loop for ever; it has to end with its cell.
#[test]
fn a_forked_child_that_falls_out_of_its_cell_ends() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import asyncio, os, sys, time\nx = 1\ndef status(pid): return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")
            .succeeded();
        each(
            [
                ("x = 2", 0),
                ("print('in the child')", 0),
                ("raise ValueError('in the child')", 1),
                ("sys.exit(5)", 5),
                ("sys.exit()", 0),
                ("os._exit(7)", 7),
                ("return 'a value'", 0),
                ("time.sleep(0.05)", 0),
            ],
            |(child, status)| {
                let outcome = session.cell_within(
                ms(10_000),
                &format!(
                    "pid = os.fork()\nif pid == 0:\n    {child}\nelse:\n    return [status(pid), x]"
                ),
            );
                outcome.returned(json!([status, 1])).printed("");
            },
        );
        session
            .cell_within(
                ms(10_000),
                "await asyncio.sleep(0)\npid = os.fork()\nif pid: return status(pid)",
            )
            .returned(json!(0));
        // One that never ends is ended with the cell.
        session
            .cell_within(
                ms(300),
                "pid = os.fork()\nif pid == 0:\n    while True: pass\nos.wait()",
            )
            .failed(FailureKind::Timeout);
        session.cell("x").returned(json!(1));
    });
}

#[test]
fn subprocesses_work() {
    in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import subprocess, sys, asyncio\nsubprocess.run(['tr', 'a-z', 'A-Z'], input='through', capture_output=True, text=True, check=True).stdout")
            .returned(json!("THROUGH"));
        session
            .cell("subprocess.run([sys.executable, '-c', 'raise SystemExit(3)']).returncode")
            .returned(json!(3));
        session
            .cell("subprocess.run(['cat']).returncode")
            .returned(json!(0));
        session
            .cell("process = await asyncio.create_subprocess_exec('echo', 'async', stdout=asyncio.subprocess.PIPE)\n(await process.communicate())[0].decode()")
            .returned(json!("async\n"));
        session
            .cell("import os; os.popen('echo popen').read()")
            .returned(json!("popen\n"));
    });
}

/// Pools over functions: of a cell by fork, importable ones by every method.
#[test]
fn multiprocessing_works() {
    in_own_process!(|| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("warm_work.py"),
            "def double(n):\n    return n * 2\n",
        )
        .unwrap();
        let turn = turn();
        let session = turn.open(Session::builder(Language::Python).cwd(folder.path()));
        session
            .cell("import multiprocessing, concurrent.futures, math, warm_work\ndef triple(n): return n * 3")
            .succeeded();
        let within = ms(25_000);
        session
            .cell_within(within, "with multiprocessing.get_context('fork').Pool(2) as pool:\n    return [pool.map(triple, [1, 2, 3]), pool.map(warm_work.double, [1, 2])]")
            .returned(json!([[3, 6, 9], [2, 4]]));
        for method in ["spawn", "forkserver"] {
            session
                .cell_within(within, &format!("with multiprocessing.get_context('{method}').Pool(2) as pool:\n    return [pool.map(warm_work.double, [1, 2, 3]), pool.map(math.sqrt, [4])]"))
                .returned(json!([[2, 4, 6], [2.0]]));
        }
        session
            .cell_within(within, "with concurrent.futures.ProcessPoolExecutor(2) as pool:\n    return [list(pool.map(triple, [1, 2])), pool.submit(pow, 2, 10).result()]")
            .returned(json!([[3, 6], 1024]));
        session
            .cell_within(within, "with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn')) as pool:\n    return list(pool.map(warm_work.double, [5]))")
            .returned(json!([10]));
        session
            .cell_within(within, "with concurrent.futures.ThreadPoolExecutor(4) as pool:\n    return list(pool.map(triple, range(5)))")
            .returned(json!([0, 3, 6, 9, 12]));
        session
            .cell_within(within, "queue = multiprocessing.get_context('fork').Queue()\nprocess = multiprocessing.get_context('fork').Process(target=queue.put, args=('from the child',))\nprocess.start()\ntext = queue.get(timeout=10)\nprocess.join(10)\nreturn [text, process.exitcode]")
            .returned(json!(["from the child", 0]));
        session.cell("triple(14)").returned(json!(42));
    });
}

/// A process pool that is still there when its host leaves goes with it.
#[test]
fn a_pool_that_is_left_open_ends_with_the_host() {
    let ended = in_own_process!(|| {
        let turn = turn();
        let session = turn.python();
        session
            .cell("import multiprocessing\npool = multiprocessing.get_context('fork').Pool(2)\npool.map(abs, [-1])")
            .returned(json!([1]));
        println!("leaving");
    });
    if let Some(ended) = ended {
        assert!(ended.after("leaving").as_secs() < 2);
    }
}
