//! The frame of the protocol: JSON-RPC 2.0 requests as they are read, answers and notifications as they are written.
//!
//! What a method does with its parameters is none of this module's business.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use warmcell::{Display, Json, Outcome};

use super::functions::Called;
use super::params::{Fields, shown};

/// What one line held.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A request, or a notification when it has no `id`.
    Request(Request),
    /// The client's answer to a request of ours, by its id.
    Answer(String, Answered),
    /// Something that must be answered with an error, under the id it came with where that could be read.
    Fault(Option<Id>, Problem),
    /// Nothing.
    Blank,
    /// A line that needs no answer, and why.
    Ignored(&'static str),
}

/// What the client answers to a `call`.
#[derive(Debug)]
pub(crate) enum Answered {
    Value(Json),
    Error { message: String, data: Option<Json> },
}

/// A method call.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: Option<Id>,
    pub(crate) method: String,
    pub(crate) params: Fields,
}

/// A request's id as JSON text, so that it goes back as it came: `7` and `"7"` are two ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(Arc<str>);

impl Id {
    /// Reads an id; `None` when it is neither a string nor a number.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes().first()? {
            // Two spellings of one string are one id.
            b'"' => {
                let text: String = serde_json::from_str(raw.get()).ok()?;
                Some(Self(serde_json::to_string(&text).ok()?.into()))
            }
            b'-' | b'0'..=b'9' => Some(Self(raw.get().into())),
            _ => None,
        }
    }

    /// Whether it looks like that of a request of ours.
    fn is_ours(&self) -> bool {
        self.0.starts_with("\"call-")
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    code: i32,
    message: String,
}

impl Problem {
    /// The line is not JSON.
    pub(crate) fn parse(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    /// The line is JSON, but no request.
    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// There is no such method.
    pub(crate) fn unknown_method(message: impl Into<String>) -> Self {
        Self::new(-32601, message)
    }

    /// A parameter is wrong; the message names it.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// A fault of ours.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// The engine cannot be started, or it is gone.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(-32000, message)
    }

    /// The engine works, and refused what was asked of it.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(-32001, message)
    }

    fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Reads the frame of one line.
pub(crate) fn read(line: &[u8]) -> Incoming {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim_ascii(),
        Err(error) => {
            let message = format!(
                "the line is not UTF-8 from its byte {}",
                error.valid_up_to()
            );
            return Incoming::Fault(None, Problem::parse(message));
        }
    };
    if text.is_empty() {
        return Incoming::Blank;
    }
    let raw: &RawValue = match serde_json::from_str(text) {
        Ok(raw) => raw,
        Err(error) => {
            let message = format!("the line is not JSON: {error}");
            return Incoming::Fault(None, Problem::parse(message));
        }
    };
    if raw.get().starts_with('[') {
        let message = "a batch is not taken: send each message on a line of its own";
        return Incoming::Fault(None, Problem::invalid_request(message));
    }
    match serde_json::from_str(raw.get()) {
        Ok(envelope) => open(&envelope),
        Err(error) if raw.get().starts_with('{') => {
            Incoming::Fault(None, Problem::invalid_request(error.to_string()))
        }
        Err(_) => {
            let message = format!("a message is a JSON object, not {}", shown(raw));
            Incoming::Fault(None, Problem::invalid_request(message))
        }
    }
}

/// The members of a message, none of them looked at.
#[derive(Deserialize)]
struct Envelope<'line> {
    #[serde(borrow)]
    jsonrpc: Option<&'line RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'line RawValue>,
    #[serde(borrow)]
    method: Option<&'line RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'line RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'line RawValue>,
    #[serde(borrow)]
    error: Option<&'line RawValue>,
}

/// Keeps a member that is `null` apart from one that is not there.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn open(envelope: &Envelope<'_>) -> Incoming {
    let id = match envelope.id.map(|raw| (raw, Id::read(raw))) {
        None => None,
        Some((_, Some(id))) => Some(id),
        Some((raw, None)) => {
            let message = format!("`id` must be a string or a number, not {}", shown(raw));
            return Incoming::Fault(None, Problem::invalid_request(message));
        }
    };
    let Some(method) = envelope.method else {
        if envelope.result.is_some()
            || envelope.error.is_some()
            || id.as_ref().is_some_and(Id::is_ours)
        {
            return answer(id, envelope);
        }
        return Incoming::Fault(id, Problem::invalid_request("`method` is missing"));
    };
    let version = envelope.jsonrpc.map_or("missing", RawValue::get);
    if version != "\"2.0\"" {
        let message = format!("`jsonrpc` must be \"2.0\", and is {version}");
        return Incoming::Fault(id, Problem::invalid_request(message));
    }
    let method: String = match serde_json::from_str(method.get()) {
        Ok(method) => method,
        Err(_) => {
            let message = format!("`method` must be a string, not {}", shown(method));
            return Incoming::Fault(id, Problem::invalid_request(message));
        }
    };
    let members: BTreeMap<String, Box<RawValue>> = match envelope.params {
        None => BTreeMap::new(),
        Some(raw) => match serde_json::from_str(raw.get()) {
            Ok(members) => members,
            Err(_) => {
                let message = format!(
                    "`params` must be an object with a member for each parameter, not {}",
                    shown(raw)
                );
                return Incoming::Fault(id, Problem::invalid_params(message));
            }
        },
    };
    Incoming::Request(Request {
        id,
        params: Fields::new(format!("`{method}`"), members),
        method,
    })
}

