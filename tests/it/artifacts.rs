//! What is too large for an outcome: kept whole in files, named where it was cut, and never a reason for a cell to fail.

mod images;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "cli")]
mod serve;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use warmcell::tool::{self, Rendering};
use warmcell::{
    ArtifactPart, Cell, Event, Events, Language, Limits, Outcome, Placement, RuntimeError, Session,
    SessionBuilder,
};

use crate::support::{Cells, Judge, check_cut, settle, turn};

/// Less than what these tests print.
const BUDGET: usize = 10_000;

fn builder(folder: &Path) -> SessionBuilder {
    let limits = Limits::default().with_output_bytes(BUDGET);
    Session::builder(Language::Python)
        .limits(limits)
        .artifacts(folder)
}

/// In this process, and in one of its own.
const PLACEMENTS: [Placement; 2] = [Placement::InProcess, Placement::Worker];

fn in_place(builder: SessionBuilder, placement: Placement) -> SessionBuilder {
    builder
        .placement(placement)
        .worker_executable(env!("CARGO_BIN_EXE_warmcell"))
}

/// The files of the only session that has kept any.
fn files(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    match inside(folder).as_slice() {
        [] => Vec::new(),
        [session] => inside(session),
        more => panic!("several sessions: {more:?}"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files(folder).iter().map(name).collect()
}

fn rendered(outcome: Outcome) -> String {
    tool::render(&[outcome], &Rendering::new(Language::Python))
}

/// Truncation was silent, uncounted and final: openai/codex#35421.
#[test]
fn output_over_its_budget_is_spilled_whole() {
    let turn = turn();
    for placement in PLACEMENTS {
        let folder = tempfile::tempdir().unwrap();
        let session = turn.open(in_place(builder(folder.path()), placement));
        session.cell("print('x' * 9_999)").succeeded();
        assert!(files(folder.path()).is_empty(), "{placement:?}");
        let outcome = session.cell(
            "import sys\nfor i in range(40_000):\n    print('línea', i)\n    if i % 4 == 0: sys.stderr.write(f'e{i}')",
        );
        outcome.succeeded();
        assert_eq!(outcome.notice, None);
        let stdout: String = (0..40_000).map(|i| format!("línea {i}\n")).collect();
        let stderr: String = (0..40_000).step_by(4).map(|i| format!("e{i}")).collect();
        for (whole, text, cut, name) in [
            (
                &stdout,
                &outcome.stdout,
                &outcome.truncated.stdout,
                "cell-0002-stdout.txt",
            ),
            (
                &stderr,
                &outcome.stderr,
                &outcome.truncated.stderr,
                "cell-0002-stderr.txt",
            ),
        ] {
            check_cut(whole, text, cut.as_ref(), BUDGET);
            let file = cut.as_ref().unwrap().file.as_ref().expect("a file");
            assert!(file.ends_with(name), "{file}");
            assert!(fs::read_to_string(file).unwrap() == *whole, "{name}");
            assert_eq!(
                fs::metadata(file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        assert_eq!(
            names(folder.path()),
            ["cell-0002-stderr.txt", "cell-0002-stdout.txt"]
        );
        let file = outcome
            .truncated
            .stdout
            .as_ref()
            .unwrap()
            .file
            .clone()
            .unwrap();
        let part = ArtifactPart::lines().from(20_000).most(2);
        let read = session.artifact(&file, part).unwrap();
        assert_eq!(read.text.as_deref(), Some("línea 20000\nlínea 20001\n"));
        assert_eq!(
            (read.bytes, read.next_offset),
            (stdout.len() as u64, Some(20_002))
        );
        // The model reads where it is before it reads what is left.
        let text = rendered(outcome);
        assert!(
            text.lines()
                .nth(1)
                .unwrap()
                .ends_with(&format!("; the whole is in `{file}`")),
            "{text}"
        );
        assert!(
            text.ends_with("\nhint: print less, or read what you need of the file\n"),
            "{text}"
        );
    }
}

#[test]
fn late_output_is_spilled_too() {
    let turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let session = turn.open(builder(folder.path()));
    session
        .cell("import threading\ngo, done = threading.Event(), threading.Event()\ndef late():\n    go.wait()\n    for i in range(10_000): print('late', i)\n    done.set()\nthreading.Thread(target=late).start()")
        .succeeded();
    let outcome = session.cell("go.set()\ndone.wait();");
    outcome.succeeded();
    let cut = outcome.truncated.background_stdout.as_ref().expect("a cut");
    let whole: String = (0..10_000).map(|i| format!("late {i}\n")).collect();
    check_cut(&whole, &outcome.background.stdout, Some(cut), BUDGET);
    let file = cut.file.as_ref().expect("a file");
    assert!(file.ends_with("-background-stdout.txt"), "{file}");
    assert_eq!(fs::read_to_string(file).unwrap(), whole);
}

#[test]
fn large_values_and_texts_are_files_too() {
    let turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let session = turn.open(Session::builder(Language::Python).artifacts(folder.path()));
    let outcome = session.cell("print('y' * 30_000)\nreturn list(range(10_000))");
    outcome.succeeded();
    let value = outcome.value.as_ref().unwrap().as_str().to_owned();
    let file = outcome.files.value.clone().expect("a file");
    assert_eq!(fs::read_to_string(&file).unwrap(), value);
    let stdout = outcome.files.stdout.as_ref().expect("a file");
    assert_eq!(fs::read_to_string(stdout).unwrap(), outcome.stdout);
    assert!(outcome.truncated.is_empty());
    let wire = serde_json::to_value(&outcome).unwrap();
    assert_eq!(wire["files"], json!({ "value": file, "stdout": stdout }));
    let text = rendered(outcome);
    assert!(
        text.contains(&format!("; the whole is in `{file}`\n")),
        "{text}"
    );
    // What is small is no file.
    let outcome = session.cell("print('y')\nreturn 1");
    assert!(outcome.files.is_empty());
    assert_eq!(files(folder.path()).len(), 2);
}

fn streamed(events: &mut Events) -> String {
    let mut text = String::new();
    while let Some(event) = events.blocking_next() {
        if let Event::Output { text: more, .. } = event {
            text.push_str(&more);
        }
    }
    text
}

/// Progress bars write their line over and over; the outcome has what a terminal shows in the end.
#[test]
fn progress_bars_are_their_last_state() {
    let turn = turn();
    for placement in PLACEMENTS {
        let folder = tempfile::tempdir().unwrap();
        let session = turn.open(in_place(builder(folder.path()), placement));
        let code = "import sys\nprint('begin')\nfor i in range(50_001):\n    sys.stderr.write(f'\\r{i:6}/50000 |' + '#' * (i // 5000))\n    sys.stdout.write(f'{i}%\\r')\nprint('\\ndone', file=sys.stderr)";
        let (cell, mut events) = Cell::from(code).with_paced_events(64);
        let execution = session.run(cell).unwrap();
        let all = streamed(&mut events);
        let outcome = settle(execution);
        outcome.succeeded();
        assert_eq!(outcome.stderr, " 50000/50000 |##########\ndone\n");
        assert_eq!(outcome.stdout, "begin\n50000%\r");
        assert!(
            outcome.truncated.is_empty(),
            "{placement:?}: {:?}",
            outcome.truncated
        );
        assert!(files(folder.path()).is_empty());
        // Whoever watched saw it move.
        assert!(
            all.contains("\r   100/50000 |") && all.contains("99%\r"),
            "{placement:?}"
        );
        session
            .cell("print('a\\r\\nb\\r\\n', end='')")
            .printed("a\r\nb\r\n");
    }
}

#[test]
fn a_budget_that_is_used_up_is_told_and_fails_nothing() {
    let turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits::default()
        .with_output_bytes(BUDGET)
        .with_artifact_bytes(150_000);
    let session = turn.open(builder(folder.path()).limits(limits));
    let first = session.cell("for i in range(10_000): print(f'{i:09}')");
    assert!(first.truncated.stdout.unwrap().file.is_some());
    let outcome = session.cell("for i in range(10_000): print(f'{i:09}')\nreturn 'y' * 20_000");
    outcome.succeeded();
    let cut = outcome.truncated.stdout.unwrap();
    assert_eq!((cut.bytes, cut.file), (100_000, None));
    assert_eq!(
        outcome.notice.as_deref(),
        Some(
            "the stdout of cell 2 could not be kept as an artifact: the session's artifacts would have more than 150000 bytes (`artifactBytes`)"
        )
    );
    // What a file gave up, a smaller one has.
    assert!(outcome.files.value.is_some());
    assert_eq!(
        names(folder.path()),
        ["cell-0001-stdout.txt", "cell-0002-value.json"]
    );
}

#[test]
fn a_folder_that_is_gone_is_told_and_fails_nothing() {
    let turn = turn();
    for placement in PLACEMENTS {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = folder.path().join("artifacts");
        let session = turn.open(in_place(builder(&artifacts), placement));
        fs::remove_dir(&artifacts).unwrap();
        let outcome = session.cell("x = 1\nprint('y' * 20_000)\nreturn x");
        outcome.returned(json!(1));
        assert_eq!(outcome.truncated.stdout.as_ref().unwrap().file, None);
        let notice = outcome.notice.expect("a notice");
        assert!(
            notice
                .starts_with("the stdout of cell 1 could not be kept as an artifact: no such file"),
            "{notice}"
        );
        session.cell("x").returned(json!(1));
    }
}

/// The cells of this session can write where the host does.
#[test]
fn links_that_a_cell_plants_lead_nowhere() {
    let turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let artifacts = folder.path().join("artifacts");
    let session = turn.open(in_place(builder(&artifacts), Placement::Worker));
    session.cell("print('y' * 20_000)").succeeded();
    let planted = files(&artifacts)[0].parent().unwrap().to_owned();
    let code = format!(
        "import os\nfor name in ['cell-0003-stdout.txt', 'cell-0003-figure-1.png', 'cell-0003-value.json']:\n    os.symlink({secret:?}, {planted:?} + '/' + name)\nos.mkfifo({planted:?} + '/cell-0003-stdout-2.txt')"
    );
    session.cell(&code).succeeded();
    let outcome = session.cell("print('z' * 20_000)\nreturn 'v' * 20_000");
    outcome.succeeded();
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
    let file = outcome
        .truncated
        .stdout
        .as_ref()
        .unwrap()
        .file
        .clone()
        .unwrap();
    assert!(file.ends_with("/cell-0003-stdout-3.txt"), "{file}");
    assert_eq!(fs::read_to_string(&file).unwrap().len(), 20_001);
    assert!(
        outcome
            .files
            .value
            .unwrap()
            .ends_with("/cell-0003-value-2.json")
    );
    for path in [
        "cell-0003-stdout.txt",
        "../../secret",
        secret.to_str().unwrap(),
    ] {
        let refused = session.artifact(path, ArtifactPart::bytes()).unwrap_err();
        assert!(
            matches!(refused, RuntimeError::InvalidOption(_)),
            "{refused}"
        );
    }
    session
        .cell(&format!(
            "os.remove({file:?})\nos.symlink({secret:?}, {file:?})"
        ))
        .succeeded();
    let refused = session.artifact(&file, ArtifactPart::bytes()).unwrap_err();
    assert!(matches!(refused, RuntimeError::Refused(_)), "{refused}");
}

#[test]
fn a_folder_that_cannot_be_one_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let refused = settle(builder(file.path()).open()).unwrap_err();
    let start = format!(
        "`artifacts` is `{}`, which cannot be used: ",
        file.path().display()
    );
    assert!(refused.to_string().starts_with(&start), "{refused}");
    let turn = turn();
    let session = turn.python();
    let refused = session.artifact("x", ArtifactPart::lines()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the session has no artifacts\nhint: open it with `artifacts`"
    );
}
