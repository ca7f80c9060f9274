//! Host functions that cells call: the same meaning in every language, on every engine, in every placement.

mod javascript;
mod python;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use warmcell::{
    Action, Capability, CapabilityError, Decision, Json, Language, Outcome, Permission, Placement,
    Requested, RuntimeError, Session, SessionBuilder, Signature,
};

use crate::support::settle;

/// A host's functions, and what they saw.
#[derive(Clone, Default)]
struct Tools {
    calls: Arc<Mutex<Vec<String>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Tools {
    fn capability(&self) -> Capability {
        let any = || Signature::new().required("value", "", "what comes back");
        let calls = self.calls.clone();
        let echo = Action::new("echo", any(), move |call| {
            calls.lock().unwrap().push(call.json().to_string());
            call.argument::<Json>("value")
        });
        let add = Action::new(
            "add",
            Signature::new()
                .required("one", "integer", "")
                .optional("other", "integer", ""),
            |call| {
                let other: Option<i64> = call.argument("other")?;
                Ok(call.argument::<i64>("one")? + other.unwrap_or(100))
            },
        );
        let fail = Action::new("fail", Signature::new(), |_| -> Result<(), _> {
            Err(CapabilityError::tool("the disk is full")
                .with_retryable(true)
                .with_data(Json::of(&json!({ "free": 0 })).unwrap()))
        });
        let explode = Action::new("explode", Signature::new(), |_| -> Result<(), _> {
            panic!("what a mess")
        });
        let (running, most) = (self.running.clone(), self.most.clone());
        let wait = Action::asynchronous(
            "wait",
            Signature::new().required("milliseconds", "integer", ""),
            move |call| {
                let (running, most) = (running.clone(), most.clone());
                async move {
                    let milliseconds: u64 = call.argument("milliseconds")?;
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok(milliseconds)
                }
            },
        );
        let dropped = self.dropped.clone();
        let never = Action::asynchronous("never", Signature::new(), move |_| {
            let guard = OnDrop(dropped.clone());
            async move {
                std::future::pending::<()>().await;
                drop(guard);
                Ok(())
            }
        });
        let stuck = Action::new("stuck", Signature::new(), |call| {
            while !call.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        let odd = Action::new("my-tool", Signature::new(), |_| Ok("odd"));
        let proto = Action::new("__proto__", Signature::new(), |_| Ok("proto"));
        let long = Action::new(
            "long",
            Signature::new().required("bytes", "integer", ""),
            |call| Ok("x".repeat(call.argument("bytes")?)),
        );
        let deep = Action::new(
            "deep",
            Signature::new().required("levels", "integer", ""),
            |call| {
                let levels: usize = call.argument("levels")?;
                let text = "[".repeat(levels) + &"]".repeat(levels);
                Json::new(text).map_err(|error| CapabilityError::tool(error.to_string()))
            },
        );
        Capability::new("tools")
            .with_description("what a host may offer")
            .with_action(echo.with_description("Gives back what it gets."))
            .with_action(add)
            .with_action(fail)
            .with_action(explode)
            .with_action(wait)
            .with_action(never)
            .with_action(stuck)
            .with_action(odd)
            .with_action(proto)
            .with_action(long)
            .with_action(deep)
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn placed(language: Language, placement: Placement) -> SessionBuilder {
    Session::builder(language)
        .placement(placement)
        .worker_executable(env!("CARGO_BIN_EXE_warmcell"))
}

/// A session that is closed at the end of its test.
struct Open(Session);

impl std::ops::Deref for Open {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        settle(self.0.close());
    }
}

fn open(builder: SessionBuilder) -> Open {
    Open(settle(builder.open()).expect("the session opens"))
}

#[track_caller]
fn value(outcome: &Outcome) -> &str {
    match &outcome.value {
        Some(value) => value.as_str(),
        None => panic!("no value: {outcome:?}"),
    }
}

/// Denies what it is told to.
struct Denies(&'static str);

#[async_trait]
impl Permission for Denies {
    async fn decide(&self, requested: &Requested) -> Decision {
        match requested.action == self.0 {
            true => Decision::Deny(format!("`{}` is not allowed here", requested.action)),
            false => Decision::Allow,
        }
    }
}

#[test]
fn names_that_hide_something_are_refused_when_the_session_is_opened() {
    for (name, part) in [
        ("print", "would hide what cells have under that name"),
        ("class", "a word of a language"),
        ("a-b", "no name in every language"),
    ] {
        let builder = Session::builder(Language::Python).capability(Capability::new(name));
        let refused = settle(builder.open()).unwrap_err();
        assert!(matches!(refused, RuntimeError::InvalidOption(_)));
        assert!(refused.to_string().contains(part), "{refused}");
    }
}

const PLACEMENTS: [Placement; 2] = [Placement::InProcess, Placement::Worker];
