//! [`Note`]: what an entry's `metadata` says, under a form's MIME type, when the form is not there as it was shown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Display;

/// How a form stands in its outcome, and what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Note {
    pub(crate) shown: Shown,
    pub(crate) original: Original,
    /// Of plain text that was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_left_out: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lines_left_out: Option<u64>,
    /// Why it is not there, unless it is just too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shown {
    /// Not at all.
    None,
    /// By its head and its tail.
    Cut,
    /// Smaller.
    Scaled,
}

/// A form as the program showed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Original {
    /// The content's own size: an image's, not that of its base64.
    pub(crate) bytes: u64,
    /// Its type, when a copy is of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) width: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) height: Option<u32>,
    /// Where it lies, when the host gave a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
}

impl Note {
    pub(crate) fn new(shown: Shown, original: Original) -> Self {
        Self {
            shown,
            original,
            bytes_left_out: None,
            lines_left_out: None,
            problem: None,
        }
    }
}

impl Display {
    /// What is said of the form of that type.
    pub(crate) fn note(&self, mime: &str) -> Option<Note> {
        let said = self.metadata.as_ref()?.get(mime)?;
        serde_json::from_value(said.clone()).ok()
    }

    /// Says it, beside what the program itself says of the form.
    pub(crate) fn set_note(&mut self, mime: &str, note: &Note) {
        let Ok(Value::Object(note)) = serde_json::to_value(note) else {
            return;
        };
        let metadata = self.metadata.get_or_insert_default();
        match metadata.get_mut(mime) {
            Some(Value::Object(said)) => said.extend(note),
            _ => {
                metadata.insert(mime.to_owned(), Value::Object(note));
            }
        }
    }

    /// Takes out of a program's metadata what only the host may say.
    pub(crate) fn forget_notes(&mut self) {
        self.file = None;
        let said = self.metadata.iter_mut().flat_map(Map::values_mut);
        for said in said.filter_map(Value::as_object_mut) {
            said.remove("shown");
            said.remove("original");
        }
    }
}