/// A message with a result or an error. Only ids of our own can be those of an answer.
fn answer(id: Option<Id>, envelope: &Envelope<'_>) -> Incoming {
    let id: Option<String> = id.and_then(|id| serde_json::from_str(&id.0).ok());
    let Some(id) = id else {
        return Incoming::Ignored(UNASKED);
    };
    #[derive(Deserialize)]
    struct Error {
        #[serde(default)]
        message: Value,
        #[serde(default)]
        data: Option<Box<RawValue>>,
    }
    let said = |message: Value| match message {
        Value::String(text) => text,
        Value::Null => "the client's error has no `message`".to_owned(),
        other => other.to_string(),
    };
    let json = |raw: &RawValue| Json::new(raw.get()).ok();
    let answered = match (envelope.result, envelope.error) {
        (Some(result), _) => json(result).map(Answered::Value),
        (None, Some(error)) => {
            let error: Option<Error> = serde_json::from_str(error.get()).ok();
            Some(match error {
                Some(error) => Answered::Error {
                    message: said(error.message),
                    data: error.data.as_deref().and_then(json),
                },
                None => Answered::Error {
                    message: "the client answered with an error that is none".to_owned(),
                    data: None,
                },
            })
        }
        (None, None) => Some(Answered::Error {
            message: "the client answered with neither a `result` nor an `error`".to_owned(),
            data: None,
        }),
    };
    match answered {
        Some(answered) => Incoming::Answer(id, answered),
        None => Incoming::Ignored(UNASKED),
    }
}

/// An answer that is to nothing.
pub(super) const UNASKED: &str = "an answer to a request that was never sent";

/// What goes to the client.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// The answer to the request of that id; no id when it could not be read.
    Answer(Option<Id>, Result<Reply, Problem>),
    /// Something a running cell printed or showed.
    Output(Id, Output),
    /// A request: a cell calls a function of the client's.
    Call(String, Called),
    /// Nobody waits for the answer to that request any more.
    Cancel(String),
}

/// The result of a request that was served.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    /// What came of a cell.
    Outcome(Box<Outcome>),
    /// Anything else.
    Value(serde_json::Value),
}

/// The content of an `output` notification.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Output {
    /// Printed text.
    Text {
        /// `stdout` or `stderr`.
        stream: &'static str,
        /// What was printed.
        text: String,
    },
    /// Something the cell showed.
    Entry {
        /// As it stands in the outcome's `display`.
        entry: Display,
    },
    /// The program wants what it printed and showed so far gone.
    Clear { clear: bool },
    /// The client was too slow: what came here stands in the outcome alone.
    Gap {
        /// How much is missing.
        gap: Missing,
    },
}

/// How much a gap left out.
#[derive(Debug, Serialize)]
pub(crate) struct Missing {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Outgoing {
    /// The message as a line, with its newline.
    pub(crate) fn into_line(self) -> Vec<u8> {
        let written = match &self {
            Self::Answer(id, Ok(reply)) => write(&Success {
                jsonrpc: "2.0",
                id,
                result: reply,
            }),
            Self::Answer(id, Err(problem)) => write(&Refusal {
                jsonrpc: "2.0",
                id,
                error: problem,
            }),
            Self::Output(id, output) => write(&Notification {
                jsonrpc: "2.0",
                method: "output",
                params: OutputParams { id, output },
            }),
            Self::Call(id, called) => write(&CallRequest {
                jsonrpc: "2.0",
                id,
                method: "call",
                params: CallParams {
                    session: &called.session,
                    namespace: &called.namespace,
                    name: &called.name,
                    arguments: &called.arguments,
                },
            }),
            Self::Cancel(id) => write(&Notification {
                jsonrpc: "2.0",
                method: "$/cancelRequest",
                params: CancelParams { id },
            }),
        };
        match (written, self) {
            (Ok(line), _) => line,
            (Err(error), Self::Answer(id, _)) => {
                let problem =
                    Problem::internal(format!("the answer could not be written: {error}"));
                // An error object holds nothing that can fail.
                write(&Refusal {
                    jsonrpc: "2.0",
                    id: &id,
                    error: &problem,
                })
                .unwrap_or_default()
            }
            (Err(_), Self::Output(..) | Self::Call(..) | Self::Cancel(..)) => Vec::new(),
        }
    }
}

fn write(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[derive(Serialize)]
struct Success<'a> {
    jsonrpc: &'static str,
    id: &'a Option<Id>,
    result: &'a Reply,
}

#[derive(Serialize)]
struct Refusal<'a> {
    jsonrpc: &'static str,
    id: &'a Option<Id>,
    error: &'a Problem,
}

#[derive(Serialize)]
struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

#[derive(Serialize)]
struct CallRequest<'a> {
    jsonrpc: &'static str,
    id: &'a str,
    method: &'static str,
    params: CallParams<'a>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    session: &'a str,
    namespace: &'a str,
    name: &'a str,
    arguments: &'a Json,
}

#[derive(Serialize)]
struct CancelParams<'a> {
    id: &'a str,
}

#[derive(Serialize)]
struct OutputParams<'a> {
    id: &'a Id,
    #[serde(flatten)]
    output: &'a Output,
}
