//! What a session in a process of its own costs its host: a cell's way there and back, starts, ends at a deadline, and coming
//! back from a crash; beside a bare byte that goes to another process and back over the same kind of socket.
//!
//! The targets are medians of single events and ratios within one run, so each event is timed by itself and the table shows
//! the least, which is what it takes on a machine that has nothing else to do, the median and the tail. The worker is the binary of the same profile. `cargo bench --bench worker [TEXT]` measures the rows
//! that contain the text.
//!
//! What follows an idle time is dominated by the machine where that is virtual. In one of its slow phases, when a byte took 250 µs
//! after 400 ms of idleness, a restore took 7.8 ms and the overshoot of a loop up to 10; in a fast one, with 59 µs for the byte, 3.3
//! and 2.1, and the first outcome from the spare 1.7. By `perf`, of a first cell without a backup the engine's thread has 1.6 ms of the
//! processor in a slow phase (a warm one takes 0.02): 54 % of it in libpython, 19 % ours, 17 % in the C library, 9 % in the kernel,
//! and no function over 6 %: code and data that no cache holds yet. The rest is waking four threads.
#![expect(clippy::expect_used, reason = "a bench that cannot go on ends")]
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::hint::black_box;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use warmcell::{Backup, Cell, Language, Outcome, Placement, Session, SessionBuilder, SessionState};

/// What an agent needs at least between two cells.
const THINKING: Duration = Duration::from_millis(2);

/// How long until a spare stands at the earliest.
const SOON: Duration = Duration::from_millis(130);

/// How long until a spare stands, and a backup of a large heap sleeps.
const SETTLING: Duration = Duration::from_millis(400);

/// The deadline of cells that are to be stopped, and how long after it they are killed.
const DEADLINE: Duration = Duration::from_millis(50);
const GRACE: Duration = Duration::from_millis(1500);

fn main() {
    let mut table = Table::new();
    round_trips(&mut table);
    starts(&mut table);
    restores(&mut table);
    overshoots(&mut table);
}

fn builder() -> SessionBuilder {
    Session::builder(Language::Python)
        .placement(Placement::Worker)
        .worker_executable(env!("CARGO_BIN_EXE_warmcell"))
}

fn open(builder: SessionBuilder) -> Session {
    builder.open_blocking().expect("a session")
}

fn run(session: &Session, cell: impl Into<Cell>) -> Outcome {
    session.run(cell.into()).expect("an open session").wait()
}

fn round_trips(table: &mut Table) {
    let mut echo = Echo::start();
    table.row(
        "byte to a process and back",
        "",
        20_000,
        Pause::None,
        || echo.round_trip(),
    );
    table.row(
        "the same, 2 ms between",
        "",
        500,
        Pause::Idle(THINKING),
        || echo.round_trip(),
    );
    for (name, pause) in [
        ("the same, 400 ms between", Pause::Idle(SETTLING)),
        ("the same, 400 ms between, busy", Pause::Busy(SETTLING)),
    ] {
        table.row(name, "", 20, pause, || echo.round_trip());
    }
    drop(echo);
    for (name, pause) in [
        ("a page that is new to the process", Pause::Idle(SETTLING)),
        ("the same, memory at hand", Pause::AtHand(SETTLING)),
    ] {
        table.row(name, "", 20, pause, || touch(64 << 12) / 64);
    }
    for (name, pause) in [
        ("a bare fork and its end", Pause::Idle(SETTLING)),
        ("the same, memory at hand", Pause::AtHand(SETTLING)),
    ] {
        table.row(name, "", 20, pause, fork);
    }
    let plain = open(builder().backup(Backup::Off));
    let one_and_one = |session: &Session| {
        let started = Instant::now();
        black_box(run(session, black_box("1+1")));
        started.elapsed()
    };
    table.row("`1+1`, no backup", "3 bytes", 20_000, Pause::None, || {
        one_and_one(&plain)
    });
    table.row(
        "`1+1`, no backup, 2 ms between",
        "",
        500,
        Pause::Idle(THINKING),
        || one_and_one(&plain),
    );
    let backed = open(builder());
    table.row(
        "`1+1`, backup, 2 ms between",
        "300 µs",
        1_000,
        Pause::Idle(THINKING),
        || one_and_one(&backed),
    );
    table.row(
        "`1+1`, backup, nothing between",
        "",
        1_000,
        Pause::None,
        || one_and_one(&backed),
    );
}

