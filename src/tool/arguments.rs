//! [`Arguments`]: the arguments of a model's call, taken out one by one, so that every refusal names the argument, what was
//! given and what is allowed. What nobody took out is refused as well: a misspelt `timeout` must not be no timeout.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Map, Value};

use super::text::clipped;

/// How much of a wrong value a message shows, in characters.
const SHOWN: usize = 60;

/// What a call was given, as far as it was not taken yet.
///
/// An argument that is `null` is one that was not given: some clients send all of them.
///
/// # Examples
///
/// ```
/// use warmcell::tool::Arguments;
///
/// let given = serde_json::json!({ "wait_seconds": 5000 });
/// let mut arguments = Arguments::new(given.as_object().cloned().unwrap_or_default());
/// let refusal = arguments.seconds("wait_seconds", 0..=3600).unwrap_err();
/// assert_eq!(refusal.to_string(), "`wait_seconds` must be a number of seconds from 0 to 3600, not 5000");
/// ```
#[derive(Debug)]
pub struct Arguments {
    members: Map<String, Value>,
    known: Vec<&'static str>,
}

/// A call whose arguments cannot be followed. Its text is for the model that made it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArguments(String);

impl Arguments {
    /// The arguments of a call.
    pub fn new(members: Map<String, Value>) -> Self {
        Self {
            members,
            known: Vec::new(),
        }
    }

    /// A string.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, InvalidArguments> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, InvalidArguments> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong(name, "`true` or `false`", &other)),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn whole(&mut self, name: &'static str) -> Result<Option<u64>, InvalidArguments> {
        match self.take(name) {
            None => Ok(None),
            Some(given) => match given.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(name, "a whole number from 0 on", &given)),
            },
        }
    }

    /// A number of seconds within a range.
    ///
    /// # Errors
    ///
    /// When it is something else or out of the range.
    pub fn seconds(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<Duration>, InvalidArguments> {
        let Some(given) = self.take(name) else {
            return Ok(None);
        };
        let (least, most) = (*range.start(), *range.end());
        match given.as_f64() {
            Some(seconds) if (f64::from(least)..=f64::from(most)).contains(&seconds) => {
                Ok(Some(Duration::from_secs_f64(seconds)))
            }
            _ => Err(wrong(
                name,
                &format!("a number of seconds from {least} to {most}"),
                &given,
            )),
        }
    }

    /// One of a few words.
    ///
    /// # Errors
    ///
    /// When it is something else; the refusal names the words.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, InvalidArguments> {
        let Some(given) = self.take(name) else {
            return Ok(None);
        };
        let found = choices
            .iter()
            .find(|(word, _)| given.as_str() == Some(*word));
        match found {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let words = listed(choices.iter().map(|(word, _)| *word), "or");
                Err(wrong(name, &words, &given))
            }
        }
    }

    /// Refuses what nobody took.
    ///
    /// # Errors
    ///
    /// When there is any; the refusal names it and what there is.
    pub fn finish(self) -> Result<(), InvalidArguments> {
        let Some(unknown) = self.members.keys().next() else {
            return Ok(());
        };
        let unknown = clipped(unknown, SHOWN);
        Err(InvalidArguments(format!(
            "`{unknown}` is not an argument: there are {}",
            listed(self.known.into_iter(), "and")
        )))
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.members.remove(name).filter(|value| !value.is_null())
    }
}

impl InvalidArguments {
    pub(super) fn missing(name: &str) -> Self {
        Self(format!("`{name}` is missing"))
    }
}

fn wrong(name: &str, wanted: &str, given: &Value) -> InvalidArguments {
    let given = clipped(&given.to_string(), SHOWN);
    InvalidArguments(format!("`{name}` must be {wanted}, not {given}"))
}

fn listed<'a>(words: impl Iterator<Item = &'a str>, conjunction: &str) -> String {
    let mut words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} {conjunction} {last}", words.join(", ")),
        None => "none".to_owned(),
    }
}
