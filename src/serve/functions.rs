//! [`Functions`]: what `functions` of `open` become: host functions whose calls are `call` requests to the client.
//!
//! Calls come from the threads of host functions and their answers from the thread that serves requests; [`Functions::waiting`] is
//! locked to add or to take one, and never while anything is sent.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use warmcell::{Action, Capability, CapabilityError, CapabilityErrorKind, Json, Signature};

use super::message::{Answered, Outgoing, Problem};
use super::writer::Mailbox;

/// How the ids of our requests begin; a number follows.
const CALL: &str = "call-";

/// The client's functions, of all sessions.
pub(super) struct Functions {
    mailbox: Mailbox,
    last: AtomicU64,
    waiting: Mutex<HashMap<String, oneshot::Sender<Answered>>>,
}

/// The name of a session, once it has one.
pub(super) type SessionName = Arc<OnceLock<String>>;

/// A function, as `open` describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Described {
    namespace: String,
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    input_schema: Option<Box<RawValue>>,
    /// The client works on nothing else of the session's meanwhile.
    #[serde(default)]
    exclusive: bool,
}

impl Functions {
    pub(super) fn new(mailbox: Mailbox) -> Arc<Self> {
        Arc::new(Self {
            mailbox,
            last: AtomicU64::new(0),
            waiting: Mutex::default(),
        })
    }

    /// The capabilities that a session's functions make.
    pub(super) fn capabilities(
        self: &Arc<Self>,
        described: Vec<Described>,
        session: &SessionName,
    ) -> Result<Vec<Capability>, Problem> {
        let mut capabilities: BTreeMap<String, Capability> = BTreeMap::new();
        for function in described {
            let schema = function
                .input_schema
                .as_ref()
                .map_or("{}", |schema| schema.get());
            let signature = Signature::from_schema(schema).map_err(|error| {
                Problem::invalid_params(format!(
                    "`functions`: `inputSchema` of `{}.{}`: {error}",
                    function.namespace, function.name
                ))
            })?;
            let (functions, session) = (self.clone(), session.clone());
            let (namespace, name) = (function.namespace.clone(), function.name.clone());
            let action = Action::asynchronous(&function.name, signature, move |call| {
                let called = Called {
                    session: session.get().cloned().unwrap_or_default(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                    arguments: call.json().clone(),
                };
                functions.clone().call(called)
            });
            let action = action.with_description(function.description);
            let action = match function.exclusive {
                true => action.exclusive(),
                false => action,
            };
            let capability = capabilities
                .remove(&function.namespace)
                .unwrap_or_else(|| Capability::new(&function.namespace));
            capabilities.insert(function.namespace, capability.with_action(action));
        }
        Ok(capabilities.into_values().collect())
    }

    /// Asks the client. One that is dropped is taken back.
    async fn call(self: Arc<Self>, called: Called) -> Result<Json, CapabilityError> {
        let id = format!("{CALL}{}", self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id.clone(), sender);
        let asked = Asked {
            functions: self.clone(),
            id: id.clone(),
        };
        self.mailbox.send(Outgoing::Call(id, called), None);
        let answer = answer.await;
        drop(asked);
        match answer {
            Ok(Answered::Value(value)) => Ok(value),
            Ok(Answered::Error { message, data }) => Err(failure(message, data)),
            Err(_) => Err(CapabilityError::tool("the client is gone")),
        }
    }

    /// The client has answered. Says whether anybody had asked; a call that was cancelled meanwhile may well be answered.
    pub(super) fn answered(&self, id: &str, answered: Answered) -> bool {
        let waiting = self.lock().remove(id);
        if let Some(waiting) = waiting {
            // A cell that has ended meanwhile waits for nothing.
            let _ = waiting.send(answered);
            return true;
        }
        let number = id.strip_prefix(CALL).and_then(|number| number.parse().ok());
        number.is_some_and(|number: u64| (1..=self.last.load(Ordering::Relaxed)).contains(&number))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Answered>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a `call` request says.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) session: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) arguments: Json,
}

/// A call that the client works on.
struct Asked {
    functions: Arc<Functions>,
    id: String,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let was_waiting = self.functions.lock().remove(&self.id).is_some();
        if was_waiting {
            let cancel = Outgoing::Cancel(std::mem::take(&mut self.id));
            self.functions.mailbox.send(cancel, None);
        }
    }
}

/// The client's error as cells see it: what `data` says of `kind` and `retryable` holds, the rest of it is theirs to read.
fn failure(message: String, data: Option<Json>) -> CapabilityError {
    #[derive(Default, Deserialize)]
    struct Facts {
        kind: Option<Value>,
        retryable: Option<Value>,
    }
    let facts: Facts = data
        .as_ref()
        .and_then(|data| data.parse().ok())
        .unwrap_or_default();
    let kind = facts
        .kind
        .and_then(|kind| serde_json::from_value(kind).ok())
        .unwrap_or(CapabilityErrorKind::Tool);
    let retryable = facts.retryable == Some(Value::Bool(true));
    let error = CapabilityError::new(kind, message).with_retryable(retryable);
    match data {
        Some(data) => error.with_data(data),
        None => error,
    }
}
