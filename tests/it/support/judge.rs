//! Judging outcomes: every judgement that fails shows the whole outcome.

use serde_json::Value;
use warmcell::{Cut, Failure, FailureKind, Outcome, SessionState};

/// What tests say about an outcome.
pub(crate) trait Judge {
    /// The cell is ok.
    fn succeeded(&self) -> &Self;

    /// The cell is ok and has this value, whatever the order of keys.
    fn returned(&self, wanted: Value) -> &Self;

    /// The cell is ok and has no value.
    fn returned_nothing(&self) -> &Self;

    /// The cell is not ok, for this reason, and the session's bindings are all there.
    fn failed(&self, kind: FailureKind) -> &Failure;

    /// The cell is not ok, for this reason, and this became of the session.
    fn failed_leaving(&self, kind: FailureKind, state: SessionState) -> &Failure;

    /// The cell raised an exception of this class.
    fn raised(&self, name: &str) -> &Failure;

    /// The cell printed exactly this to standard output.
    fn printed(&self, stdout: &str) -> &Self;
}

impl Judge for Outcome {
    #[track_caller]
    fn succeeded(&self) -> &Self {
        assert!(self.ok, "the cell failed: {self:#?}");
        assert_eq!(self.error, None, "ok, and yet an error: {self:#?}");
        assert_eq!(self.state, SessionState::Kept, "{self:#?}");
        self
    }

    #[track_caller]
    fn returned(&self, wanted: Value) -> &Self {
        self.succeeded();
        let value = self
            .value
            .as_ref()
            .unwrap_or_else(|| panic!("no value: {self:#?}"));
        assert_eq!(value.parse::<Value>().expect("JSON"), wanted, "{self:#?}");
        self
    }

    #[track_caller]
    fn returned_nothing(&self) -> &Self {
        self.succeeded();
        assert_eq!(self.value, None, "{self:#?}");
        self
    }

    #[track_caller]
    fn failed(&self, kind: FailureKind) -> &Failure {
        self.failed_leaving(kind, SessionState::Kept)
    }

    #[track_caller]
    fn failed_leaving(&self, kind: FailureKind, state: SessionState) -> &Failure {
        assert!(!self.ok, "the cell did not fail: {self:#?}");
        let error = self
            .error
            .as_ref()
            .unwrap_or_else(|| panic!("not ok, and yet no error: {self:#?}"));
        assert_eq!((error.kind, self.state), (kind, state), "{self:#?}");
        error
    }

    #[track_caller]
    fn raised(&self, name: &str) -> &Failure {
        let error = self.failed(FailureKind::Exception);
        assert_eq!(error.name.as_deref(), Some(name), "{self:#?}");
        error
    }

    #[track_caller]
    fn printed(&self, stdout: &str) -> &Self {
        assert_eq!(self.stdout, stdout, "{self:#?}");
        self
    }
}

/// Whether two JSON texts differ, whatever the order of keys. `1` and `1.0` differ; so do `0.0` and `-0.0`.
pub(crate) fn json_differs(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    // Values compare without regard to order; what they compare alike in spite of its text is the sign of zero.
    let zeros = |text: &str| text.matches("-0.0").count();
    read(one) != read(other) || zeros(one) != zeros(other)
}

/// Checks that `text` is `whole` within `budget`, and that what was left out is counted exactly.
#[track_caller]
pub(crate) fn check_cut(whole: &str, text: &str, cut: Option<&Cut>, budget: usize) {
    let Some(cut) = cut else {
        assert!(whole.len() <= budget, "over the budget, and not cut");
        assert_eq!(text, whole);
        return;
    };
    assert!(whole.len() > budget, "within the budget, and yet cut");
    assert!(text.len() <= budget, "{} bytes of {budget}", text.len());
    assert_eq!(cut.bytes, whole.len() as u64);
    assert_eq!(cut.lines, newlines(whole));
    let marker = format!(
        "[{} bytes, {} lines left out]\n",
        cut.bytes_left_out, cut.lines_left_out
    );
    let (head, tail) = text
        .split_once(&marker)
        .unwrap_or_else(|| panic!("no line says {marker:?}"));
    let kept = whole.len() - cut.bytes_left_out as usize;
    // The marker stands on a line of its own: an open line before it is ended.
    let head = if head.len() + tail.len() == kept + 1 {
        head.strip_suffix('\n').expect("a line ended by the marker")
    } else {
        head
    };
    assert_eq!(head.len() + tail.len(), kept);
    assert!(whole.starts_with(head), "the head is not the beginning");
    assert!(whole.ends_with(tail), "the tail is not the end");
    let left_out = &whole[head.len()..whole.len() - tail.len()];
    assert_eq!(cut.lines_left_out, newlines(left_out));
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}
