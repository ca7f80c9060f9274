//! What a cell shows, where a table of cases does not say it: stops while an object is asked for its forms. All else is in
//! `tests/cases`: `display.toml` of both languages, and `plots.toml`.

use warmcell::{FailureKind, Language, Placement, Session, SessionBuilder};

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
