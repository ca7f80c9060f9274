//! [`Calls`]: the calls of a session's JavaScript to its host, and the answers that wait to be given.
//!
//! An answer comes on another thread, which leaves it in [`Answers::come`] and wakes the engine's thread; the lock is held to put one
//! there or to take all.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
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
    /// The calls without an answer: which function each is of.
    open: RefCell<BTreeMap<u64, String>>,
}

struct Answers {
    come: Mutex<Vec<Answer>>,
    thread: Thread,
}

/// An answer: the number of its call, and what was answered.
type Answer = (u64, Result<Json, CapabilityError>);

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

    /// Makes a call, if its arguments fit. Gives its number.
    pub(super) fn start<R: Realm>(
        &self,
        realm: &mut R,
        capability: String,
        action: String,
        parameters: &R::Value,
    ) -> Result<u64, Complaint> {
        let function = format!("{capability}.{action}");
        let refused = |problem: &str| (ErrorClass::TypeError, format!("{function}() {problem}"));
        let signature = signature_of(self.caller.offered(), &capability, &action)
            .ok_or_else(|| refused("is not offered"))?;
        let positional =
            values::to_json(realm, parameters, Measure::of(self.value_bytes), &|| false)
                .map_err(|refusal| refused(&unsendable(refusal)))?;
        let binding = Binding {
            positional: &positional,
            named: "{}",
            last_may_name: true,
        };
        let arguments = signature
            .bind(&binding)
            .map_err(|problem| refused(&problem))?;
        let number = self.next.get();
        self.next.set(number + 1);
        self.open.borrow_mut().insert(number, function.clone());
        let answers = self.answers.clone();
        let request = CallRequest {
            capability,
            action,
            arguments,
        };
        self.caller.clone().call(
            request,
            Box::new(move |answer| {
                let mut come = answers.come.lock().unwrap_or_else(PoisonError::into_inner);
                come.push((number, answer));
                drop(come);
                answers.thread.unpark();
            }),
        );
        Ok(number)
    }

    /// The answers that have come.
    pub(in crate::engine::javascript) fn take(&self) -> Vec<Answer> {
        let come = {
            let mut come = self
                .answers
                .come
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *come)
        };
        let mut open = self.open.borrow_mut();
        for (number, _) in &come {
            open.remove(number);
        }
        come
    }

    /// Whether an answer may come yet.
    pub(in crate::engine::javascript) fn is_waiting(&self) -> bool {
        !self.open.borrow().is_empty()
    }

    /// The function that has been waited for longest.
    pub(in crate::engine::javascript) fn oldest(&self) -> Option<String> {
        self.open.borrow().values().next().cloned()
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
