//! Chaos: many sessions side by side run harmless, hostile and deadly cells in random order, workers and supervisors are killed
//! from outside, and a model says after each cell what the session must hold.
//!
//! The program of a session is one list, to which most cells append a number that is never used twice. A cell that is undone
//! must leave no number, one that is kept must leave its own, and what `state` and `notice` say must be what is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use warmcell::{
    Cell, FailureKind, JavaScriptEngine, Language, Outcome, SessionBuilder, SessionState,
};

use super::{Worker, builder, builder_of, open};
use crate::support::{Alone, Cells, Random, eventually, ms, processes, settle, test_name};

const SESSIONS: usize = 8;
const CELLS: usize = 2_000;
const BOUND: Duration = Duration::from_secs(300);

#[test]
fn two_thousand_cells_of_all_kinds_leave_every_session_as_the_model_says() {
    let ended = Alone::new(test_name!()).within(BOUND).run(|| {
        let random = Random::new();
        println!("WARMCELL_TEST_SEED={}", random.seed());
        // What stays for good is there before descriptors are counted: the supervisor's socket, the spares'.
        drop(sessions());
        let before = settled_descriptors();
        let killed = Arc::new(AtomicUsize::new(0));
        let opened = sessions();
        let threads: Vec<_> = opened
            .into_iter()
            .enumerate()
            .map(|(index, (session, is_python))| {
                let its = Random::from_seed(random.seed().wrapping_add(index as u64));
                let mut model = Model::new(session, is_python, its, killed.clone());
                model.may_kill_supervisors = index == 0;
                thread::spawn(move || model.live(CELLS / SESSIONS))
            })
            .collect();
        let mut counts = [0; 3];
        for thread in threads {
            let of_session = thread.join().expect("the session stood the test");
            for (sum, count) in counts.iter_mut().zip(of_session) {
                *sum += count;
            }
        }
        println!(
            "outcomes: {} kept, {} restored, {} lost; {} supervisors killed",
            counts[0],
            counts[1],
            counts[2],
            killed.load(Ordering::SeqCst)
        );
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        eventually("all descriptors are closed again", || {
            processes::open_descriptors() <= before
        });
        let left = processes::descendants();
        assert!(
            left.iter()
                .all(|process| process.command.contains(" worker ")),
            "what cells started is left: {left:?}"
        );
        // A supervisor, and the spares of three configurations, each with its backup.
        assert!(left.len() <= 7, "workers are left: {left:?}");
        let ids: Vec<String> = left.iter().map(|process| process.id.to_string()).collect();
        println!("left: {}", ids.join(" "));
    });
    let Some(ended) = ended else { return };
    for id in ended.said("left: ").split_whitespace() {
        let id = id.parse().expect("a number");
        eventually("the host's end has ended everything", || {
            !processes::is_alive(id)
        });
    }
}

/// Sessions of every engine that was built in, Python for the most part, each used once.
fn sessions() -> Vec<(Worker, bool)> {
    let javascript = |engine| builder_of(Language::JavaScript).javascript_engine(engine);
    let others: Vec<SessionBuilder> = [
        #[cfg(feature = "javascript")]
        JavaScriptEngine::Boa,
        #[cfg(feature = "quickjs")]
        JavaScriptEngine::QuickJs,
    ]
    .into_iter()
    .map(javascript)
    .collect();
    let python = (others.len()..SESSIONS).map(|_| (builder(), true));
    let all = python.chain(others.into_iter().map(|builder| (builder, false)));
    all.map(|(builder, is_python)| {
        let session = open(builder);
        assert!(session.cell(first_cell(is_python)).ok);
        (session, is_python)
    })
    .collect()
}

/// How many descriptors are open once the spares stand.
fn settled_descriptors() -> usize {
    let mut last = (0, 0);
    eventually("the number of descriptors stands still", || {
        let now = processes::open_descriptors();
        last = if last.0 == now {
            (now, last.1 + 1)
        } else {
            (now, 0)
        };
        last.1 >= 100
    });
    last.0
}

/// What a cell does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Harmless,
    Fails,
    Loops,
    Swallows,
    Floods,
    Starves,
    Wedges,
    Dies,
    ScribblesOnDescriptors,
    LeavesProcesses,
    LeavesThread,
    IsKilledInACell,
    IsKilledBetweenCells,
    LosesSupervisor,
}

/// How often each is drawn, for Python; JavaScript, which cannot end its process, draws again until it has one.
const MIX: [(Act, u64); 14] = [
    (Act::Harmless, 30),
    (Act::Fails, 8),
    (Act::Loops, 6),
    (Act::Swallows, 2),
    (Act::Floods, 3),
    (Act::Starves, 4),
    (Act::Wedges, 1),
    (Act::Dies, 16),
    (Act::ScribblesOnDescriptors, 2),
    (Act::LeavesProcesses, 5),
    (Act::LeavesThread, 3),
    (Act::IsKilledInACell, 8),
    (Act::IsKilledBetweenCells, 11),
    (Act::LosesSupervisor, 1),
];

