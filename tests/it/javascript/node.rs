//! The same snippets as Node ran: what they print, return and throw is the same on both engines.
//!
//! `tests/node` holds the snippets, the script that ran them on Node, and what came of it. Where an engine differs on
//! purpose or cannot do better, `tests/node/gaps.toml` says why and what it does instead; a gap that has closed fails the
//! test, so that the list stays true.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use warmcell::Outcome;

use super::on_each_engine;
use crate::support::{Cells, each, json_differs};

const RESULTS: &str = include_str!("../../node/results.json");
const GAPS: &str = include_str!("../../node/gaps.toml");

/// Where an engine does not do what Node does.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gap {
    file: String,
    snippet: String,
    engines: Vec<String>,
    /// Why it stays.
    #[expect(dead_code, reason = "for those who read the list")]
    reason: String,
    /// What the engine does instead.
    #[serde(default)]
    instead: Instead,
}

/// A result as the list of gaps writes it: the value as JSON text.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Instead {
    stdout: String,
    stderr: String,
    value: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Gaps {
    gap: Vec<Gap>,
}

/// What came of a snippet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Recorded {
    stdout: String,
    stderr: String,
    value: Option<Value>,
    error: Option<String>,
}

#[test]
fn console_prints_everyday_values_as_node_does() {
    compare("console.js", include_str!("../../node/console.js"));
}

#[test]
fn split_and_replace_do_what_the_standard_says() {
    compare("strings.js", include_str!("../../node/strings.js"));
}

#[test]
fn everyday_snippets_compute_what_they_do_on_node() {
    compare("snippets.js", include_str!("../../node/snippets.js"));
}

#[test]
fn every_gap_is_of_a_snippet() {
    let results = results();
    for gap in gaps() {
        assert!(
            results[&gap.file].contains_key(&gap.snippet),
            "`{}` has no snippet `{}`",
            gap.file,
            gap.snippet
        );
    }
}

/// Runs each snippet of a file in a session of its own.
fn compare(file: &str, text: &str) {
    let results = &results()[file];
    let gaps = gaps();
    let only = std::env::var("WARMCELL_TEST_CASES").unwrap_or_default();
    let snippets = snippets(text);
    assert_eq!(snippets.len(), results.len(), "record.mjs has to run again");
    on_each_engine(|engine| {
        let wanted = snippets.iter().filter(|(name, _)| name.contains(&only));
        each(wanted, |(name, code)| {
            let outcome = engine.javascript().cell(code);
            let found = Recorded::of(&outcome);
            let is_of_engine = |gap: &&Gap| gap.engines.iter().any(|one| one == engine.name);
            let gap = gaps
                .iter()
                .filter(|gap| gap.file == file && gap.snippet == *name)
                .find(is_of_engine);
            let node = &results[*name];
            match gap {
                None => assert!(
                    found.is_as(node),
                    "{}",
                    difference(engine.name, name, &found, node, &outcome)
                ),
                Some(gap) => {
                    let instead = gap.instead.recorded();
                    assert!(
                        !found.is_as(node),
                        "`{name}` is no gap of {} any more",
                        engine.name
                    );
                    assert!(
                        found.is_as(&instead),
                        "{}",
                        difference(engine.name, name, &found, &instead, &outcome)
                    );
                }
            }
        });
    });
}

fn difference(
    engine: &str,
    name: &str,
    found: &Recorded,
    wanted: &Recorded,
    outcome: &Outcome,
) -> String {
    let error = outcome.error.as_ref().map(|error| &error.message);
    format!(
        "`{name}` on {engine}\nwanted: value {:?}, error {:?}\n{}{}found: value {:?}, error {:?} {error:?}\n{}{}",
        wanted.value.as_ref().map(Value::to_string),
        wanted.error,
        wanted.stdout,
        wanted.stderr,
        found.value.as_ref().map(Value::to_string),
        found.error,
        found.stdout,
        found.stderr
    )
}

impl Recorded {
    fn of(outcome: &Outcome) -> Self {
        let value = outcome.value.as_ref();
        Self {
            stdout: without_frames(&outcome.stdout),
            stderr: without_frames(&outcome.stderr),
            value: value.map(|value| value.parse().expect("JSON")),
            error: outcome.error.as_ref().map(|error| {
                let name = error.name.clone();
                name.unwrap_or_else(|| error.kind.as_str().to_owned())
            }),
        }
    }

    fn is_as(&self, other: &Self) -> bool {
        let value = match (&self.value, &other.value) {
            (Some(one), Some(other)) => !json_differs(&one.to_string(), &other.to_string()),
            (one, other) => one == other,
        };
        value
            && self.stdout == other.stdout
            && self.stderr == other.stderr
            && self.error == other.error
    }
}

impl Instead {
    fn recorded(&self) -> Recorded {
        Recorded {
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
            value: self
                .value
                .as_ref()
                .map(|text| serde_json::from_str(text).expect("JSON")),
            error: self.error.clone(),
        }
    }
}

/// The text without the frames of stacks, as record.mjs leaves them out.
fn without_frames(text: &str) -> String {
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if !line.trim_start_matches(' ').starts_with("at ") {
            kept.push_str(line);
        } else if line.ends_with(" {\n") && kept.ends_with('\n') {
            kept.truncate(kept.len() - 1);
            kept.push_str(" {\n");
        }
    }
    kept
}

/// The snippets of a file: each begins with a line `//: its name`.
fn snippets(text: &str) -> Vec<(&str, &str)> {
    let starts = text.split("\n//: ").skip(1);
    starts
        .map(|snippet| snippet.split_once('\n').expect("a name and code"))
        .collect()
}

fn results() -> BTreeMap<String, BTreeMap<String, Recorded>> {
    let mut results: BTreeMap<String, Value> = serde_json::from_str(RESULTS).expect("JSON");
    results.remove("node").expect("the version of Node");
    results
        .into_iter()
        .map(|(file, results)| (file, serde_json::from_value(results).expect("results")))
        .collect()
}

fn gaps() -> Vec<Gap> {
    let gaps: Gaps = toml::from_str(GAPS).expect("the list is in order");
    gaps.gap
}
