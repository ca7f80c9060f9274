//! [`Calls`]: the calls of a session's JavaScript to its host, and the answers that wait to be given.
//!
//! An answer comes on another thread, which leaves it in [`Answers::come`] and wakes the engine's thread; the lock is held to put one
//! there or to take all.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use super::Complaint;
use crate::capability::{Binding, CapabilityError, signature_of};
use crate::engine::javascript::realm::{ErrorClass, Realm};
use crate::engine::javascript::values::{self, Measure, Refusal};
use crate::engine::{CallRequest, Caller};
use crate::outcome::Json;

pub(in crate::engine::javascript) struct Calls {
    caller: Arc<dyn Caller>,
    answers: Arc<Answers>,
    value_bytes: usize,
    next: Cell<u64>,
    /// The calls without an answer.
    open: RefCell<BTreeMap<u64, OpenCall>>,
}

/// A call without an answer: which function it is of.
pub(in crate::engine::javascript) struct OpenCall {
    pub(in crate::engine::javascript) capability: String,
    pub(in crate::engine::javascript) action: String,
}

impl fmt::Display for OpenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.capability, self.action)
    }
}

struct Answers {
    come: Mutex<Vec<(u64, Answer)>>,
    thread: Thread,
}

type Answer = Result<Json, CapabilityError>;

impl Calls {
    /// Of the calling thread, which must be the engine's.
    pub(in crate::engine::javascript) fn new(caller: Arc<dyn Caller>, value_bytes: usize) -> Self {
        Self {
            caller,
            answers: Arc::new(Answers {
                come: Mutex::default(),
                thread: std::thread::current(),
            }),
            value_bytes,
            next: Cell::new(1),
            open: RefCell::default(),
        }
    }

    /// What is offered, as JSON: capabilities with the names of their actions.
    pub(in crate::engine::javascript) fn offered(&self) -> String {
        let offered = self.caller.offered().iter().map(|capability| {
            let actions: Vec<&str> = capability
                .actions
                .iter()
                .map(|action| &*action.name)
                .collect();
            serde_json::json!({ "name": capability.name, "actions": actions })
        });
        serde_json::Value::from_iter(offered).to_string()
    }

    /// Makes a call, if its arguments fit. Gives the promise of its answer.
    pub(super) fn start<R: Realm>(
        &self,
        realm: &mut R,
        capability: String,
        action: String,
        parameters: &R::Value,
    ) -> Result<R::Value, Complaint> {
        let number = self.next.get();
        self.next.set(number + 1);
        let promise = realm
            .promise_answer(number)
            .ok_or_else(|| (ErrorClass::Error, "out of memory".to_owned()))?;
        let call = OpenCall { capability, action };
        match self.arguments(realm, &call, parameters) {
            Ok(arguments) => self.send(number, call, arguments),
            Err(problem) => {
                let text = format!("{call}() {problem}");
                let error = realm.error(ErrorClass::TypeError, &text);
                // Rejecting runs nothing that could end.
                let _ = realm.settle_answer(number, Err(error));
            }
        }
        Ok(promise)
    }

    /// The arguments of a call, bound by the signature.
    fn arguments<R: Realm>(
        &self,
        realm: &mut R,
        call: &OpenCall,
        parameters: &R::Value,
    ) -> Result<Json, String> {
        let signature = signature_of(self.caller.offered(), &call.capability, &call.action)
            .ok_or("is not offered")?;
        let positional =
            values::to_json(realm, parameters, Measure::of(self.value_bytes), &|| false)
                .map_err(unsendable)?;
        signature.bind(&Binding {
            positional: &positional,
            named: "{}",
            last_may_name: true,
        })
    }

    fn send(&self, number: u64, call: OpenCall, arguments: Json) {
        let request = CallRequest {
            capability: call.capability.clone(),
            action: call.action.clone(),
            arguments,
        };
        self.open.borrow_mut().insert(number, call);
        let answers = self.answers.clone();
        self.caller.clone().call(
            request,
            Box::new(move |answer| {
                let mut come = answers.come.lock().unwrap_or_else(PoisonError::into_inner);
                come.push((number, answer));
                drop(come);
                answers.thread.unpark();
            }),
        );
    }

    /// The answers that have come: the number of each call, the call, and what was answered.
    pub(in crate::engine::javascript) fn take(&self) -> Vec<(u64, OpenCall, Answer)> {
        let come = {
            let mut come = self
                .answers
                .come
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *come)
        };
        let mut open = self.open.borrow_mut();
        come.into_iter()
            .filter_map(|(number, answer)| Some((number, open.remove(&number)?, answer)))
            .collect()
    }

    /// Whether an answer may come yet.
    pub(in crate::engine::javascript) fn is_waiting(&self) -> bool {
        !self.open.borrow().is_empty()
    }

    /// The function that has been waited for longest.
    pub(in crate::engine::javascript) fn oldest(&self) -> Option<String> {
        self.open.borrow().values().next().map(OpenCall::to_string)
    }

    /// The cell has ended, and with it its calls; each has its answer afterwards.
    pub(in crate::engine::javascript) fn end(&self) {
        if self.is_waiting() {
            self.caller.cancel_all();
        }
    }
}

fn unsendable(refusal: Refusal) -> String {
    match refusal {
        Refusal::NotJson { path, what, .. } => {
            format!("cannot send its arguments: `{path}` is {what}, which JSON cannot hold")
        }
        Refusal::TooLong(budget) => {
            format!("cannot send its arguments: they are longer than {budget} bytes of JSON")
        }
        Refusal::Stopped => "was stopped".to_owned(),
    }
}
