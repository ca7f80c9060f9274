//! What a JavaScript cell costs besides its running: the rewrite, beside what boa needs to parse the result; the whole cell
//! on the engine's thread, beside the bare engine; and through the channel, beside an empty round trip.
//!
//! Compare as ratios within one run: waking a thread across idle cores costs ten times what it costs on one core, and the
//! scheduler decides.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]

use std::hint::black_box;
use std::thread;

use boa_engine::{Context, Script, Source};
use criterion::{BenchmarkId, Criterion, Throughput};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use warmcell::javascript_internals::{self as internals, InThread, STACK_BYTES};
use warmcell::{JavaScriptEngine, Language, Session};

const ENGINES: [(&str, JavaScriptEngine); 2] = [
    ("boa", JavaScriptEngine::Boa),
    ("quickjs", JavaScriptEngine::QuickJs),
];

/// Cells whose overhead is measured.
const CELLS: [(&str, &str); 5] = [
    ("1+1", "1+1"),
    ("assignment", "x = 1"),
    ("declaration", "const y = [1, 2, 3]"),
    ("print", "console.log('hello world')"),
    ("await", "await null"),
];

/// A part of what a cell of an agent's looks like: ten lines.
const JAVASCRIPT: &str = "\
const people# = [{ name: 'Ann', score: 91 }, { name: 'Bob', score: 77 }];
let total# = 0;
for (const person of people#) {
  total# += person.score;
}
function average#(rows, key = 'score') {
  const sum = rows.reduce((sum, row) => sum + row[key], 0);
  return rows.length ? sum / rows.length : 0;
}
console.log(`average ${average#(people#).toFixed(1)}`, people#.map(({ name }) => name).join(', '));
";

/// The same in TypeScript.
const TYPESCRIPT: &str = "\
interface Person# { name: string; score: number }
const people#: Person#[] = [{ name: 'Ann', score: 91 }, { name: 'Bob', score: 77 }];
let total#: number = 0;
for (const person of people#) total# += person.score;
function average#<K extends keyof Person#>(rows: Person#[], key: K = 'score' as K): number {
  const sum = rows.reduce((sum, row) => sum + (row[key] as number), 0);
  return rows.length ? sum / rows.length : 0;
}
enum Level# { Low, High = 5 }
console.log(`average ${average#(people#).toFixed(1)}`, Level#[Level#.High], people#.map(({ name }) => name).join(', '));
";

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    rewrites(&mut criterion);
    // boa needs more stack than the main thread has.
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let in_thread = thread.spawn(|| {
        let mut criterion = Criterion::default().configure_from_args();
        in_thread(&mut criterion);
        opening(&mut criterion);
    });
    in_thread.expect("a thread").join().expect("benches");
    channel(&mut criterion);
    criterion.final_summary();
}

fn source(part: &str, lines: usize) -> String {
    if lines == 1 {
        return part.lines().nth(1).expect("a second line").replace('#', "");
    }
    let parts = 0..lines / part.lines().count();
    parts.map(|n| part.replace('#', &n.to_string())).collect()
}

fn rewrites(criterion: &mut Criterion) {
    let mut context = Context::default();
    for (language, part) in [("JavaScript", JAVASCRIPT), ("TypeScript", TYPESCRIPT)] {
        let is_typescript = language == "TypeScript";
        let mut group = criterion.benchmark_group(language);
        for lines in [1, 30, 1000] {
            let source = source(part, lines);
            group.throughput(Throughput::Elements(lines as u64));
            group.bench_function(BenchmarkId::new("rewrite", lines), |bencher| {
                bencher.iter(|| internals::rewrite(black_box(&source), is_typescript));
            });
            let rewritten = internals::rewrite(&source, is_typescript).expect("it is correct");
            group.bench_function(
                BenchmarkId::new("boa's parse of the result", lines),
                |bencher| {
                    bencher.iter(|| {
                        let source = Source::from_bytes(black_box(&rewritten));
                        Script::parse(source, None, &mut context).expect("it is correct")
                    });
                },
            );
        }
        group.finish();
    }
}

fn in_thread(criterion: &mut Criterion) {
    for (engine, choice) in ENGINES {
        let mut session = InThread::open(choice, false).expect("a session");
        let bare = Bare::new(choice);
        for (name, source) in CELLS {
            let mut group = criterion.benchmark_group(format!("{engine}/{name}"));
            if name != "await" && name != "print" {
                let mut bare_engine = bare.enter();
                group.bench_function("bare", |bencher| {
                    bencher.iter(|| bare_engine(black_box(source)));
                });
            }
            group.bench_function("in thread", |bencher| {
                bencher.iter(|| {
                    let result = session.run(black_box(source));
                    session.take_output();
                    result.expect("it runs")
                });
            });
            group.finish();
        }
    }
}

fn opening(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open a session");
    for (engine, choice) in ENGINES {
        group.bench_function(engine, |bencher| {
            bencher.iter(|| InThread::open(choice, false).expect("a session"));
        });
    }
    group.bench_function("boa's context alone", |bencher| {
        bencher.iter(Context::default);
    });
    group.finish();
}

/// An engine without a session around it.
enum Bare {
    Boa,
    QuickJs(rquickjs::Context),
}

impl Bare {
    fn new(engine: JavaScriptEngine) -> Self {
        match engine {
            JavaScriptEngine::Boa => Self::Boa,
            JavaScriptEngine::QuickJs => {
                let runtime = rquickjs::Runtime::new().expect("a runtime");
                Self::QuickJs(rquickjs::Context::full(&runtime).expect("a context"))
            }
            other => panic!("no bare engine for `{}`", other.as_str()),
        }
    }

    /// Evaluates a text as a script in the global scope, in which declarations of the same name may be repeated.
    fn enter(&self) -> Box<dyn FnMut(&str) + '_> {
        match self {
            Self::Boa => {
                let mut context = Context::default();
                Box::new(move |source| {
                    let source = source.replace("const ", "var ");
                    context.eval(Source::from_bytes(&source)).expect("a value");
                })
            }
            Self::QuickJs(context) => Box::new(|source| {
                let source = source.replace("const ", "var ");
                context.with(|context| {
                    let mut options = rquickjs::context::EvalOptions::default();
                    options.strict = false;
                    let value =
                        context.eval_with_options::<rquickjs::Value<'_>, _>(source, options);
                    value.map(drop).expect("a value");
                });
            }),
        }
    }
}

fn channel(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let mut group = criterion.benchmark_group("channel");
    group.bench_function("empty round trip", |bencher| {
        let echo = Echo::start();
        bencher.iter(|| runtime.block_on(echo.call()));
    });
    for (engine, choice) in ENGINES {
        for (language, flavour) in [
            ("JavaScript", Language::JavaScript),
            ("TypeScript", Language::TypeScript),
        ] {
            let session = Session::builder(flavour)
                .javascript_engine(choice)
                .open_blocking()
                .expect("a session");
            for (name, source) in CELLS {
                group.bench_function(format!("{engine}/{language}/{name}"), |bencher| {
                    bencher.iter(|| run(&runtime, &session, black_box(source)));
                });
            }
        }
    }
    group.finish();
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
        thread::spawn(move || {
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
