//! What in the entries that a cell showed is not as its case expects.

use serde_json::Value;
use warmcell::Display;

use super::differences::{json, short};
use super::suite::{Picture, Shown};
use crate::support::decoded;

/// Compares what was shown with what the case expects, entry by entry.
pub(super) fn between(wanted: &[Shown], shown: &[Display]) -> Vec<String> {
    let wanted: Vec<&Shown> = wanted
        .iter()
        .flat_map(|entry| std::iter::repeat_n(entry, entry.times))
        .collect();
    if wanted.len() != shown.len() {
        return vec![format!(
            "{} entries are shown, not {}: {}",
            shown.len(),
            wanted.len(),
            short(json(&shown))
        )];
    }
    let entries = wanted.iter().zip(shown).enumerate();
    entries
        .flat_map(|(index, (wanted, shown))| {
            let problems = differences(wanted, shown);
            problems
                .into_iter()
                .map(move |problem| format!("display {}: {problem}", index + 1))
        })
        .collect()
}

fn differences(wanted: &Shown, shown: &Display) -> Vec<String> {
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: &str, is: &dyn Fn() -> String| {
        if !holds {
            found.push(format!("{what}: {}", short(is())));
        }
    };
    let data = || json(&shown.data);
    if let Some(wanted) = &wanted.data {
        let wanted = serde_json::to_value(wanted).expect("JSON");
        expect(
            Value::Object(shown.data.clone()) == wanted,
            "not the data that was expected",
            &data,
        );
    }
    if let Some(wanted) = &wanted.mimes {
        let mut wanted = wanted.clone();
        wanted.sort();
        let mut types: Vec<String> = shown.data.keys().cloned().collect();
        types.sort();
        expect(types == wanted, "other MIME types", &|| types.join(", "));
    }
    for (mime, part) in &wanted.contains {
        let content = shown.data.get(mime);
        let text = content.map_or_else(String::new, |content| match content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        expect(
            text.contains(part),
            &format!("{mime} lacks {part:?}"),
            &|| text.clone(),
        );
    }
    let metadata = shown.metadata.as_ref().map(json);
    let same = match (&wanted.metadata, &metadata) {
        (Some(wanted), Some(is)) => !crate::support::json_differs(is, wanted),
        (wanted, is) => wanted.is_none() == is.is_none(),
    };
    expect(same, "other metadata", &|| format!("{metadata:?}"));
    expect(shown.id == wanted.id, "another id", &|| {
        format!("{:?}", shown.id)
    });
    expect(shown.updates == wanted.updates, "updates", &|| {
        shown.updates.to_string()
    });
    if let Some(wanted) = &wanted.picture {
        found.extend(in_picture(wanted, shown));
    }
    found
}

fn in_picture(wanted: &Picture, shown: &Display) -> Vec<String> {
    let Some(picture) = shown.data.get("image/png").and_then(Value::as_str) else {
        return vec!["there is no PNG".to_owned()];
    };
    let picture = decoded(picture);
    if picture.dimensions() != (wanted.width, wanted.height) {
        return vec![format!("the picture is {:?}", picture.dimensions())];
    }
    let pixels = wanted.pixels.iter().filter_map(|[x, y, wanted @ ..]| {
        let is = picture.get_pixel(*x, *y).0.map(u32::from);
        (is[..3] != wanted[..]).then(|| format!("the pixel at {x}, {y} is {is:?}"))
    });
    pixels.collect()
}
