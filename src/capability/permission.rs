//! [`Permission`]: the host's say on each call before it runs.

use async_trait::async_trait;

use crate::outcome::Json;

/// Asked before each call runs; the call waits for the answer, and the cell's deadline goes on.
#[async_trait]
pub trait Permission: Send + Sync {
    /// Whether the call may run. A host that asks a person answers when that one has.
    async fn decide(&self, requested: &Requested) -> Decision;
}

/// A call that wants to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Requested {
    /// The capability's name.
    pub capability: String,
    /// The action's name.
    pub action: String,
    /// The arguments, by the names of the signature.
    pub arguments: Json,
}

/// What a host decides about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow,
    /// It does not, and the cell is told why.
    Deny(String),
}

impl std::fmt::Debug for dyn Permission {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Permission")
    }
}