fn starts(table: &mut Table) {
    let first_outcome = |builder: SessionBuilder| {
        let started = Instant::now();
        let session = open(builder);
        assert!(run(&session, "1+1").ok);
        (started.elapsed(), session)
    };
    // A configuration of which there is no spare: another folder each time.
    let folders: Vec<_> = (0..20)
        .map(|index| {
            std::env::temp_dir().join(format!("warmcell-bench-{}-{index}", std::process::id()))
        })
        .collect();
    let mut next = folders.iter();
    table.row("first outcome cold", "", folders.len(), Pause::None, || {
        let folder = next.next().expect("a folder");
        std::fs::create_dir_all(folder).expect("a folder");
        first_outcome(builder().cwd(folder)).0
    });
    for folder in &folders {
        let _ = std::fs::remove_dir(folder);
    }
    // The session before has gone quiet for long enough that there is a spare.
    let rows = [
        (
            "from the spare",
            "2 ms",
            Backup::Last,
            Pause::Idle(SETTLING),
        ),
        (
            "from the spare, memory at hand",
            "2 ms",
            Backup::Last,
            Pause::AtHand(SETTLING),
        ),
        (
            "from the spare, as soon as it stands",
            "2 ms",
            Backup::Last,
            Pause::Idle(SOON),
        ),
        (
            "from the spare, no backup",
            "",
            Backup::Off,
            Pause::Idle(SETTLING),
        ),
        (
            "from the spare, no backup, memory at hand",
            "",
            Backup::Off,
            Pause::AtHand(SETTLING),
        ),
        (
            "from the spare, busy host",
            "2 ms",
            Backup::Last,
            Pause::Busy(SETTLING),
        ),
        (
            "from the spare, no backup, busy host",
            "",
            Backup::Off,
            Pause::Busy(SETTLING),
        ),
    ];
    for (name, target, backup, pause) in rows {
        // Each in a folder that nothing above was opened in: where sessions of a configuration are not opened alike its spares
        // are not opened in advance, and the first row takes 3.2 ms in place of 1.7.
        let alike = || match backup {
            Backup::Off => builder().backup(backup).cwd("/"),
            backup => builder().backup(backup).cwd("/usr"),
        };
        let (_, mut kept) = first_outcome(alike());
        let name = format!("first outcome {name}");
        table.row(&name, target, 20, pause, || {
            let (took, session) = first_outcome(alike());
            kept = session;
            took
        });
        drop(kept);
    }
}

fn restores(table: &mut Table) {
    let heaps = [
        ("restore after SIGKILL, small heap", "10 ms", ""),
        (
            "restore after SIGKILL, 100 MB of objects",
            "",
            "heap = [object() for _ in range(4_000_000)]",
        ),
    ];
    for (name, target, heap) in heaps {
        let session = open(builder());
        assert!(run(&session, format!("import os\n{heap}")).ok);
        let mut restore = || {
            let started = Instant::now();
            let outcome = run(&session, "os.kill(os.getpid(), 9)");
            let took = started.elapsed();
            assert_eq!(outcome.state, SessionState::Restored);
            took
        };
        table.row(name, target, 20, Pause::Idle(SETTLING), &mut restore);
        let name = format!("{name}, memory at hand");
        table.row(&name, target, 20, Pause::AtHand(SETTLING), restore);
    }
}

