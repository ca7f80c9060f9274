//! The table of hostile cells, `tests/hostile/python.toml`: each ends as it says, and the next cell works.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use warmcell::{FailureKind, Language, Limits, Session, SessionState};

use crate::support::{
    Alone, Cells, Judge, Opened, Turn, each, settle_within, test_name, timed, turn,
};

const TABLE: &str = include_str!("../../hostile/python.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    cell: Vec<Hostile>,
}

/// A cell, and what becomes of it in process.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hostile {
    name: String,
    code: String,
    /// Why it is not run in process.
    needs_worker: Option<String>,
    /// How it fails; absent when it succeeds.
    kind: Option<FailureKind>,
    #[serde(default = "kept")]
    state: SessionState,
    #[serde(default = "default_timeout")]
    timeout_ms: u64,
    /// How long after its start the answer may come.
    #[serde(default = "default_bound")]
    within_ms: u64,
    /// It leaves threads or processes behind, or ends what the process can do: no other cell shares its process.
    #[serde(default)]
    leaves_traces: bool,
}

fn kept() -> SessionState {
    SessionState::Kept
}

fn default_timeout() -> u64 {
    200
}

fn default_bound() -> u64 {
    700
}

/// Those that leave no trace run one after the other in one session, which has to take them all.
#[test]
fn one_session_survives_every_hostile_cell() {
    let _ = Alone::new(test_name!())
        .within(Duration::from_secs(120))
        .run(|| {
            let turn = turn();
            let session = open(&turn);
            let mut elsewhere = 0;
            each(table(), |hostile| match &hostile.needs_worker {
                Some(reason) => {
                    println!("{} is not run in process: {reason}", hostile.name);
                    elsewhere += 1;
                }
                None if hostile.leaves_traces => {}
                None => hostile.strikes(&session),
            });
            println!("{elsewhere} cells need a worker");
        });
}

/// Those that leave something behind get a process each, which has to end all the same.
#[test]
fn a_host_survives_what_hostile_cells_leave_behind() {
    let test = test_name!();
    if let Some(name) = Alone::argument().filter(|_| Alone::is_meant(test)) {
        let hostile = table().into_iter().find(|hostile| hostile.name == name);
        let hostile = hostile.expect("the parent knows the table");
        let turn = turn();
        hostile.strikes(&open(&turn));
        println!("leaving");
        return;
    }
    for hostile in table() {
        if !hostile.leaves_traces || hostile.needs_worker.is_some() {
            continue;
        }
        println!("{}", hostile.name);
        let alone = Alone::new(test).with_argument(&hostile.name);
        let ended = alone.run(|| unreachable!()).expect("the parent");
        let took = ended.after("leaving");
        assert!(
            took < Duration::from_secs(1),
            "the host took {took:?} to end after {}",
            hostile.name
        );
    }
}

fn open(turn: &Turn) -> Opened<'_> {
    let limits = Limits::default().with_memory_mb(512);
    turn.open(Session::builder(Language::Python).limits(limits))
}

fn table() -> Vec<Hostile> {
    let table: Table = toml::from_str(TABLE).expect("the table is in order");
    table.cell
}

impl Hostile {
    fn strikes(&self, session: &Opened<'_>) {
        println!("{}", self.name);
        session.cell("keep = 41").succeeded();
        let timeout = Duration::from_millis(self.timeout_ms);
        let (took, outcome) = timed(|| session.cell_within(timeout, &self.code));
        let kind = outcome.error.as_ref().map(|error| error.kind);
        assert_eq!(
            (kind, outcome.state),
            (self.kind, self.state),
            "{}: {outcome:#?}",
            self.name
        );
        assert!(
            took <= Duration::from_millis(self.within_ms),
            "{} took {took:?}",
            self.name
        );
        if self.state == SessionState::Lost {
            session
                .cell("keep + 1")
                .failed_leaving(FailureKind::Unavailable, SessionState::Lost);
            return;
        }
        let next = session.start("keep + 1");
        settle_within(Duration::from_secs(5), next)
            .unwrap_or_else(|| panic!("{}: the next cell has no answer", self.name))
            .returned(json!(42));
        session.reset_now();
    }
}
