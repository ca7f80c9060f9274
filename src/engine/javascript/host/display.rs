//! `display`: what a cell shows, as an entry of its outcome.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::{Arguments, Complaint};
use crate::engine::FORM_BYTES;
use crate::engine::javascript::inspect::{Detail, inspect};
use crate::engine::javascript::realm::{ErrorClass, Kind, Realm};
use crate::engine::javascript::sources::Sources;
use crate::engine::javascript::values::{self, Measure, Refusal};
use crate::outcome::Display;

/// How the pictures begin whose type need not be said.
const SIGNATURES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// `(form, content, mime, id, updates, metadata)`: the entry. `form` says what the content is: a value that is inspected, a
/// text, a value that is JSON, a picture, or a bundle of contents by MIME type.
pub(super) fn entry<R: Realm>(
    given: &mut Arguments<'_, R>,
    sources: &Sources,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Display, Complaint> {
    let form = given.text(0);
    let content = given.value(1);
    let data = match form.as_str() {
        "text" => {
            let mime = given.text(2);
            let Kind::String(text) = given.kind(1) else {
                return Err(wrong(&format!("`{mime}` is shown of a text")));
            };
            one(mime, text.into_lossy())
        }
        "image" => picture(given)?,
        "json" => {
            let value = json(given, 1, "what is shown as JSON", is_stopped)?;
            let mut data = one("application/json".to_owned(), value);
            data.insert(
                "text/plain".to_owned(),
                inspect(given.realm, sources, &content, Detail::DISPLAY).into(),
            );
            data
        }
        "bundle" => match json(given, 1, "a raw display", is_stopped)? {
            Value::Object(data) => data,
            _ => {
                return Err(wrong("a raw display is an object of contents by MIME type"));
            }
        },
        _ => one(
            "text/plain".to_owned(),
            inspect(given.realm, sources, &content, Detail::DISPLAY),
        ),
    };
    let bytes: usize = data.values().map(length).sum();
    if bytes > FORM_BYTES {
        let problem = format!("what is shown has {bytes} bytes, and {FORM_BYTES} are the most");
        return Err((ErrorClass::RangeError, problem));
    }
    let metadata = match given.kind(5) {
        Kind::Undefined | Kind::Null => None,
        _ => match json(given, 5, "the metadata of a display", is_stopped)? {
            Value::Object(metadata) => Some(metadata),
            _ => return Err(wrong("the metadata of a display is an object")),
        },
    };
    let updates = given.flag(4);
    let id = match given.kind(3) {
        Kind::Undefined | Kind::Null if updates => {
            return Err(wrong("an update needs the `id` of what it updates"));
        }
        Kind::Undefined | Kind::Null => None,
        Kind::String(text) => Some(text.into_lossy()),
        Kind::Number(number) => Some(number.to_string()),
        _ => return Err(wrong("the `id` of a display is a text")),
    };
    Ok(Display {
        data,
        metadata,
        id,
        updates,
        ..Display::text("")
    })
}

/// Bytes, base64 as it stands, a `data:` URL, or the text of an SVG.
fn picture<R: Realm>(given: &mut Arguments<'_, R>) -> Result<Map<String, Value>, Complaint> {
    let mime = match given.kind(2) {
        Kind::String(mime) => Some(mime.into_lossy()),
        _ => None,
    };
    let unknown = || wrong("display.image() cannot tell what picture it is: say its MIME type");
    if let Kind::String(text) = given.kind(1) {
        let text = text.into_lossy();
        if let Some((head, content)) = text
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"))
        {
            return Ok(one(mime.unwrap_or_else(|| head.to_owned()), content));
        }
        return Ok(one(mime.ok_or_else(unknown)?, text));
    }
    let content = given.value(1);
    let Some(bytes) = given.realm.bytes(&content) else {
        return Err(wrong(
            "display.image() takes bytes (a Uint8Array or an ArrayBuffer), or base64 as a text",
        ));
    };
    let known = SIGNATURES
        .iter()
        .find(|(signature, _)| bytes.starts_with(signature))
        .map(|(_, mime)| (*mime).to_owned());
    let mime = mime.or(known).ok_or_else(unknown)?;
    Ok(match mime.as_str() {
        "image/svg+xml" => one(mime, String::from_utf8_lossy(&bytes).into_owned()),
        _ => one(mime, BASE64_STANDARD.encode(&bytes)),
    })
}

fn json<R: Realm>(
    given: &mut Arguments<'_, R>,
    index: usize,
    what: &str,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Value, Complaint> {
    let value = given.value(index);
    let problem = match values::to_json(given.realm, &value, Measure::of(FORM_BYTES), is_stopped) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        },
        Err(Refusal::NotJson { path, what, .. }) if path.is_empty() => {
            format!("is {what}, which JSON cannot hold")
        }
        Err(Refusal::NotJson { path, what, .. }) => {
            format!("has {what} at `{path}`, which JSON cannot hold")
        }
        Err(Refusal::TooLong(budget)) => format!("is longer than {budget} bytes"),
        Err(Refusal::Stopped) => "was stopped".to_owned(),
    };
    Err(wrong(&format!("{what} {problem}")))
}

fn length(content: &Value) -> usize {
    match content {
        Value::String(text) => text.len(),
        // It was measured when it was written.
        _ => 0,
    }
}

fn one(mime: String, content: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(mime, content.into())])
}

fn wrong(problem: &str) -> Complaint {
    (ErrorClass::TypeError, problem.to_owned())
}
