//! [`Json`]: a value as JSON text, kept as text until somebody wants to read it.
//!
//! Valid by construction: an engine's converter wrote it, or [`Json::new`] checked it. `serde_json`'s own `RawValue` would
//! parse the text once more each time one is made, so the text is held as a plain string and becomes a `RawValue` only where
//! an outcome is written to a wire.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A value as JSON text; the order of keys and the digits of numbers are those it was made with.
///
/// # Examples
///
/// ```
/// use warmcell::Json;
///
/// let rows = Json::new(r#"{"b": [1, 2], "a": null}"#)?;
/// assert_eq!(rows.as_str(), r#"{"b": [1, 2], "a": null}"#);
/// assert_eq!(rows.parse::<serde_json::Value>()?["b"][1], 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Box<str>);

/// The text given to [`Json::new`] is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not valid JSON: {0}")]
pub struct InvalidJson(#[from] serde_json::Error);

impl Json {
    /// Takes JSON text as it is, after checking that it is JSON.
    ///
    /// # Errors
    ///
    /// When `text` is not exactly one JSON value.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidJson> {
        let text = text.into();
        serde_json::from_str::<&RawValue>(&text)?;
        Ok(Self(text.into_boxed_str()))
    }

    /// Writes `value` as JSON text.
    ///
    /// # Errors
    ///
    /// When `value` cannot be JSON: a map whose keys are not strings, for instance.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, InvalidJson> {
        Ok(Self(serde_json::to_string(value)?.into_boxed_str()))
    }

    /// Takes text that an engine's converter wrote and that is therefore known to be JSON.
    pub(crate) fn from_converter(text: String) -> Self {
        debug_assert!(
            serde_json::from_str::<&RawValue>(&text).is_ok(),
            "a converter wrote text that is not JSON"
        );
        Self(text.into_boxed_str())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many arrays and objects stand within each other.
    pub(crate) fn nesting(&self) -> usize {
        let (mut level, mut most) = (0_usize, 0);
        let mut bytes = self.0.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'[' | b'{' => {
                    level += 1;
                    most = most.max(level);
                }
                b']' | b'}' => level = level.saturating_sub(1),
                b'"' => {
                    while let Some(byte) = bytes.next() {
                        match byte {
                            b'\\' => drop(bytes.next()),
                            b'"' => break,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        most
    }

    /// Reads the value into a type of the host's.
    ///
    /// # Errors
    ///
    /// When the value does not have the shape of `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(
            Box::<RawValue>::deserialize(deserializer)?.get().into(),
        ))
    }
}

/// Reads an optional value whose field is there, so that `null` is a value and only a missing field is none.
pub(super) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}
