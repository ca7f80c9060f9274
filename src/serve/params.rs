//! [`Fields`]: the parameters of a request, taken out one by one and checked, so that every refusal names the field, what
//! was given and what is allowed. What nobody took out is refused as well: a misspelt limit must not be no limit.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::message::Problem;

/// How much of a wrong value a message shows.
const SHOWN_CHARACTERS: usize = 60;

/// The largest whole number that a client which counts in doubles can mean exactly.
const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;

/// The members of a parameter object.
#[derive(Debug)]
pub(crate) struct Fields {
    owner: String,
    members: BTreeMap<String, Box<RawValue>>,
    known: Vec<&'static str>,
}

impl Fields {
    /// The members of `owner`, which messages name: `` `open` `` for instance.
    pub(crate) fn new(owner: String, members: BTreeMap<String, Box<RawValue>>) -> Self {
        Self {
            owner,
            members,
            known: Vec::new(),
        }
    }

    /// Takes a field as the JSON it is.
    pub(crate) fn raw(&mut self, field: &'static str) -> Option<Box<RawValue>> {
        self.known.push(field);
        self.members.remove(field)
    }

    /// A string.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<Option<String>, Problem> {
        self.typed(field, "a string of text")
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, field: &'static str) -> Result<Option<bool>, Problem> {
        self.typed(field, "`true` or `false`")
    }

    /// A list of strings.
    pub(crate) fn texts(&mut self, field: &'static str) -> Result<Option<Vec<String>>, Problem> {
        self.typed(field, "a list of strings")
    }

    /// A list of objects with members of their own.
    pub(crate) fn list<T: DeserializeOwned>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<Vec<T>>, Problem> {
        let Some(raw) = self.raw(field) else {
            return Ok(None);
        };
        serde_json::from_str(raw.get()).map(Some).map_err(|error| {
            Problem::invalid_params(format!(
                "`{field}` is not the list that it must be: {error}"
            ))
        })
    }

    /// An object whose values are all strings.
    pub(crate) fn text_map(
        &mut self,
        field: &'static str,
    ) -> Result<Option<BTreeMap<String, String>>, Problem> {
        self.typed(field, "an object whose values are strings")
    }

    /// A whole number from 0; `300.0` is one.
    pub(crate) fn whole(&mut self, field: &'static str) -> Result<Option<u64>, Problem> {
        let Some(raw) = self.raw(field) else {
            return Ok(None);
        };
        if let Ok(number) = serde_json::from_str(raw.get()) {
            return Ok(Some(number));
        }
        match serde_json::from_str::<f64>(raw.get()) {
            Ok(number) if number.fract() == 0.0 && (0.0..=LARGEST_EXACT).contains(&number) => {
                Ok(Some(number as u64))
            }
            _ => Err(wrong(field, "a positive whole number", &raw)),
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        field: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Problem> {
        let Some(raw) = self.raw(field) else {
            return Ok(None);
        };
        let given: Option<String> = serde_json::from_str(raw.get()).ok();
        match choices
            .iter()
            .find(|(word, _)| given.as_deref() == Some(*word))
        {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let words = one_of(choices.iter().map(|(word, _)| *word));
                Err(wrong(field, &words, &raw))
            }
        }
    }

    /// An object with fields of its own.
    pub(crate) fn fields(&mut self, field: &'static str) -> Result<Option<Self>, Problem> {
        let members = self.typed(field, "an object")?;
        Ok(members.map(|members| Self::new(format!("`{field}`"), members)))
    }

    /// Refuses what nobody took.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        let Some(unknown) = self.members.keys().next() else {
            return Ok(());
        };
        let allowed = if self.known.is_empty() {
            "which takes none".to_owned()
        } else {
            format!("which takes {}", listed(self.known.into_iter(), "and"))
        };
        Err(Problem::invalid_params(format!(
            "`{}` is not a field of {}, {allowed}",
            clipped(unknown),
            self.owner
        )))
    }

    fn typed<T: DeserializeOwned>(
        &mut self,
        field: &'static str,
        wanted: &str,
    ) -> Result<Option<T>, Problem> {
        match self.raw(field) {
            None => Ok(None),
            Some(raw) => serde_json::from_str(raw.get())
                .map(Some)
                .map_err(|_| wrong(field, wanted, &raw)),
        }
    }
}

/// Turns a field that is not there into a refusal.
pub(crate) fn required<T>(field: &str, given: Option<T>) -> Result<T, Problem> {
    given.ok_or_else(|| Problem::invalid_params(format!("`{field}` is missing")))
}

/// `one of` and the words, in backticks.
pub(crate) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    listed(words, "or")
}

/// A value as a message shows it: its beginning, on one line.
pub(crate) fn shown(raw: &RawValue) -> String {
    clipped(raw.get())
}

fn wrong(field: &str, wanted: &str, given: &RawValue) -> Problem {
    Problem::invalid_params(format!("`{field}` must be {wanted}, not {}", shown(given)))
}

fn listed<'a>(words: impl Iterator<Item = &'a str>, conjunction: &str) -> String {
    let mut words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.pop() {
        Some(last) if words.is_empty() => last,
        Some(last) => format!("{} {conjunction} {last}", words.join(", ")),
        None => String::new(),
    }
}

fn clipped(text: &str) -> String {
    let mut clipped: String = text
        .chars()
        .take(SHOWN_CHARACTERS)
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields {
        let members = serde_json::from_str(json).expect("an object");
        Fields::new("`open`".to_owned(), members)
    }

    fn refusal<T>(result: Result<T, Problem>) -> String {
        match result {
            Ok(_) => "accepted".to_owned(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn whole_numbers_are_taken_in_every_spelling_and_nothing_else_is() {
        for (json, number) in [("300", 300), ("300.0", 300), ("3e2", 300), ("0", 0)] {
            let mut fields = fields(&format!(r#"{{"timeoutMs": {json}}}"#));
            assert_eq!(fields.whole("timeoutMs"), Ok(Some(number)));
        }
        for json in ["-1", "0.5", "1e300", "\"5\"", "null", "true", "[1]"] {
            let mut fields = fields(&format!(r#"{{"timeoutMs": {json}}}"#));
            assert_eq!(
                refusal(fields.whole("timeoutMs")),
                format!("`timeoutMs` must be a positive whole number, not {json}")
            );
        }
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        let choices = [("exact", 1), ("safe", 2)];
        let mut given = fields(r#"{"integers": "safe"}"#);
        assert_eq!(given.choice("integers", &choices), Ok(Some(2)));
        let mut given = fields(r#"{"integers": "big"}"#);
        assert_eq!(
            refusal(given.choice("integers", &choices)),
            "`integers` must be `exact` or `safe`, not \"big\""
        );
    }

    #[test]
    fn a_field_that_nobody_knows_is_named() {
        let mut given = fields(r#"{"cwd": "/", "pyhton": "x"}"#);
        assert_eq!(given.text("cwd"), Ok(Some("/".to_owned())));
        assert_eq!(given.text("python"), Ok(None));
        assert_eq!(
            refusal(given.finish()),
            "`pyhton` is not a field of `open`, which takes `cwd` and `python`"
        );
    }

    #[test]
    fn a_long_value_is_shown_by_its_beginning() {
        let mut given = fields(&format!(r#"{{"cwd": [{}]}}"#, "1,".repeat(200) + "1"));
        let message = refusal(given.text("cwd"));
        assert!(message.ends_with('…') && message.len() < 120, "{message}");
    }
}
