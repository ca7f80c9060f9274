use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn budgets(image: usize, text: usize, all: usize) -> Budgets {
    Budgets { image, text, all }
}

fn entry(value: Value) -> Display {
    serde_json::from_value(value).expect("a display")
}

fn fitted(budgets: Budgets, data: Value) -> Value {
    let entries = budgets.fit(vec![entry(json!({ "data": data }))], None);
    serde_json::to_value(&entries[0]).expect("JSON")
}

#[test]
fn what_fits_stays_as_it_was_shown() {
    let shown = json!({
        "data": { "text/html": "<b>x</b>", "text/plain": "x", "image/png": "iVBO", "application/json": { "a": [1] } },
        "metadata": { "image/png": { "width": 10 }, "isolated": true },
        "displayId": "one",
    });
    let entries = budgets(1000, 1000, 1000).fit(vec![entry(shown.clone())], None);
    assert_eq!(serde_json::to_value(&entries[0]).expect("JSON"), shown);
}

#[test]
fn a_form_over_its_budget_is_left_out_and_plain_text_is_cut() {
    let text = "line\n".repeat(400);
    let data = json!({
        "text/html": "h".repeat(10_001), "text/plain": text, "application/json": ["j".repeat(10_000)], "text/latex": "l".repeat(1001),
    });
    let fitted = fitted(budgets(1000, 1000, 10_000), data);
    assert_eq!(
        fitted["metadata"],
        json!({
            "text/html": { "shown": "none", "original": { "bytes": 10_001 } },
            "application/json": { "shown": "none", "original": { "bytes": 10_004 } },
            "text/plain": {
                "shown": "cut", "original": { "bytes": 2000, "lines": 400 }, "bytesLeftOut": 1096, "linesLeftOut": 219,
            },
        })
    );
    let data = fitted["data"].as_object().expect("a bundle");
    assert_eq!(
        data.keys().collect::<Vec<_>>(),
        ["text/latex", "text/plain"]
    );
    let plain = data["text/plain"].as_str().expect("text");
    assert!(
        plain.len() <= 1000 && plain.contains("[1096 bytes, 219 lines left out]"),
        "{plain}"
    );
}

#[test]
fn an_entry_that_is_left_out_leaves_its_room_to_the_others() {
    let html = |_| entry(json!({ "data": { "text/html": "h".repeat(991) } }));
    for (entries, shown) in [(10, 10), (11, 10), (20, 10)] {
        let fitted = budgets(1000, 1000, 10_000).fit((0..entries).map(html).collect(), None);
        let there = fitted.iter().filter(|entry| !entry.data.is_empty());
        assert_eq!(there.count(), shown, "of {entries}");
    }
}

#[test]
fn a_name_that_is_too_long_is_left_out() {
    let named = |name: &str| {
        let shown = entry(json!({ "data": { "text/plain": "x" }, "displayId": name }));
        let fitted = budgets(1000, 1000, 1000).fit(vec![shown], None);
        serde_json::to_value(&fitted[0]).expect("JSON")
    };
    assert_eq!(named(&"n".repeat(256))["displayId"], "n".repeat(256));
    assert_eq!(
        named(&"n".repeat(257)),
        json!({
            "data": { "text/plain": "x" },
            "metadata": { "displayId": { "shown": "none", "original": { "bytes": 257 } } },
        })
    );
}

#[test]
fn an_image_that_cannot_be_scaled_says_why() {
    for (data, bytes, problem) in [
        ("!".repeat(2000), 2000, "it is not base64"),
        (
            STANDARD.encode([7; 1500]),
            1500,
            "it cannot be read as an image",
        ),
    ] {
        let fitted = fitted(
            budgets(1024, 5000, 5000),
            json!({ "image/png": data, "text/plain": "<Figure>" }),
        );
        let problem = match cfg!(feature = "images") || problem.contains("base64") {
            true => problem,
            false => "this build does not scale images",
        };
        assert_eq!(fitted["data"], json!({ "text/plain": "<Figure>" }));
        assert_eq!(
            fitted["metadata"],
            json!({ "image/png": { "shown": "none", "original": { "bytes": bytes }, "problem": problem } })
        );
    }
}

#[test]
fn no_program_speaks_for_the_host() {
    let shown = entry(json!({
        "data": { "text/plain": "x" },
        "metadata": { "text/plain": { "shown": "cut", "original": { "bytes": 9 }, "mine": 1 } },
        "file": "/etc/passwd",
    }));
    let entries = budgets(1000, 1000, 1000).fit(vec![shown], None);
    assert_eq!(
        serde_json::to_value(&entries[0]).expect("JSON"),
        json!({ "data": { "text/plain": "x" }, "metadata": { "text/plain": { "mine": 1 } } })
    );
}

