//! Programs that link the library: a host in a package of its own, and the example.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use warmcell::Outcome;

use crate::support::Judge;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A package outside of this workspace builds with nothing but a dependency and the three-line build script, loads the
/// libpython that the library was built for, and runs a cell.
#[test]
fn a_host_in_another_package_runs_a_cell() {
    let root = Path::new(ROOT);
    // The same versions and build folder as here, so that it compiles little and downloads nothing.
    std::fs::copy(root.join("Cargo.lock"), root.join("tests/host/Cargo.lock")).unwrap();
    let program = std::env::current_exe().unwrap();
    let target = program.ancestors().nth(3).expect("<target>/<profile>/deps");
    run(cargo("build")
        .args(["--manifest-path", "tests/host/Cargo.toml", "--target-dir"])
        .arg(target));
    let stdout = run(Command::new(target.join("debug/warmcell-host"))
        // Cargo sets it for a test's process, and it comes before the rpath that is to be tried here.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null()));
    let outcome: Outcome =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    outcome.returned(json!(2));
}

/// The example answers its four questions.
#[test]
fn the_example_agent_has_its_conversation() {
    let stdout = run(cargo("run").args(["--example", "agent"]));
    let outcomes: Vec<Outcome> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("outcome: "))
        .map(|line| serde_json::from_str(line).expect("an outcome"))
        .collect();
    let [load, average, top, row] = outcomes.as_slice() else {
        panic!("four outcomes: {stdout}");
    };
    load.returned_nothing();
    load.printed("loaded 8 rows with the columns name, team, score\n");
    average.returned(json!({"average": 79.375}));
    top.returned(json!(["Erin", "Alice", "Grace"]));
    row.returned(json!({"name": "Carol", "team": "red", "score": 84}));
    let counts: Vec<Value> = outcomes
        .iter()
        .map(|outcome| json!(outcome.execution_count))
        .collect();
    assert_eq!(counts, [1, 2, 3, 4]);
    assert!(!stdout.contains("the model should know"), "{stdout}");
}

/// Cargo, with the sources that are at hand.
fn cargo(what: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command
        .args([what, "--quiet", "--offline"])
        .current_dir(ROOT)
        .stdin(Stdio::null());
    command
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("cargo starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} failed ({}):\n{stderr}",
        output.status
    );
    String::from_utf8(output.stdout).expect("text")
}
