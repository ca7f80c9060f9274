//! [`Action`]: one host function, and the [`Call`] it gets.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::error::CapabilityError;
use super::signature::Signature;
use crate::outcome::Json;

/// What a call came to.
pub(crate) type Answer = Result<Json, CapabilityError>;

/// What an async function is doing.
pub(crate) type Awaited = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// One host function of a capability.
pub struct Action {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) signature: Signature,
    pub(crate) is_exclusive: bool,
    pub(crate) handler: Handler,
}

pub(crate) enum Handler {
    Blocking(Arc<dyn Fn(Call) -> Answer + Send + Sync>),
    Async(Arc<dyn Fn(Call) -> Awaited + Send + Sync>),
}

impl Action {
    /// A function that may block: it runs on a thread of its own, several at once.
    ///
    /// One that is still running when its cell ends cannot be stopped: what it returns then is dropped. It may look at
    /// [`Call::is_cancelled`].
    pub fn new<T, F>(name: impl Into<String>, signature: Signature, handler: F) -> Self
    where
        T: Serialize,
        F: Fn(Call) -> Result<T, CapabilityError> + Send + Sync + 'static,
    {
        let handler = move |call: Call| {
            let result = catch_unwind(AssertUnwindSafe(|| handler(call)));
            result
                .unwrap_or_else(|panic| Err(panicked(&*panic)))
                .and_then(|value| text(&value))
        };
        Self::with_handler(name, signature, Handler::Blocking(Arc::new(handler)))
    }

    /// A function that is awaited, on a tokio runtime that the crate keeps for this; it is dropped when its cell ends.
    pub fn asynchronous<T, F, R>(name: impl Into<String>, signature: Signature, handler: F) -> Self
    where
        T: Serialize,
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, CapabilityError>> + Send + 'static,
    {
        let handler = move |call: Call| -> Awaited {
            let result = handler(call);
            Box::pin(async move { result.await.and_then(|value| text(&value)) })
        };
        Self::with_handler(name, signature, Handler::Async(Arc::new(handler)))
    }

    fn with_handler(name: impl Into<String>, signature: Signature, handler: Handler) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            signature,
            is_exclusive: false,
            handler,
        }
    }

    /// The same action, with what it does: one line.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The same action, of which a session runs nothing else beside it. Default: calls run in parallel.
    pub fn exclusive(mut self) -> Self {
        self.is_exclusive = true;
        self
    }

    /// The name under which cells reach it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Debug for Action {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Action")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn text(value: &impl Serialize) -> Answer {
    Json::of(value)
        .map_err(|error| CapabilityError::tool(format!("the result is not lossless JSON: {error}")))
}

pub(super) fn panicked(panic: &(dyn Any + Send)) -> CapabilityError {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    CapabilityError::tool(match said {
        Some(said) => format!("the host function panicked: {said}"),
        None => "the host function panicked".to_owned(),
    })
}

/// One call of an action.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) arguments: Arc<Json>,
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Call {
    /// The arguments as one JSON object, with the names of the signature.
    pub fn json(&self) -> &Json {
        &self.arguments
    }

    /// All arguments, as a type of the host's.
    ///
    /// # Errors
    ///
    /// When they do not have its shape.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, CapabilityError> {
        self.arguments
            .parse()
            .map_err(|error| CapabilityError::tool(format!("the arguments do not fit: {error}")))
    }

    /// The argument of a name; one that was not given reads as `null` does, which is `None` for an `Option`.
    ///
    /// # Errors
    ///
    /// When it does not have the shape of `T`.
    pub fn argument<T: DeserializeOwned>(&self, name: &str) -> Result<T, CapabilityError> {
        let arguments: std::collections::HashMap<&str, &RawValue> =
            serde_json::from_str(self.arguments.as_str()).map_err(|error| {
                CapabilityError::tool(format!("the arguments cannot be read: {error}"))
            })?;
        let given = arguments.get(name).map_or("null", |given| given.get());
        serde_json::from_str(given).map_err(|error| {
            CapabilityError::tool(format!("the argument `{name}` does not fit: {error}"))
        })
    }

    /// Whether the cell has ended or was stopped, so that nobody waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