#[test]
fn more_forms_than_anybody_reads_are_counted() {
    let mut data: Map<String, Value> = (0..40).map(|n| (format!("x/{n:02}"), json!("y"))).collect();
    data.insert("z".repeat(MIME_BYTES + 1), json!("y"));
    let fitted = fitted(budgets(1000, 1000, 100_000), Value::Object(data));
    assert_eq!(
        fitted["data"].as_object().expect("a bundle").len(),
        MOST_FORMS
    );
    assert_eq!(fitted["metadata"], json!({ "formsLeftOut": 9 }));
}

#[test]
fn large_forms_are_files_where_there_is_a_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = Artifacts::open(folder.path(), 1 << 20, Arc::default()).expect("artifacts");
    let html = "h".repeat(9000);
    let entries = vec![
        entry(json!({ "data": { "text/plain": "small" } })),
        entry(json!({ "data": { "text/html": html, "text/plain": "small" } })),
        entry(json!({ "data": { "image/png": "iVBORw==", "text/plain": "small" } })),
        entry(json!({ "data": { "application/json": ["j".repeat(9000)] } })),
    ];
    let fitted = budgets(1024, 1024, 8000).fit(entries, Some(&*artifacts));
    let read =
        |file: &Option<String>| std::fs::read(file.as_ref().expect("a file")).expect("a file");
    assert_eq!(fitted[0].file, None);
    assert_eq!(read(&fitted[1].file), html.as_bytes());
    assert!(
        fitted[1]
            .file
            .as_ref()
            .expect("a file")
            .ends_with("/cell-0000-display-2.html")
    );
    assert_eq!(
        fitted[1].note("text/html").expect("a note").original.file,
        fitted[1].file
    );
    assert_eq!(read(&fitted[2].file), b"\x89PNG");
    assert!(
        fitted[2]
            .file
            .as_ref()
            .expect("a file")
            .ends_with("/cell-0000-figure-1.png")
    );
    assert_eq!(fitted[2].metadata, None);
    assert_eq!(
        read(&fitted[3].file),
        json!(["j".repeat(9000)]).to_string().as_bytes()
    );
}

/// A JSON value, a text or an image, of any size.
fn content() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0usize..3000).prop_map(|size| json!("é\n".repeat(size / 3))),
        (0usize..3000).prop_map(|size| json!({ "rows": "x".repeat(size) })),
        (0usize..3000).prop_map(|size| json!(STANDARD.encode(vec![1; size]))),
    ]
}

proptest! {
    /// What is in the outcome is within its budgets, and what is not is told with its exact size.
    #[test]
    fn budgets_hold_whatever_is_shown(
        shown in prop::collection::vec(
            prop::collection::btree_map(
                prop::sample::select(vec!["text/plain", "text/html", "image/png", "image/webp", "application/json", "x/y"]),
                content(),
                0..5,
            ),
            0..8,
        ),
        (image, text, all) in (1024usize..3000, 512usize..3000, 1024usize..9000),
    ) {
        let entries: Vec<Display> = shown.iter().map(|data| entry(json!({ "data": data }))).collect();
        let fitted = budgets(image, text, all).fit(entries, None);
        prop_assert_eq!(fitted.len(), shown.len());
        let total: usize = fitted.iter().flat_map(|entry| &entry.data).map(|(_, content)| size(content)).sum();
        prop_assert!(total <= all);
        for (before, after) in shown.iter().zip(&fitted) {
            for (mime, content) in before {
                let note = after.note(mime);
                let is_image = images::extension(mime).is_some() && content.is_string();
                match after.data.get(*mime) {
                    Some(same) if same == content => prop_assert_eq!(note, None),
                    Some(Value::String(cut)) => {
                        let note = note.expect("a note");
                        prop_assert_eq!((note.shown, *mime), (Shown::Cut, "text/plain"));
                        prop_assert_eq!(note.original.bytes, size(content) as u64);
                        let mark = format!(
                            "[{} bytes, {} lines left out]\n",
                            note.bytes_left_out.expect("bytes"), note.lines_left_out.expect("lines"),
                        );
                        prop_assert!(cut.contains(&mark) && cut.len() <= text);
                    }
                    Some(other) => prop_assert!(false, "{}", other),
                    None => {
                        let note = note.expect("a note");
                        prop_assert_eq!(note.shown, Shown::None);
                        let exact = match content.as_str().filter(|_| is_image) {
                            Some(data) => decode(data).map_or(data.len(), |bytes| bytes.len()),
                            None => size(content),
                        };
                        prop_assert_eq!(note.original.bytes, exact as u64);
                    }
                }
            }
        }
    }
}
