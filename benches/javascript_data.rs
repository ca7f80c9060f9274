//! What engines make of everyday code: the table of both engines. `node benches/node.js` prints Node's column.
//!
//! `cargo bench --bench javascript_data -- WORD` runs the programs whose name contains the word. Each program runs three times in
//! the same session, and the median counts, of the time that the processor spent on it: what else the machine does matters
//! less to it.
//!
//! boa takes 180 to 210 ms to split and count 1 MB, in the steps of `for`-`of`, each of which makes an object for its result, and
//! in 400,000 reads and writes of properties by a text. With boa_gc's own threshold it took 266 alone and 364 after the other
//! programs, a third of it collections; a generator of 2e5 values took 203 and takes 69. Thin LTO with one codegen unit makes no
//! difference (340 ms beside 335 for the lines of words) and takes three times as long to build.
//!
//! Where 228 ms went on a slow day (QuickJS 45): 23 into `repeat` and `split`, 105 into 198,000 steps of `for`-`of`, 31 into as
//! many reads by a text and 57 into as many writes. A step looks up four properties (`length`, the element, `done`, `value`), and
//! each lookup builds a descriptor. An iterator of our own that gives the same result object at each step made 105 out of 110,
//! since it has as many lookups: what is left is in boa's own paths.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on ends, and prints its table"
)]

use std::thread;
use std::time::Duration;

use warmcell::JavaScriptEngine;
use warmcell::javascript_internals::{InThread, STACK_BYTES};

const PROGRAMS: &str = include_str!("javascript/programs.js");
const ROUNDS: usize = 3;
/// A program that takes longer runs once.
const LONG: Duration = Duration::from_secs(3);

fn main() {
    let word = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let table = thread.spawn(move || table(&word.unwrap_or_default()));
    table.expect("a thread").join().expect("a table");
}

fn table(word: &str) {
    let open = |engine| InThread::open(engine, false).expect("a session");
    let mut sessions = [open(JavaScriptEngine::Boa), open(JavaScriptEngine::QuickJs)];
    println!("| ms | boa | QuickJS |\n|---|---|---|");
    for (name, program) in programs() {
        // Later programs use what earlier ones leave behind.
        let is_setup = program.contains("\nvar ") || program.starts_with("var ");
        if name.contains(word) || is_setup {
            let [boa, quickjs] = sessions
                .each_mut()
                .map(|session| median(session, name, program));
            println!("| {name} | {boa:.1} | {quickjs:.1} |");
        }
    }
}

/// The name and the text of each program.
fn programs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = PROGRAMS.split("\n//# ").skip(1);
    sections.filter_map(|section| section.split_once('\n'))
}

/// How long a program takes, in milliseconds.
fn median(session: &mut InThread, name: &str, program: &str) -> f64 {
    let mut times = Vec::new();
    while times.len() < ROUNDS && times.last().is_none_or(|time| *time < LONG) {
        let start = processor_time();
        let value = session.run(program);
        times.push(processor_time() - start);
        assert_eq!(value, Ok(Some("true".to_owned())), "the value of `{name}`");
    }
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// What the processor has spent on this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is there to be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
