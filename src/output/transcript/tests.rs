use std::sync::atomic::AtomicU64;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::outcome::Outcome;
use crate::runtime::Language;
use crate::tool;

fn entry(value: serde_json::Value) -> Display {
    serde_json::from_value(value).expect("a display")
}

fn named(id: &str, text: &str, updates: bool) -> Display {
    entry(json!({ "data": { "text/plain": text }, "displayId": id, "updates": updates }))
}

fn texts(taken: &Taken) -> Vec<&str> {
    taken
        .display
        .iter()
        .filter_map(|entry| entry.data["text/plain"].as_str())
        .collect()
}

/// Fifty figures: so many as may are there, and the others are counted.
#[test]
fn fifty_displays_are_thirty_two_and_a_number() {
    let transcript = Transcript::new(&Limits::default());
    for number in 0..50 {
        transcript.display(Display::text(number.to_string()));
    }
    let taken = transcript.take(None);
    assert_eq!(
        texts(&taken),
        (0..32).map(|n| n.to_string()).collect::<Vec<_>>()
    );
    assert_eq!(taken.truncated.displays_left_out, 18);
    let taken = transcript.take(None);
    assert!(taken.display.is_empty() && taken.truncated.is_empty());
}

#[test]
fn an_update_takes_the_place_of_what_it_updates() {
    let transcript = Transcript::new(&Limits::default());
    transcript.display(named("bar", "0 %", false));
    transcript.display(Display::text("between"));
    transcript.display(named("bar", "50 %", true));
    transcript.display(named("bar", "100 %", true));
    let taken = transcript.take(None);
    assert_eq!(texts(&taken), ["100 %", "between"]);
    transcript.display(named("bar", "again", true));
    let taken = transcript.take(None);
    assert_eq!(
        (texts(&taken), taken.display[0].updates),
        (vec!["again"], true)
    );
}

/// A clear takes back what was spilled, too.
#[test]
fn a_clear_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = Artifacts::open(folder.path(), 1 << 20, Arc::default()).expect("artifacts");
    let limits = Limits::default().with_output_bytes(1000);
    let transcript = Transcript::with_artifacts(&limits, Some(artifacts));
    transcript.write(Stream::Stdout, Origin::Cell, &[b'x'; 5000]);
    transcript.display(Display::text("gone"));
    transcript.clear(true);
    transcript.write(Stream::Stdout, Origin::Cell, b"after\n");
    let taken = transcript.take(None);
    assert_eq!((taken.stdout.as_str(), taken.display.len()), ("after\n", 0));
    assert!(taken.truncated.is_empty());
    let session = std::fs::read_dir(folder.path()).expect("a folder").next();
    let session = session.expect("a session").expect("a session").path();
    assert_eq!(std::fs::read_dir(session).expect("a folder").count(), 0);
}

/// What a cell may do, and what is true of it afterwards.
#[derive(Clone, Debug)]
enum Act {
    Print(Stream, Origin, String),
    Show(serde_json::Value),
    Update(String),
    Clear(bool),
}

fn act() -> impl Strategy<Value = Act> {
    let text = "([a-z]{0,300}\n?|\r[a-z]{0,40}|é{0,200}\n){0,4}";
    let stream = prop_oneof![Just(Stream::Stdout), Just(Stream::Stderr)];
    let origin = prop_oneof![4 => Just(Origin::Cell), 1 => Just(Origin::Background)];
    let form = prop_oneof![
        (0usize..4000).prop_map(|size| json!({ "text/plain": "p\n".repeat(size / 2) })),
        (0usize..4000)
            .prop_map(|size| json!({ "text/html": "h".repeat(size), "text/plain": "small" })),
        (0usize..4000).prop_map(|size| json!({ "image/png": "iVBO".repeat(size / 4) })),
    ];
    prop_oneof![
        12 => (stream, origin, text).prop_map(|(stream, origin, text)| Act::Print(stream, origin, text)),
        6 => form.prop_map(|data| Act::Show(json!({ "data": data }))),
        2 => "[a-z]{0,2000}".prop_map(Act::Update),
        1 => any::<bool>().prop_map(Act::Clear),
    ]
}

