//! The example program, run as its reader would run it.

use std::process::{Command, Stdio};

use serde_json::json;
use warmcell::Outcome;

use crate::support::Judge;

/// The agent's four questions are answered over one session.
#[test]
fn the_agent_has_its_conversation() {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", "agent"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("cargo starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}:\n{stderr}", output.status);
    let stdout = String::from_utf8(output.stdout).expect("text");
    let outcomes: Vec<Outcome> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("outcome: "))
        .map(|line| serde_json::from_str(line).expect("an outcome"))
        .collect();
    let [load, average, top, row] = outcomes.as_slice() else {
        panic!("four outcomes: {stdout}");
    };
    load.printed("loaded 8 rows with the columns name, team, score\n")
        .returned_nothing();
    average.returned(json!({"average": 79.375}));
    top.returned(json!(["Erin", "Alice", "Grace"]));
    row.returned(json!({"name": "Carol", "team": "red", "score": 84}));
    let counts: Vec<u64> = outcomes
        .iter()
        .map(|outcome| outcome.execution_count)
        .collect();
    assert_eq!(counts, [1, 2, 3, 4]);
    assert!(!stdout.contains("the model should know"), "{stdout}");
}
