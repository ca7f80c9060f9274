//! What a call of a host function costs a cell, from both languages, in both placements; beside a round trip of nothing over a
//! channel between two threads, and of a byte over a socket to another process.
//!
//! A cell makes many calls, and tells how long they took; so the figure has the language's own part in it and not the cell's.
//! `cargo bench --bench capabilities -- WORD` runs the rows whose name contains the word.
//!
//! Targets: in process at most 2 times the channel, in a worker at most 2 times the socket more than that. Pinned to one
//! processor, beside a channel of 11.8 us: Python 19 to 22, QuickJS 16 to 17, boa 22 to 25 in process (target 24); in a worker
//! 63 to 81 where 49 were wanted. Where the time goes there, by `perf`: the tender spends 75 to 78 % in the kernel and the thread
//! that hands the answer over 82 %, half of that in waking and switching threads; Python's own thread 45 % there and 24 % in
//! libpython. A call goes through five switches: from the engine to the tender, the host function, the tender, the presser and back.
//!
//! The promise of an answer is made and settled by the engine itself. With one that the prelude made (`new Promise`, a `Map` of
//! those who wait, a function that settles) a call on boa took 33, and on QuickJS 19, beside a channel of 9.6.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use warmcell::{
    Action, Capability, Cell, JavaScriptEngine, Language, Placement, Session, SessionBuilder,
    Signature,
};

const CALLS: u32 = 5_000;

const ROUNDS: usize = 7;

const PYTHON: &str = "
import time
started = time.perf_counter()
for _ in range({calls}): bench.nothing()
return time.perf_counter() - started";

const JAVASCRIPT: &str = "
const started = performance.now()
for (let i = 0; i < {calls}; i++) await bench.nothing()
return (performance.now() - started) / 1000";

fn main() {
    println!("{:<44} {:>10} {:>10}", "", "least", "p50");
    row("channel between two threads", channel);
    row("byte to a process and back", socket);
    for placement in [Placement::InProcess, Placement::Worker] {
        let place = match placement {
            Placement::InProcess => "in process",
            _ => "worker",
        };
        let python = Session::builder(Language::Python);
        called(&format!("python, {place}"), python, placement, PYTHON);
        for engine in JavaScriptEngine::ALL {
            let javascript = Session::builder(Language::JavaScript).javascript_engine(*engine);
            let name = format!("{}, {place}", engine.as_str());
            called(&name, javascript, placement, JAVASCRIPT);
        }
    }
}

fn called(name: &str, builder: SessionBuilder, placement: Placement, code: &str) {
    let nothing = Action::new("nothing", Signature::new(), |_| Ok(()));
    let awaited = Action::asynchronous("awaited", Signature::new(), |_| async { Ok(()) });
    let bench = Capability::new("bench")
        .with_action(nothing)
        .with_action(awaited);
    let session = builder
        .placement(placement)
        .worker_executable(env!("CARGO_BIN_EXE_warmcell"))
        .capability(bench)
        .open_blocking()
        .expect("a session");
    for (action, sort) in [("nothing", "blocking"), ("awaited", "async")] {
        let code = code
            .replace("{calls}", &CALLS.to_string())
            .replace("nothing", action);
        row(&format!("{name}, {sort} function"), || {
            let cell = Cell::from(code.as_str()).without_timeout();
            let outcome = session.run(cell).expect("an open session").wait();
            let seconds = outcome.value.expect("a time").parse::<f64>();
            Duration::from_secs_f64(seconds.expect("a number")) / CALLS
        });
    }
}

fn channel() -> Duration {
    let (ask, asked) = bounded::<()>(1);
    let (answer, answered) = bounded::<()>(1);
    let other = thread::spawn(move || {
        while asked.recv().is_ok() {
            let _ = answer.send(());
        }
    });
    let started = Instant::now();
    for _ in 0..CALLS {
        ask.send(()).expect("a thread");
        answered.recv().expect("an answer");
    }
    let took = started.elapsed() / CALLS;
    drop(ask);
    other.join().expect("it ends");
    took
}

fn socket() -> Duration {
    let (mut here, there) = UnixStream::pair().expect("a pair of sockets");
    let copy = there.try_clone().expect("a copy");
    let mut process = Command::new("cat")
        .stdin(Stdio::from(OwnedFd::from(copy)))
        .stdout(Stdio::from(OwnedFd::from(there)))
        .spawn()
        .expect("cat");
    let mut byte = [0];
    let started = Instant::now();
    for _ in 0..CALLS {
        here.write_all(b"x").expect("a byte goes");
        here.read_exact(&mut byte).expect("a byte comes");
    }
    let took = started.elapsed() / CALLS;
    let _ = process.kill();
    let _ = process.wait();
    took
}

fn row(name: &str, mut event: impl FnMut() -> Duration) {
    let word = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    if word.is_some_and(|word| !name.contains(&word)) {
        return;
    }
    let mut took: Vec<Duration> = (0..ROUNDS).map(|_| event()).collect();
    took.sort();
    let [least, middle] = [took[0], took[ROUNDS / 2]].map(|took| format!("{took:.1?}"));
    println!("{name:<44} {least:>10} {middle:>10}");
}