fn overshoots(table: &mut Table) {
    let cells = [
        (
            "overshoot, `while True: pass`",
            "10 ms",
            "while True: pass",
            DEADLINE,
            20,
        ),
        (
            "overshoot, `time.sleep`",
            "10 ms",
            "import time; time.sleep(10)",
            DEADLINE,
            20,
        ),
        (
            "overshoot, every exception swallowed",
            "80 ms",
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
            DEADLINE,
            20,
        ),
        (
            "overshoot beyond the grace, C code that is killed",
            "50 ms",
            "sum(range(10**13))",
            DEADLINE + GRACE,
            5,
        ),
    ];
    for (name, target, code, due, times) in cells {
        let session = open(builder());
        assert!(run(&session, "x = 1").ok);
        let mut overshoot = || {
            let started = Instant::now();
            let outcome = run(&session, Cell::from(code).with_timeout(DEADLINE));
            assert_ne!(outcome.state, SessionState::Lost);
            started.elapsed().saturating_sub(due)
        };
        let pause = SETTLING / 4;
        table.row(name, target, times, Pause::Idle(pause), &mut overshoot);
        let name = format!("{name}, memory at hand");
        table.row(&name, target, times, Pause::AtHand(pause), overshoot);
    }
}

/// Takes memory from the kernel and writes to each of its pages.
fn touch(bytes: usize) -> Duration {
    let started = Instant::now();
    let mut memory = Vec::<u8>::with_capacity(bytes);
    for page in memory.spare_capacity_mut().chunks_mut(1 << 12) {
        page[0].write(1);
    }
    black_box(&memory);
    started.elapsed()
}

/// A process that ends as soon as it lives.
fn fork() -> Duration {
    let started = Instant::now();
    // SAFETY: the child calls `_exit` and nothing else; the number is that of a child of this process.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(0),
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
    started.elapsed()
}

/// `cat`, at the other end of a pair of sockets.
struct Echo {
    here: UnixStream,
    process: Child,
}

impl Echo {
    fn start() -> Self {
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        let copy = there.try_clone().expect("a copy");
        let process = Command::new("cat")
            .stdin(Stdio::from(OwnedFd::from(copy)))
            .stdout(Stdio::from(OwnedFd::from(there)))
            .spawn()
            .expect("cat");
        Self { here, process }
    }

    fn round_trip(&mut self) -> Duration {
        let mut byte = [0];
        let started = Instant::now();
        self.here.write_all(b"x").expect("a byte goes");
        self.here.read_exact(&mut byte).expect("a byte comes");
        started.elapsed()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What goes before an event.
#[derive(Clone, Copy)]
enum Pause {
    None,
    /// The machine sleeps, and on a virtual one wakes slowly: after 400 ms a byte takes many times what it takes otherwise.
    Idle(Duration),
    /// This thread computes.
    Busy(Duration),
    /// The machine sleeps, and then gets back the memory that it may have given to its own host: a virtual machine that
    /// reports its free pages pays 3 to 40 us for each page it uses again, which is 5 to 40 ms for a fork and what follows it.
    AtHand(Duration),
}

impl Pause {
    fn pass(self) {
        match self {
            Self::None => {}
            Self::Idle(time) => thread::sleep(time),
            Self::AtHand(time) => {
                thread::sleep(time);
                touch(64 << 20);
            }
            Self::Busy(time) => {
                let started = Instant::now();
                while started.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
        }
    }
}

/// Prints a row as soon as it was measured.
struct Table {
    only: Option<String>,
}

impl Table {
    fn new() -> Self {
        println!(
            "{:<52} {:>10} {:>10} {:>10}  target",
            "", "least", "p50", "p95"
        );
        let only = std::env::args()
            .skip(1)
            .find(|argument| !argument.starts_with("--"));
        Self { only }
    }

    /// Times an event so often, with a pause before each.
    fn row(
        &mut self,
        name: &str,
        target: &str,
        times: usize,
        pause: Pause,
        mut event: impl FnMut() -> Duration,
    ) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only)) {
            return;
        }
        let mut took: Vec<Duration> = (0..times)
            .map(|_| {
                pause.pass();
                event()
            })
            .collect();
        took.sort();
        let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
        let [least, middle, tail] = [at(0.0), at(0.5), at(0.95)].map(|took| format!("{took:.1?}"));
        println!("{name:<52} {least:>10} {middle:>10} {tail:>10}  {target}");
    }
}
