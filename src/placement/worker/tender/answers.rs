//! [`Answers`]: what host functions have answered to a worker's cell, on its way to the worker.
//!
//! Answers come on the threads of host functions, which put them here and ring the tender's bell. They bear the epoch of
//! their cell, so that one which comes late is dropped: a restored worker counts its calls from where its backup was made. The
//! lock is held to put one there or to take all.

use std::sync::{Arc, Mutex, PoisonError};

use crate::capability::{Binding, CapabilityError, signature_of};
use crate::engine::{CallRequest, Caller};
use crate::outcome::Json;
use crate::placement::worker::sockets::Bell;

/// An answer to a call of a number.
pub(super) type Answer = (u64, Result<Json, CapabilityError>);

#[derive(Default)]
pub(super) struct Answers(Mutex<Vec<(u64, Answer)>>);

impl Answers {
    /// Those to the cell of an epoch; those to others are dropped.
    pub(super) fn take(&self, epoch: u64) -> Vec<Answer> {
        let come = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        come.into_iter()
            .filter(|(of, _)| *of == epoch)
            .map(|(_, answer)| answer)
            .collect()
    }

    fn put(&self, epoch: u64, answer: Answer) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((epoch, answer));
    }
}

/// A worker's cell calls. What it sends is taken for what a hostile program may have written: it is bound by the signature once
/// more.
pub(super) fn call(
    caller: &Arc<dyn Caller>,
    answers: &Arc<Answers>,
    bell: &Arc<Bell>,
    epoch: u64,
    (call, capability, action): (u64, String, String),
    arguments: Vec<u8>,
) {
    let refuse = |text: String| {
        answers.put(epoch, (call, Err(CapabilityError::tool(text).bounded())));
        bell.ring();
    };
    let Some(signature) = signature_of(caller.offered(), &capability, &action) else {
        return refuse(format!("there is no action `{capability}.{action}`"));
    };
    let arguments = String::from_utf8(arguments)
        .map_err(|error| error.to_string())
        .and_then(|text| {
            signature.bind(&Binding {
                positional: "[]",
                named: &text,
                last_may_name: false,
            })
        });
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(problem) => return refuse(format!("{capability}.{action}() {problem}")),
    };
    let request = CallRequest {
        capability,
        action,
        arguments,
    };
    let (answers, bell) = (answers.clone(), bell.clone());
    caller.clone().call(
        request,
        Box::new(move |answer| {
            answers.put(epoch, (call, answer));
            bell.ring();
        }),
    );
}
