//! The table of hostile cells, `tests/hostile/javascript.toml`: each ends on each engine as it says, no process ends with
//! one, and the next cell works.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use warmcell::{FailureKind, Limits, SessionState};

use super::{ENGINES, Engine, on_each_engine};
use crate::support::{Alone, Cells, Judge, Opened, each, ms, settle_within, test_name, timed};

const TABLE: &str = include_str!("../../hostile/javascript.toml");

/// How many cells may hang on an engine for good: what was measured before the engines were guarded.
const MAY_BE_LOST: [(&str, usize); 2] = [("boa", 17), ("quickjs", 2)];

/// How many cells share a process.
const CHUNK: usize = 13;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    cell: Vec<Hostile>,
}

/// A cell, and what becomes of it on each engine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hostile {
    name: String,
    #[serde(default)]
    code: String,
    source: Option<Source>,
    #[serde(default)]
    boa: Ending,
    #[serde(default)]
    quickjs: Ending,
}

/// A long source by what it is built of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Source {
    head: String,
    repeat: String,
    times: usize,
    middle: String,
    close: String,
    tail: String,
}

/// How a cell ends.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Ending {
    /// How it fails; absent when it succeeds.
    kind: Option<FailureKind>,
    state: SessionState,
}

impl Default for Ending {
    fn default() -> Self {
        Self {
            kind: None,
            state: SessionState::Kept,
        }
    }
}

#[test]
fn no_more_cells_hang_than_the_engines_were_measured_to() {
    let table = table();
    assert_eq!(table.len(), 103);
    for (engine, most) in MAY_BE_LOST {
        let lost = table
            .iter()
            .filter(|hostile| hostile.is_lost_on(engine))
            .count();
        assert!(lost <= most, "{lost} of {most} are lost on {engine}");
    }
}

/// In processes by the chunk, so that one which ends its process is seen; a cell that leaves a thread that burns has one
/// of its own.
#[test]
fn every_hostile_cell_ends_as_the_table_says() {
    let test = test_name!();
    if let Some(argument) = Alone::argument().filter(|_| Alone::is_meant(test)) {
        strike_all(&argument);
        return;
    }
    let only = std::env::var("WARMCELL_TEST_CASES").unwrap_or_default();
    let mut chunks = Vec::new();
    for (engine, _) in ENGINES {
        let mut together = Vec::new();
        for (index, hostile) in table().iter().enumerate() {
            if !hostile.name.contains(&only) {
                continue;
            }
            if hostile.is_lost_on(engine) {
                chunks.push(format!("{engine} {index}"));
            } else {
                together.push(index.to_string());
            }
        }
        chunks.extend(
            together
                .chunks(CHUNK)
                .map(|chunk| format!("{engine} {}", chunk.join(" "))),
        );
    }
    each(chunks, |chunk| {
        let alone = Alone::new(test).with_argument(chunk);
        let _ = alone.run(|| unreachable!("the child strikes"));
    });
}

/// Strikes with the cells that the argument names: an engine, and numbers of rows.
fn strike_all(argument: &str) {
    let mut words = argument.split(' ');
    let wanted = words.next().expect("an engine's name");
    let rows: Vec<usize> = words
        .map(|word| word.parse().expect("a row's number"))
        .collect();
    let table = table();
    on_each_engine(|engine| {
        if engine.name != wanted {
            return;
        }
        let mut session = open(engine);
        each(&rows, |row| {
            if table[*row].strikes(engine.name, &session) == SessionState::Lost {
                session = open(engine);
            }
        });
    });
}

fn open<'turn>(engine: &Engine<'turn>) -> Opened<'turn> {
    let limits = Limits::default().with_memory_mb(256);
    engine.open(|builder| builder.limits(limits))
}

fn table() -> Vec<Hostile> {
    let table: Table = toml::from_str(TABLE).expect("the table is in order");
    table.cell
}

impl Hostile {
    fn on(&self, engine: &str) -> Ending {
        if engine == "boa" {
            self.boa
        } else {
            self.quickjs
        }
    }

    fn is_lost_on(&self, engine: &str) -> bool {
        self.on(engine).state == SessionState::Lost
    }

    fn source(&self) -> String {
        match &self.source {
            Some(source) => source.build(),
            None => self.code.clone(),
        }
    }

    /// Runs the cell and judges its end; says what should have become of the session.
    fn strikes(&self, engine: &str, session: &Opened<'_>) -> SessionState {
        let wanted = self.on(engine);
        session
            .cell("let keep = { a: 40 }; function increment() { return ++keep.a }")
            .succeeded();
        session.cell("increment()").returned(json!(41));
        let (took, outcome) = timed(|| session.cell_within(wanted.deadline(), &self.source()));
        let kind = outcome.error.as_ref().map(|error| error.kind);
        println!(
            "HOSTILE {engine}\t{}\t{kind:?}\t{:?}\t{}\t{:?}",
            self.name,
            outcome.state,
            took.as_millis(),
            outcome
                .error
                .as_ref()
                .map(|error| (&error.name, &error.message))
        );
        assert_eq!(
            (kind, outcome.state),
            (wanted.kind, wanted.state),
            "{} on {engine}: {outcome:#?}",
            self.name
        );
        assert!(
            took <= wanted.deadline() + ms(2000),
            "{} on {engine} took {took:?}",
            self.name
        );
        // A cell that is given up leaves the session another thread, and none of its bindings.
        let next = match wanted.state {
            SessionState::Lost => ("typeof keep", json!("undefined")),
            _ => ("increment()", json!(42)),
        };
        let answer = settle_within(Duration::from_secs(5), session.start(next.0));
        answer
            .unwrap_or_else(|| panic!("{} on {engine}: the next cell has no answer", self.name))
            .returned(next.1);
        session.reset_now();
        wanted.state
    }
}

impl Ending {
    /// A cell that is to end by itself has time for it on a slow machine, too.
    fn deadline(self) -> Duration {
        match self.kind {
            Some(FailureKind::Timeout) => ms(500),
            _ => ms(20_000),
        }
    }
}

impl Source {
    fn build(&self) -> String {
        [
            self.head.as_str(),
            &self.repeat.repeat(self.times),
            &self.middle,
            &self.close.repeat(self.times),
            &self.tail,
        ]
        .concat()
    }
}