/// A session, and what it must hold.
struct Model {
    session: Worker,
    is_python: bool,
    random: Random,
    /// How many supervisors were killed, by any session, and how many of those this session has felt.
    killed: Arc<AtomicUsize>,
    felt: usize,
    may_kill_supervisors: bool,
    log: Vec<u64>,
    /// The list after each cell, by the cell's number.
    history: Vec<Vec<u64>>,
    /// The worker, as the last probe found it.
    process: i32,
    has_threads: bool,
    /// Outcomes that were kept, restored, lost.
    counts: [u32; 3],
}

impl Model {
    fn new(session: Worker, is_python: bool, random: Random, killed: Arc<AtomicUsize>) -> Self {
        Self {
            session,
            is_python,
            random,
            killed,
            felt: 0,
            may_kill_supervisors: false,
            log: Vec::new(),
            // Before the first cell, and after it.
            history: vec![Vec::new(); 2],
            process: 0,
            has_threads: false,
            counts: [0; 3],
        }
    }

    /// Every act is a cell, and a probe of what it left is another.
    fn live(mut self, cells: usize) -> [u32; 3] {
        self.probe();
        for _ in 0..cells / 2 {
            let act = self.draw();
            self.take(act);
            self.probe();
        }
        self.counts
    }

    fn draw(&mut self) -> Act {
        loop {
            let mut at = self.random.below(MIX.iter().map(|(_, share)| share).sum());
            let drawn = MIX.iter().find(|(_, share)| {
                let is_here = at < *share;
                at = at.saturating_sub(*share);
                is_here
            });
            let act = drawn.expect("a share").0;
            let may = match act {
                Act::LosesSupervisor => self.may_kill_supervisors,
                Act::Harmless | Act::Fails | Act::Loops | Act::Floods => true,
                _ => self.is_python,
            };
            if may {
                return act;
            }
        }
    }

