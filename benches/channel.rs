//! What a cell costs a host: mailbox, interpreter thread, outcome, reply; beside an empty round trip over the same kinds of
//! channel and the bare C API on the interpreter's own thread.
//!
//! Compare as ratios within one run: waking a thread across idle cores costs ten times what it costs on one core, and the
//! scheduler decides.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use warmcell::{Language, Limits, Session};

fn runtimes() -> [(&'static str, Runtime); 2] {
    let current = Builder::new_current_thread().build().expect("a runtime");
    let multi = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    [("current-thread", current), ("multi-thread", multi)]
}

fn cells(criterion: &mut Criterion) {
    let limits = Limits::default().with_value_bytes(1 << 30);
    let session = Session::builder(Language::Python)
        .limits(limits)
        .open_blocking()
        .expect("a session");
    let long: String = (0..5)
        .map(|n| format!("def f{n}(a):\n    total = 0\n    for i in range(a):\n        total += i\n    return total\n\n\n"))
        .collect::<String>()
        + "f0(3)\n";
    for (name, runtime) in runtimes() {
        let mut group = criterion.benchmark_group(name);
        group.bench_function("empty round trip", |bencher| {
            let echo = Echo::start();
            bencher.iter(|| runtime.block_on(echo.call()));
        });
        let sources: [(&str, &str); 6] = [
            ("1+1", "1+1"),
            ("assignment", "x = 1"),
            ("print", "print('hello world')"),
            ("nested return", "for i in range(3):\n    if i: return i"),
            ("await", "import asyncio\nawait asyncio.sleep(0)"),
            ("40 lines", &long),
        ];
        for (name, source) in sources {
            group.bench_function(name, |bencher| {
                bencher.iter(|| run(&runtime, &session, black_box(source)))
            });
        }
        // A new text each time is what the code cache cannot help with.
        let mut number = 0_u64;
        group.bench_function("1+n, never cached", |bencher| {
            bencher.iter(|| {
                number += 1;
                run(&runtime, &session, &format!("1+{number}"))
            });
        });
        group.finish();
    }
}

fn run(runtime: &Runtime, session: &Session, source: &str) -> bool {
    runtime
        .block_on(session.run(source.into()).expect("an execution"))
        .ok
}

/// A thread behind a channel that answers at once: what any design with a thread of its own pays.
struct Echo(crossbeam_channel::Sender<oneshot::Sender<u64>>);

impl Echo {
    fn start() -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded::<oneshot::Sender<u64>>();
        std::thread::spawn(move || {
            for reply in receiver {
                let _ = reply.send(1);
            }
        });
        Self(sender)
    }

    async fn call(&self) -> u64 {
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).expect("the thread lives");
        answer.await.expect("an answer")
    }
}

criterion_group!(benches, cells);
criterion_main!(benches);
