//! Sessions by name: found again, closed when idle, never in use, and missed where their name comes back.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use warmcell::{CodeRuntime, Language, Lease, Outcome, Registry, RegistryError, Session};

use crate::support::{Judge, settle, settle_within, turn};

fn registry() -> Registry {
    Registry::new(Session::builder)
}

#[track_caller]
fn lease(registry: &Registry, name: &str) -> Lease {
    settle(registry.lease(name, Language::Python, None)).unwrap()
}

#[track_caller]
fn cell(registry: &Registry, name: &str, code: &str) -> Outcome {
    settle(lease(registry, name).session().execute(code))
}

/// Closes what a test opened before its turn ends.
struct Closed(Registry);

impl Drop for Closed {
    fn drop(&mut self) {
        settle_within(Duration::from_secs(60), self.0.close_all());
    }
}

#[test]
fn a_name_finds_its_variables_again_and_nobody_else_s() {
    let _turn = turn();
    let Closed(registry) = &Closed(registry());
    cell(registry, "one", "x = 1").succeeded();
    cell(registry, "two", "x = 2").succeeded();
    cell(registry, "one", "x").returned(json!(1));
    let listed: Vec<(String, bool)> = registry
        .sessions()
        .into_iter()
        .map(|session| (session.name, session.is_in_use))
        .collect();
    assert_eq!(
        listed,
        [("one".to_owned(), false), ("two".to_owned(), false)]
    );
    assert!(settle(registry.reset("one", Language::Python)).unwrap());
    assert!(!settle(registry.reset("three", Language::Python)).unwrap());
    cell(registry, "one", "'x' in globals()").returned(json!(false));
    assert!(settle(registry.close("two", Language::Python)));
    assert!(!settle(registry.close("two", Language::Python)));
}

#[test]
fn the_one_that_was_idle_for_longest_makes_room_and_is_missed() {
    let _turn = turn();
    let Closed(registry) = &Closed(registry().most(2));
    for name in ["one", "two"] {
        cell(registry, name, "x = 1").succeeded();
    }
    cell(registry, "one", "x").returned(json!(1));
    assert!(lease(registry, "three").notices().is_empty());
    cell(registry, "one", "x").returned(json!(1));
    let back = lease(registry, "two");
    assert_eq!(
        back.notices(),
        [
            "this session was closed to make room for another, since no more than 2 live: its variables are gone"
        ]
    );
    settle(back.session().execute("'x' in globals()")).returned(json!(false));
    drop(back);
    // It is told once.
    assert!(lease(registry, "two").notices().is_empty());
}

#[test]
fn one_that_is_in_use_is_never_closed() {
    let _turn = turn();
    let Closed(registry) = &Closed(registry().most(2).idle(Duration::ZERO));
    let one = lease(registry, "one");
    let two = lease(registry, "two");
    registry.sweep();
    let refused = settle(registry.lease("three", Language::Python, None)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "all 2 sessions are in use (`one` (python), `two` (python)), and none can be closed to make room\nhint: wait for one of them, or use one of them"
    );
    assert!(matches!(refused, RegistryError::Full { most: 2, .. }));
    settle(one.session().execute("1")).returned(json!(1));
    drop(two);
    assert!(lease(registry, "three").notices().is_empty());
}

#[test]
fn one_that_was_idle_too_long_is_closed_and_missed() {
    let _turn = turn();
    let Closed(registry) = &Closed(registry().idle(Duration::ZERO));
    cell(registry, "one", "x = 1").succeeded();
    registry.sweep();
    assert!(registry.sessions().is_empty());
    let back = lease(registry, "one");
    assert_eq!(
        back.notices(),
        ["this session was closed after 0 seconds idle: its variables are gone"]
    );
}

#[test]
fn another_folder_keeps_the_variables() {
    let _turn = turn();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let Closed(registry) = &Closed(registry());
    let here = |folder: &Path| {
        let lease = settle(registry.lease("one", Language::Python, Some(folder))).unwrap();
        settle(lease.session().execute("import os\nos.getcwd()"))
    };
    let real = |index: usize| json!(folders[index].path().canonicalize().unwrap());
    here(folders[0].path()).returned(real(0));
    cell(registry, "one", "x = 5").succeeded();
    here(folders[1].path()).returned(real(1));
    cell(registry, "one", "[x, os.getcwd()]").returned(json!([5, real(1)]));
    let missing = folders[0].path().join("missing");
    let refused = settle(registry.lease("one", Language::Python, Some(&missing))).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("cannot change to the folder that was asked for: [Errno 2]"),
        "{refused}"
    );
    // A reset goes back to where it began.
    settle(registry.reset("one", Language::Python)).unwrap();
    here(folders[1].path()).returned(real(1));
}

#[cfg(feature = "javascript")]
#[test]
fn a_javascript_session_says_that_it_stays_where_it_is() {
    let Closed(registry) = &Closed(registry());
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let at =
        |folder: &Path| settle(registry.lease("one", Language::JavaScript, Some(folder))).unwrap();
    assert!(at(folders[0].path()).notices().is_empty());
    let moved = at(folders[1].path());
    assert_eq!(moved.notices().len(), 1);
    assert!(
        moved.notices()[0].starts_with("`cwd` was not changed"),
        "{:?}",
        moved.notices()
    );
}

#[test]
fn a_name_that_cannot_be_one_is_refused() {
    let registry = registry();
    for name in ["", "a\nb", &"x".repeat(129)] {
        let refused = settle(registry.lease(name, Language::Python, None)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a session's name has 1 to 128 bytes and no control characters"
        );
    }
}

/// What cannot be opened takes no place.
#[test]
fn a_session_that_cannot_be_opened_is_not_there() {
    let registry = Registry::new(|language| {
        Session::builder(language).limits(warmcell::Limits::default().with_memory_mb(1))
    })
    .most(1);
    for _ in 0..2 {
        let refused = settle(registry.lease("one", Language::Python, None)).unwrap_err();
        assert!(
            refused.to_string().starts_with("`memoryMb` is 1"),
            "{refused}"
        );
        assert!(registry.sessions().is_empty());
    }
}