proptest! {
    /// Whatever a cell prints and shows, its outcome and what a model reads of it are within their budgets, what is left out
    /// is counted exactly, and what lies in files is what was printed.
    #[test]
    fn every_budget_holds_and_every_count_is_exact(
        acts in prop::collection::vec(act(), 0..24),
        (output, display, entries) in (512usize..2000, 1024usize..8000, 0usize..5),
        value in prop_oneof![Just(0usize), 0usize..30_000],
        (room, keeps) in (2048usize..20_000, any::<bool>()),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let cells = Arc::new(AtomicU64::new(3));
        let artifacts = Artifacts::open(folder.path(), 1 << 30, cells).expect("artifacts");
        let mut limits = Limits::default().with_output_bytes(output).with_display_bytes(display);
        limits.display_entries = entries;
        limits.image_bytes = 1024;
        let transcript = Transcript::with_artifacts(&limits, keeps.then_some(artifacts));
        // What should come of it: four streams, and how many entries.
        let mut whole = [const { String::new() }; 4];
        let (mut shown, mut left_out, mut clears, mut is_named) = (0, 0, false, false);
        for act in &acts {
            let prints = matches!(act, Act::Print(_, Origin::Cell, _));
            let shows = matches!(act, Act::Show(_) | Act::Update(_));
            if clears && (prints || shows) || matches!(act, Act::Clear(false)) {
                whole[0].clear();
                whole[1].clear();
                (shown, left_out, clears, is_named) = (0, 0, false, false);
            }
            match act {
                Act::Print(stream, origin, text) => {
                    let first = 2 * usize::from(*origin == Origin::Background);
                    whole[first + usize::from(*stream == Stream::Stderr)].push_str(text);
                    transcript.write(*stream, *origin, text.as_bytes());
                }
                Act::Show(data) => {
                    if shown < entries { shown += 1 } else { left_out += 1 }
                    transcript.display(entry(data.clone()));
                }
                Act::Update(text) => {
                    if !is_named {
                        is_named = shown < entries;
                        if shown < entries { shown += 1 } else { left_out += 1 }
                    }
                    transcript.display(named("one", text, true));
                }
                Act::Clear(wait) => {
                    clears |= wait;
                    transcript.clear(*wait);
                }
            }
        }
        let value = (value > 0).then(|| format!("\"{}\"", "v".repeat(value)));
        let json_value = value.as_ref().map(|text| Json::new(text.as_str()).expect("JSON"));
        let taken = transcript.take(json_value.as_ref());
        prop_assert_eq!(&taken.notice, &None);
        prop_assert_eq!((taken.display.len(), taken.truncated.displays_left_out), (shown, left_out));

        let truncated = &taken.truncated;
        for (whole, text, cut, kept) in [
            (&whole[0], &taken.stdout, &truncated.stdout, &taken.files.stdout),
            (&whole[1], &taken.stderr, &truncated.stderr, &taken.files.stderr),
            (&whole[2], &taken.background.stdout, &truncated.background_stdout, &None),
            (&whole[3], &taken.background.stderr, &truncated.background_stderr, &None),
        ] {
            let whole = as_a_terminal_shows(whole);
            prop_assert!(text.len() <= output);
            prop_assert_eq!(kept, &None);
            match cut {
                None => prop_assert_eq!(text, &whole),
                Some(cut) => {
                    let mark = format!("[{} bytes, {} lines left out]\n", cut.bytes_left_out, cut.lines_left_out);
                    prop_assert!(text.contains(&mark));
                    prop_assert_eq!(cut.bytes, whole.len() as u64);
                    prop_assert_eq!(cut.lines, whole.matches('\n').count() as u64);
                    prop_assert_eq!(cut.file.is_some(), keeps);
                    if let Some(file) = &cut.file {
                        prop_assert_eq!(std::fs::read_to_string(file).expect("a file"), whole);
                    }
                }
            }
        }
        let bytes: usize = taken.display.iter().map(|entry| {
            entry.data.values().map(|content| content.as_str().map_or(0, str::len)).sum::<usize>()
        }).sum();
        prop_assert!(bytes <= display);
        let kept = value.as_ref().is_some_and(|value| keeps && value.len() >= LARGE_BYTES);
        prop_assert_eq!(taken.files.value.is_some(), kept);

        let outcome: Outcome = serde_json::from_value(json!({
            "ok": true, "state": "kept", "executionCount": 3, "durationMs": 1.0, "value": null,
        })).expect("an outcome");
        let outcome = Outcome {
            value: json_value,
            stdout: taken.stdout,
            stderr: taken.stderr,
            background: taken.background,
            truncated: taken.truncated,
            display: taken.display,
            files: taken.files,
            ..outcome
        };
        let rendering = tool::Rendering::new(Language::Python).bytes(room);
        let text = tool::render(&[outcome], &rendering);
        prop_assert!(text.len() <= room);
        if left_out > 0 && text.contains("displays are left out") {
            let said = format!("{left_out} more displays are left out\n");
            prop_assert!(text.contains(&said));
        }
    }
}

/// The text of a stream in which carriage returns have done their work.
fn as_a_terminal_shows(text: &str) -> String {
    let line = |line: &str| {
        let body = line.trim_end_matches('\n').trim_end_matches('\r');
        let end = &line[body.len()..];
        format!("{}{end}", body.rsplit('\r').next().unwrap_or_default())
    };
    text.split_inclusive('\n').map(line).collect()
}
