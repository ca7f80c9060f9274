//! What a cell shows, where a table of cases does not say it: stops while an object is asked for its forms, and what is
//! cleared many times. All else is in `tests/cases`: `display.toml` of both languages, and `plots.toml`.

use warmcell::{Backup, FailureKind, Language, Placement, Session, SessionBuilder};

use crate::support::{Cells, Judge, each, eventually, ms, settle, timed, turn};

fn builders() -> Vec<SessionBuilder> {
    let placements = match cfg!(feature = "cli") {
        true => vec![Placement::InProcess, Placement::Worker],
        false => vec![Placement::InProcess],
    };
    let placed = placements.into_iter().map(|placement| {
        let builder = Session::builder(Language::Python).placement(placement);
        #[cfg(feature = "cli")]
        let builder = builder.worker_executable(env!("CARGO_BIN_EXE_warmcell"));
        builder
    });
    placed.collect()
}

/// An object is asked for as long as five seconds; a cancellation does not wait for that.
#[test]
fn a_cell_is_cancelled_while_an_object_is_asked_for_its_forms() {
    each(builders(), |builder| {
        let turn = turn();
        let session = turn.open(builder);
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        session
            .cell(&format!(
                "import pathlib, time\nkeep = 41\n\
                 class Hangs:\n    def __repr__(self): return 'Hangs()'\n    def _repr_html_(self):\n        pathlib.Path({asked:?}).touch()\n        time.sleep(60)"
            ))
            .succeeded();
        let execution = session.start("display(Hangs())\ntime.sleep(60)");
        let canceller = execution.canceller();
        eventually("the form is asked for", || asked.exists());
        canceller.cancel();
        let (took, outcome) = timed(|| settle(execution));
        outcome.failed(FailureKind::Cancelled);
        assert!(took < ms(1500), "{took:?}");
        assert_eq!(outcome.display.len(), 1, "{outcome:#?}");
        assert_eq!(outcome.display[0].data["text/plain"], "Hangs()");
        session.cell("keep + 1").returned(serde_json::json!(42));
    });
}

/// Displays, text and the clearing of both go different ways to the host of a worker.
#[test]
fn what_is_printed_after_the_clearing_stays_however_often() {
    each(builders(), |builder| {
        let turn = turn();
        let session = turn.open(builder.backup(Backup::Off));
        for _ in 0..2_000 {
            let outcome = session.cell(
                "print('gone'); display('gone')\nclear_output()\nprint('kept'); display('kept')",
            );
            assert_eq!(outcome.stdout, "kept\n", "{outcome:?}");
            assert_eq!(outcome.display.len(), 1, "{outcome:?}");
            assert_eq!(outcome.display[0].data["text/plain"], "'kept'");
        }
    });
}

/// What was cleared counts for nothing: an animation may be of any length, and its end is seen.
#[test]
fn an_animation_is_not_over_the_limit_of_what_a_cell_shows() {
    each(builders(), |builder| {
        let turn = turn();
        let session = turn.open(builder);
        let frame =
            "{'text/plain': f'frame {frame}', 'image/svg+xml': '<svg>' + 'x' * 1000000 + '</svg>'}";
        for step in [
            format!("clear_output(); display({frame}, raw=True)"),
            format!("clear_output(wait=True); display({frame}, raw=True)"),
            format!("display({frame}, raw=True, display_id='place', update=frame > 0)"),
        ] {
            let outcome = session.cell(&format!("for frame in range(100): {step}"));
            assert_eq!(outcome.display.len(), 1, "{outcome:?}");
            assert_eq!(outcome.display[0].data["text/plain"], "frame 99");
            assert_eq!(outcome.truncated.displays_left_out, 0);
            assert_eq!(outcome.notice, None);
        }
    });
}

/// Whatever the code that is asked for a form makes of an interrupt, it is the cell's: nothing of it runs on.
#[test]
fn a_stop_of_the_cell_is_never_taken_for_a_form_that_took_too_long() {
    each(builders(), |builder| {
        let turn = turn();
        let session = turn.open(builder);
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        session
            .cell(&format!(
                "import asyncio, pathlib, time\nasked = pathlib.Path({asked:?})\nafter = []\n{CLASSES}"
            ))
            .succeeded();
        each(
            [
                "display(Sleeps())\nafter.append(1); print('after')",
                "Sleeps()",
                "for i in range(5): display(Sleeps())\nafter.append(1)",
                "display(Loops())\nafter.append(1); print('after')",
                "Loops()",
                "display(Resists())\nafter.append(1); print('after')",
                "Resists()",
                "for i in range(5): display(Resists())\nafter.append(1)",
                "display(Swallows())\nafter.append(1); print('after')",
                "Swallows()",
                "display(SwallowsInRepr())\nafter.append(1)",
                "SwallowsInRepr()",
                "display(ShowsItself())\nafter.append(1)",
                "AnyAttribute()",
                "await asyncio.sleep(0)\ndisplay(Sleeps())\nafter.append(1)",
                "async def other():\n    display(Sleeps())\n    await asyncio.sleep(60)\nawait asyncio.gather(other())\nafter.append(1)",
            ],
            |code| {
                let execution = session.start(code);
                let canceller = execution.canceller();
                eventually("a form is asked for", || asked.exists());
                canceller.cancel();
                let (took, outcome) = timed(|| settle(execution));
                let error = outcome.failed(FailureKind::Cancelled);
                assert_ne!(error.traceback.as_deref(), Some(""), "{code}");
                assert!(took < ms(1500), "{code}: {took:?}");
                outcome.printed("");
                std::fs::remove_file(&asked).unwrap();
            },
        );
        let outcome = session.cell_within(ms(300), "while True: display(Sleeps())");
        outcome.failed(FailureKind::Timeout);
        session.cell("after").returned(serde_json::json!([]));
    });
}

/// Each says that it was asked, and takes longer than the test.
const CLASSES: &str = "
def wait():
    asked.touch()
    time.sleep(60)
class Sleeps:
    def _repr_html_(self): wait()
class Loops:
    def _repr_html_(self):
        asked.touch()
        while True: pass
class Resists:
    def _repr_html_(self):
        while True:
            try: wait()
            except BaseException: pass
class Swallows:
    def _repr_html_(self):
        try: wait()
        except BaseException: return 'swallowed'
class SwallowsInRepr:
    def __repr__(self):
        try: wait()
        except BaseException: raise ValueError('swallowed')
class ShowsItself:
    def _ipython_display_(self): display(Sleeps())
class AnyAttribute:
    def __getattribute__(self, name): wait()
";
