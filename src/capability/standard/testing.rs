//! What the tests of the ready-made capabilities share: a call without a session.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;

use crate::capability::action::Handler;
use crate::capability::{Binding, Call, Capability, CapabilityError};

impl Capability {
    /// Calls an action with named arguments, as a cell would.
    pub(super) fn call_blocking(
        &self,
        action: &str,
        arguments: &Value,
    ) -> Result<Value, CapabilityError> {
        let action = self.action(action).expect("the action");
        let given = Binding {
            positional: "[]",
            named: &arguments.to_string(),
            last_may_name: false,
        };
        let call = Call {
            arguments: Arc::new(action.signature.bind(&given).expect("arguments that fit")),
            cancelled: Arc::new(AtomicBool::new(false)),
        };
        let answer = match &action.handler {
            Handler::Blocking(handler) => handler(call),
            Handler::Async(handler) => runtime().block_on(handler(call)),
        };
        answer.map(|json| json.parse().expect("JSON"))
    }
}

/// A runtime such as host functions have.
pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
