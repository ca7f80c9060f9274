//! [`Capability`]: host functions that cells can call, under one name; and what a host says about each call.
//!
//! A host describes what it offers ([`Capability`], [`Action`], [`Signature`]) and gives it to a session's builder; the session's
//! [`Calls`] run the actions. Engines know the descriptions and the [`Caller`](crate::engine::Caller) alone: what an action does
//! is decided here, on the host's side, whatever the placement.

mod action;
mod calls;
mod error;
mod names;
mod permission;
mod signature;
#[cfg(feature = "capabilities")]
pub mod standard;
mod stubs;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::action::{Action, Call};
pub(crate) use self::calls::Calls;
pub use self::error::{CapabilityError, CapabilityErrorKind};
pub use self::permission::{Decision, Permission, Requested};
pub(crate) use self::signature::Binding;
pub use self::signature::{InvalidSignature, Signature};
pub(crate) use self::stubs::stubs;
use crate::runtime::RuntimeError;

/// Host functions handed to cells under one name.
///
/// Cells reach an action as `host.fs.read` and, for short, as `fs.read`. In Python a call blocks the cell, and
/// `fs.read.aio(...)` is awaited; in JavaScript every call returns a promise. Cheap to clone.
///
/// # Examples
///
/// ```
/// use warmcell::{Action, Capability, Signature};
///
/// let signature = Signature::new().required("name", "string", "whom to greet");
/// let greet = Action::new("greet", signature, |call| {
///     let name: String = call.argument("name")?;
///     Ok(format!("good morning, {name}"))
/// });
/// let manners = Capability::new("manners")
///     .with_description("what is said to people")
///     .with_action(greet.with_description("Greets somebody."));
/// assert_eq!(manners.name(), "manners");
/// ```
#[derive(Clone)]
pub struct Capability {
    name: String,
    description: String,
    actions: Vec<Arc<Action>>,
}

impl Capability {
    /// A capability without actions. The name is checked when a session is opened with it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            actions: Vec::new(),
        }
    }

    /// The same capability, with what it is for: one line.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The same capability, with another action.
    pub fn with_action(mut self, action: Action) -> Self {
        self.actions.push(Arc::new(action));
        self
    }

    /// The name under which cells reach it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The action of a name.
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.find(name).map(Arc::as_ref)
    }

    fn find(&self, name: &str) -> Option<&Arc<Action>> {
        self.actions.iter().find(|action| action.name == name)
    }

    fn offered(&self) -> Offered {
        let offer = |action: &Arc<Action>| OfferedAction {
            name: action.name.clone(),
            description: action.description.clone(),
            signature: action.signature.clone(),
        };
        Offered {
            name: self.name.clone(),
            description: self.description.clone(),
            actions: self.actions.iter().map(offer).collect(),
        }
    }
}

impl std::fmt::Debug for Capability {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Capability")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What cells are told of a capability.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) actions: Vec<OfferedAction>,
}

/// What cells are told of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfferedAction {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) signature: Signature,
}

/// The signature of an action that is offered.
pub(crate) fn signature_of<'a>(
    offered: &'a [Offered],
    capability: &str,
    action: &str,
) -> Option<&'a Signature> {
    let capability = offered.iter().find(|known| known.name == capability)?;
    let action = capability
        .actions
        .iter()
        .find(|known| known.name == action)?;
    Some(&action.signature)
}

/// What cells are told of all that a session offers, sorted by name.
///
/// # Errors
///
/// When a name cannot be one, is taken, or is there twice.
pub(crate) fn offer(capabilities: &[Capability]) -> Result<Vec<Offered>, RuntimeError> {
    names::check(capabilities).map_err(RuntimeError::InvalidOption)?;
    let mut offered: Vec<Offered> = capabilities.iter().map(Capability::offered).collect();
    offered.sort_by(|one, other| one.name.cmp(&other.name));
    for capability in &mut offered {
        capability
            .actions
            .sort_by(|one, other| one.name.cmp(&other.name));
    }
    Ok(offered)
}
