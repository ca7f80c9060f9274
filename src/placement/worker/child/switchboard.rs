//! [`Switchboard`]: the calls of a worker's cells to the host, as frames out and answers in.
//!
//! A call is made while its cell runs, and its frame goes out before the cell's end does: both hold the outlet, under which
//! [`Switchboard::state`] is locked for a look. An answer takes that lock alone, so that the thread which reads answers never
//! waits for one that sends: the host may be sending an answer while it is sent to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::messages::Report;
use super::outlet::Outlet;
use crate::capability::{CapabilityError, Offered};
use crate::engine::{CallReply, CallRequest, Caller};
use crate::outcome::Json;

pub(super) struct Switchboard {
    offered: Vec<Offered>,
    outlet: Arc<Outlet>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// A cell runs that may call.
    is_open: bool,
    last: u64,
    waiting: HashMap<u64, CallReply>,
}

impl Switchboard {
    pub(super) fn new(offered: Vec<Offered>, outlet: Arc<Outlet>) -> Self {
        Self {
            offered,
            outlet,
            state: Mutex::default(),
        }
    }

    /// A cell begins, and may call.
    pub(super) fn begin(&self) {
        self.lock().is_open = true;
    }

    /// It has ended: nothing is called in its name any more when this returns.
    pub(super) fn end(&self) {
        let alone = self.outlet.alone();
        self.lock().is_open = false;
        drop(alone);
        self.cancel_all();
    }

    /// The host answers.
    pub(super) fn answer(&self, call: u64, answer: Result<Json, CapabilityError>) {
        let reply = self.lock().waiting.remove(&call);
        if let Some(reply) = reply {
            reply(answer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for Switchboard {
    fn offered(&self) -> &[Offered] {
        &self.offered
    }

    fn call(self: Arc<Self>, request: CallRequest, reply: CallReply) {
        let alone = self.outlet.alone();
        let call = {
            let mut state = self.lock();
            if !state.is_open {
                drop(state);
                drop(alone);
                return reply(Err(CapabilityError::cancelled()));
            }
            state.last += 1;
            let call = state.last;
            state.waiting.insert(call, reply);
            call
        };
        let report = Report::Call {
            call,
            capability: request.capability,
            action: request.action,
        };
        // A host that cannot be reached has this process killed, or is gone.
        let _ = alone.send(&report, request.arguments.as_str().as_bytes());
    }

    fn cancel_all(&self) {
        let waiting: Vec<CallReply> = self
            .lock()
            .waiting
            .drain()
            .map(|(_, reply)| reply)
            .collect();
        for reply in waiting {
            reply(Err(CapabilityError::cancelled()));
        }
    }
}