    fn take(&mut self, act: Act) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        match act {
            Act::IsKilledBetweenCells => kill(self.process),
            Act::LosesSupervisor => {
                self.killed.fetch_add(1, Ordering::SeqCst);
                processes::supervisors().into_iter().for_each(kill);
            }
            _ => {}
        }
        let separator = if self.is_python { "\n" } else { ";\n" };
        let append = if self.is_python { "append" } else { "push" };
        let code = format!("log.{append}({number}){separator}{}", self.code(act));
        let bound = match act {
            Act::Loops | Act::Swallows | Act::Wedges => ms(150),
            _ => ms(20_000),
        };
        let (cell, mut events) = Cell::new(code).with_timeout(bound).with_events(4);
        let execution = self.session.start(cell);
        if act == Act::IsKilledInACell && settle(events.next()).is_some() {
            kill(self.process);
        }
        let outcome = settle(execution);
        if self.judge(act, number, &outcome) {
            check(act, &outcome);
        }
        self.has_threads |= act == Act::LeavesThread;
    }

    /// What the cell does after it has appended.
    fn code(&self, act: Act) -> &'static str {
        let (python, javascript) = match act {
            Act::Fails => ("1 / 0", "throw new Error('no')"),
            Act::Loops => ("while True: pass", "for (;;) {}"),
            Act::Swallows => (
                "while True:\n    try:\n        time.sleep(1)\n    except BaseException: pass",
                "",
            ),
            Act::Floods => (
                "for _ in range(50): print('x' * 1000)",
                "for (let i = 0; i < 50; i++) console.log('x'.repeat(1000))",
            ),
            Act::Starves => ("x = bytearray(10**13)", ""),
            Act::Wedges => ("sum(range(10**13))", ""),
            Act::Dies => match self.log.len() % 4 {
                0 => ("os._exit(3)", ""),
                1 => ("os.abort()", ""),
                2 => ("ctypes.string_at(0)", ""),
                _ => ("os.kill(os.getpid(), 9)", ""),
            },
            Act::ScribblesOnDescriptors => (
                "for descriptor in range(3, 1 << 16):\n    try: os.write(descriptor, b'\\xff' * 64)\n    except OSError: pass",
                "",
            ),
            Act::LeavesProcesses => (
                "subprocess.Popen(['sleep', '1000'], start_new_session=True, env={})",
                "",
            ),
            Act::LeavesThread => (
                "thread = threading.Thread(target=time.sleep, args=(0.05,)); thread.start()",
                "",
            ),
            Act::IsKilledInACell => ("print('runs', flush=True); time.sleep(60)", ""),
            Act::Harmless | Act::IsKilledBetweenCells | Act::LosesSupervisor => ("", ""),
        };
        if self.is_python { python } else { javascript }
    }

    /// Takes the outcome of a cell that appended `number`. Says whether the cell met a session that was whole.
    fn judge(&mut self, act: Act, number: u64, outcome: &Outcome) -> bool {
        let kind = outcome.error.as_ref().map(|failure| failure.kind);
        let notice = outcome.notice.as_deref().unwrap_or("");
        let cell = outcome.execution_count;
        let told = || format!("{act:?} of {number}: {outcome:?}, after {:?}", self.log);
        if outcome.state == SessionState::Lost {
            self.counts[2] += 1;
            let text = format!(
                "{notice} {}",
                outcome
                    .error
                    .as_ref()
                    .map_or("", |failure| &failure.message)
            );
            // Without a backup as long as they are, and then until the next one is made, a little after a reply.
            let is_of_threads = text.contains("threads of the program are alive")
                || text.contains("there is no backup: none was made yet");
            if is_of_threads {
                assert!(self.has_threads, "{}", told());
            } else {
                assert!(text.contains("supervisor"), "{}", told());
                self.felt += 1;
                assert!(
                    self.felt <= self.killed.load(Ordering::SeqCst),
                    "{}",
                    told()
                );
            }
            self.begin_again();
            return false;
        }
        // A death that was noticed before the cell may have cost the cell before it, and says so.
        let was_set_back = notice.contains("the session went back to a backup");
        let before = match was_set_back {
            true => self.after(named(
                notice,
                "went back to a backup, as it was after cell ",
            )),
            false => self.log.clone(),
        };
        let died =
            kind == Some(FailureKind::WorkerExit) || notice.contains("its process was killed");
        let (after, state) = if !died {
            let mut after = before;
            after.push(number);
            let state = match was_set_back {
                true => SessionState::Restored,
                false => SessionState::Kept,
            };
            (after, state)
        } else if notice.contains(&format!("the session is as it was before cell {cell}:")) {
            (before, SessionState::Restored)
        } else {
            let after = self.after(named(notice, "the session is as it was after cell "));
            (after, SessionState::Restored)
        };
        assert_eq!(outcome.state, state, "{}", told());
        self.counts[usize::from(state != SessionState::Kept)] += 1;
        self.has_threads &= !died;
        self.log = after;
        self.note(cell);
        true
    }

    /// The list as it was after a cell.
    fn after(&self, cell: usize) -> Vec<u64> {
        self.history[cell].clone()
    }

    fn note(&mut self, cell: u64) {
        let cell = usize::try_from(cell).expect("a number");
        self.history.resize(cell + 1, Vec::new());
        self.history[cell] = self.log.clone();
    }

    /// The session must hold what the model does.
    fn probe(&mut self) {
        let code = if self.is_python {
            "return [log, os.getpid()]"
        } else {
            "return [log, 0]"
        };
        loop {
            let outcome = self.session.cell(code);
            if outcome.state == SessionState::Lost {
                // It stands for an act that appended nothing.
                self.judge(Act::Harmless, 0, &outcome);
                continue;
            }
            assert_eq!(outcome.state, SessionState::Kept, "{outcome:?}");
            let value = outcome.value.as_ref().map(|value| value.as_str());
            let found: (Vec<u64>, i32) =
                serde_json::from_str(value.unwrap_or_else(|| panic!("no list: {outcome:?}")))
                    .expect("a list and a process");
            assert_eq!(found.0, self.log, "before: {outcome:?}");
            self.process = found.1;
            self.counts[0] += 1;
            self.note(outcome.execution_count);
            return;
        }
    }

    /// After a loss: the program's names are made anew, which may itself meet the end of a supervisor.
    fn begin_again(&mut self) {
        self.log.clear();
        self.has_threads = false;
        loop {
            let outcome = self.session.cell(first_cell(self.is_python));
            self.note(outcome.execution_count);
            if outcome.ok {
                return;
            }
            assert_eq!(outcome.state, SessionState::Lost, "{outcome:?}");
        }
    }
}

/// How the outcome of a cell looks whose session was whole.
fn check(act: Act, outcome: &Outcome) {
    let kind = outcome.error.as_ref().map(|failure| failure.kind);
    let expected = match act {
        Act::Harmless
        | Act::Floods
        | Act::LeavesProcesses
        | Act::LeavesThread
        | Act::LosesSupervisor => None,
        // A process takes its time to die: the cell may have been handed to it before it had.
        Act::IsKilledBetweenCells => kind.filter(|kind| *kind == FailureKind::WorkerExit),
        Act::Fails => Some(FailureKind::Exception),
        Act::Loops | Act::Swallows | Act::Wedges => Some(FailureKind::Timeout),
        Act::Starves => Some(FailureKind::Memory),
        Act::Dies | Act::ScribblesOnDescriptors | Act::IsKilledInACell => {
            Some(FailureKind::WorkerExit)
        }
    };
    assert_eq!(kind, expected, "{act:?}: {outcome:?}");
    if act == Act::Floods {
        assert_eq!(outcome.stdout, format!("{}\n", "x".repeat(1000)).repeat(50));
    }
}

/// The number of the cell that a notice names after these words.
#[track_caller]
fn named(notice: &str, words: &str) -> usize {
    let (_, rest) = notice
        .split_once(words)
        .unwrap_or_else(|| panic!("no cell is named: {notice}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

fn first_cell(is_python: bool) -> &'static str {
    if is_python {
        "import ctypes, os, subprocess, sys, threading, time\nlog = []"
    } else {
        "var log = []"
    }
}

/// Kills a process of this host's, if it still is there.
fn kill(process: i32) {
    if processes::descendants().iter().any(|one| one.id == process) {
        // SAFETY: it descends from this process, as was just seen.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
}
