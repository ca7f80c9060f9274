//! [`CapabilityError`]: why a call failed, the same words on both sides and in every language.

use serde::{Deserialize, Serialize};

use crate::outcome::Json;

/// Longest message, in bytes; the rest is left out.
const MESSAGE_BYTES: usize = 64 << 10;

/// Largest `data`, in bytes of JSON text; more is left out. Between processes it travels in a frame's header, which takes twice that.
const DATA_BYTES: usize = 4 << 20;

/// Why a call of a host function failed. A cell meets it as an exception of the class `CapabilityError`, with the same fields
/// and with `capability` and `action` beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[error("{message}")]
#[non_exhaustive]
pub struct CapabilityError {
    /// What kind of failure it is.
    pub kind: CapabilityErrorKind,
    /// What went wrong.
    pub message: String,
    /// Whether the same call may succeed another time.
    pub retryable: bool,
    /// What the program may want to know besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

/// The kinds of failed calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CapabilityErrorKind {
    /// The action itself failed.
    Tool,
    /// The host does not allow it.
    Permission,
    /// It took too long.
    Timeout,
    /// The cell ended or was stopped first.
    Cancelled,
}

impl CapabilityErrorKind {
    /// The kind as cells see it, `permission` for instance.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Permission => "permission",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

impl CapabilityError {
    /// A failure of `kind`, which says `message`.
    pub fn new(kind: CapabilityErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: false,
            data: None,
        }
    }

    /// A failure of the action itself.
    pub fn tool(message: impl Into<String>) -> Self {
        Self::new(CapabilityErrorKind::Tool, message)
    }

    /// Something the host does not allow.
    pub fn permission(message: impl Into<String>) -> Self {
        Self::new(CapabilityErrorKind::Permission, message)
    }

    /// Something that took too long, and may not the next time.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self {
            retryable: true,
            ..Self::new(CapabilityErrorKind::Timeout, message)
        }
    }

    /// The same failure, within what a message between processes may carry.
    pub(crate) fn bounded(mut self) -> Self {
        if self.message.len() > MESSAGE_BYTES {
            let end = self.message.floor_char_boundary(MESSAGE_BYTES);
            let left_out = self.message.len() - end;
            self.message.truncate(end);
            self.message
                .push_str(&format!(" [{left_out} bytes left out]"));
        }
        if let Some(data) = &self.data
            && data.as_str().len() > DATA_BYTES
        {
            let bytes = data.as_str().len();
            self.message
                .push_str(&format!(" [its `data` of {bytes} bytes is left out]"));
            self.data = None;
        }
        self
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(
            CapabilityErrorKind::Cancelled,
            "the cell that made the call has ended",
        )
    }

    /// The same failure, with whether the same call may succeed another time.
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The same failure, with what the program may want to know besides.
    pub fn with_data(mut self, data: Json) -> Self {
        self.data = Some(data);
        self
    }
}

impl From<std::io::Error> for CapabilityError {
    fn from(error: std::io::Error) -> Self {
        Self::tool(error.to_string())
    }
}
