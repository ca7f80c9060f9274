//! [`Call`]: a model's call of the tool, read and checked.

use std::path::PathBuf;
use std::time::Duration;

use super::arguments::{Arguments, InvalidArguments};
use crate::runtime::Language;

/// The session of a call that names none.
pub const DEFAULT_SESSION: &str = "default";

/// The least and the most that `timeout_seconds` may be.
pub(super) const TIMEOUT_SECONDS: std::ops::RangeInclusive<u32> = 1..=3600;

/// A model's call of the tool.
///
/// # Examples
///
/// ```
/// use warmcell::Language;
/// use warmcell::tool::{Arguments, Call};
///
/// let given = serde_json::json!({ "code": "1 + 1", "session": "research", "timeout_seconds": 5 });
/// let mut arguments = Arguments::new(given.as_object().cloned().unwrap_or_default());
/// let call = Call::take(&mut arguments, &[Language::Python])?;
/// arguments.finish()?;
/// assert_eq!((call.session.as_str(), call.language), ("research", Language::Python));
/// # Ok::<(), warmcell::tool::InvalidArguments>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The cell.
    pub code: String,
    /// Its language; the first one that is offered when the call names none.
    pub language: Language,
    /// The session it is for.
    pub session: String,
    /// How long it may run, when not as long as every cell may.
    pub timeout: Option<Duration>,
    /// Whether the session is to be made a fresh one first.
    pub reset: bool,
    /// The folder that the session is to be in.
    pub cwd: Option<PathBuf>,
}

impl Call {
    /// Takes the arguments of [`specification`](super::specification) out of those of a call, which may have more.
    ///
    /// # Errors
    ///
    /// When `code` is missing, an argument is of the wrong type or out of its range, or no language is offered.
    pub fn take(
        arguments: &mut Arguments,
        languages: &[Language],
    ) -> Result<Self, InvalidArguments> {
        let choices: Vec<(&str, Language)> = languages
            .iter()
            .map(|language| (language.as_str(), *language))
            .collect();
        let code = arguments.text("code")?;
        let language = arguments.choice("language", &choices)?;
        Ok(Self {
            code: code.ok_or_else(|| InvalidArguments::missing("code"))?,
            language: language
                .or_else(|| languages.first().copied())
                .ok_or_else(|| InvalidArguments::missing("language"))?,
            session: arguments
                .text("session")?
                .unwrap_or_else(|| DEFAULT_SESSION.to_owned()),
            timeout: arguments.seconds("timeout_seconds", TIMEOUT_SECONDS)?,
            reset: arguments.flag("reset")?.unwrap_or(false),
            cwd: arguments.text("cwd")?.map(PathBuf::from),
        })
    }
}
