//! [`Calls`]: the host's side of a session's calls: it looks the action up, asks for permission, runs it, and gives the answer.
//!
//! Async actions and permissions run on a tokio runtime of the crate's own, with two threads: a host's own runtime may be busy
//! waiting for the very cell that calls. Functions that may block run on its threads for those, so that one that never
//! returns holds up nobody else. [`Calls::running`] is locked for a look or a change, never while anything runs or is
//! answered; an answer is given without any lock.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Notify, RwLock, Semaphore};

use super::action::{Action, Answer, Call, Handler, panicked};
use super::error::CapabilityError;
use super::permission::{Decision, Permission, Requested};
use super::{Capability, Offered};
use crate::engine::{CallReply, CallRequest, Caller};

/// How many calls of a session run at once.
pub(crate) const PARALLEL: usize = 16;

/// How many calls of a session may be without an answer.
const OPEN: usize = 10_000;

/// How many blocking functions run at once, of all sessions together.
const BLOCKING: usize = 256;

/// What a session's cells may call, and the calls that run.
pub(crate) struct Calls {
    capabilities: Vec<Capability>,
    offered: Vec<Offered>,
    permission: Option<Arc<dyn Permission>>,
    /// How large an answer may be.
    value_bytes: usize,
    slots: Arc<Semaphore>,
    /// Held whole by an exclusive action, shared by the others.
    gate: Arc<RwLock<()>>,
    running: Mutex<HashMap<u64, Arc<Running>>>,
}

/// One call, from both ends.
struct Running {
    cancelled: Arc<AtomicBool>,
    notice: Notify,
    reply: Mutex<Option<CallReply>>,
}

impl Running {
    /// Gives the answer, if nobody has yet.
    fn answer(&self, answer: Answer) {
        let reply = self
            .reply
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(reply) = reply {
            reply(answer.map_err(CapabilityError::bounded));
        }
    }
}

impl Calls {
    pub(crate) fn new(
        capabilities: Vec<Capability>,
        offered: Vec<Offered>,
        permission: Option<Arc<dyn Permission>>,
        value_bytes: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            value_bytes,
            capabilities,
            offered,
            permission,
            slots: Arc::new(Semaphore::new(PARALLEL)),
            gate: Arc::default(),
            running: Mutex::default(),
        })
    }

    fn find(&self, request: &CallRequest) -> Option<Arc<Action>> {
        let capability = self
            .capabilities
            .iter()
            .find(|capability| capability.name() == request.capability)?;
        capability.find(&request.action).cloned()
    }

    /// The course of one call, to its answer.
    async fn run(
        permission: Option<Arc<dyn Permission>>,
        gate: Arc<RwLock<()>>,
        slots: Arc<Semaphore>,
        action: Arc<Action>,
        request: CallRequest,
        running: Arc<Running>,
    ) -> Answer {
        if let Some(permission) = permission {
            let requested = Requested {
                capability: request.capability,
                action: request.action,
                arguments: request.arguments.clone(),
            };
            if let Decision::Deny(reason) = permission.decide(&requested).await {
                return Err(CapabilityError::permission(reason));
            }
        }
        let (shared, alone);
        if action.is_exclusive {
            alone = gate.write_owned().await;
            let _ = &alone;
        } else {
            shared = gate.read_owned().await;
            let _ = &shared;
        }
        let slot = slots.acquire_owned().await;
        let call = Call {
            arguments: Arc::new(request.arguments),
            cancelled: running.cancelled.clone(),
        };
        match &action.handler {
            Handler::Async(handler) => {
                let answer = handler(call).await;
                drop(slot);
                answer
            }
            Handler::Blocking(handler) => {
                let handler = handler.clone();
                let blocking = tokio::task::spawn_blocking(move || handler(call));
                let answer = blocking.await;
                drop(slot);
                answer.unwrap_or_else(|error| {
                    Err(CapabilityError::tool(format!(
                        "the host function ended: {error}"
                    )))
                })
            }
        }
    }

    /// Values are held to a budget, wherever they come from.
    fn within_limit(&self, answer: Answer) -> Answer {
        let (bytes, most) = (
            answer.as_ref().map_or(0, |value| value.as_str().len()),
            self.value_bytes,
        );
        if bytes > most {
            return Err(CapabilityError::tool(format!(
                "the result has {bytes} bytes, over the budget of {most}"
            )));
        }
        answer
    }

    fn forget(&self, id: u64) -> Option<Arc<Running>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&id)
    }
}

impl Caller for Calls {
    fn offered(&self) -> &[Offered] {
        &self.offered
    }

    fn call(self: Arc<Self>, request: CallRequest, reply: CallReply) {
        let Some(action) = self.find(&request) else {
            return reply(Err(CapabilityError::tool(format!(
                "there is no action `{}.{}`",
                request.capability, request.action
            ))));
        };
        let Some(runtime) = runtime() else {
            return reply(Err(CapabilityError::tool(
                "no threads can be started for host functions",
            )));
        };
        let running = Arc::new(Running {
            cancelled: Arc::default(),
            notice: Notify::new(),
            reply: Mutex::new(Some(reply)),
        });
        let id = next_call();
        let is_full = {
            let mut open = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let is_full = open.len() >= OPEN;
            if !is_full {
                open.insert(id, running.clone());
            }
            is_full
        };
        if is_full {
            return running.answer(Err(CapabilityError::tool(format!(
                "{OPEN} calls are without an answer, and no more may be\nhint: await some of them first"
            ))
            .with_retryable(true)));
        }
        // Nothing to wait for before it: one thread less on the way.
        if self.permission.is_none()
            && !action.is_exclusive
            && let Handler::Blocking(handler) = &action.handler
            && let Ok(shared) = self.gate.clone().try_read_owned()
            && let Ok(slot) = self.slots.clone().try_acquire_owned()
        {
            let handler = handler.clone();
            runtime.spawn_blocking(move || {
                let answer = handler(Call {
                    arguments: Arc::new(request.arguments),
                    cancelled: running.cancelled.clone(),
                });
                drop((shared, slot));
                self.forget(id);
                running.answer(self.within_limit(answer));
            });
            return;
        }
        let course = Self::run(
            self.permission.clone(),
            self.gate.clone(),
            self.slots.clone(),
            action,
            request,
            running.clone(),
        );
        runtime.spawn(async move {
            let answer = tokio::select! {
                biased;
                () = running.notice.notified() => Err(CapabilityError::cancelled()),
                answer = caught(course) => answer,
            };
            self.forget(id);
            running.answer(self.within_limit(answer));
        });
    }

    fn cancel_all(&self) {
        let running: Vec<_> = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.drain().map(|(_, call)| call).collect()
        };
        for call in running {
            call.cancelled.store(true, Ordering::Relaxed);
            call.notice.notify_one();
            call.answer(Err(CapabilityError::cancelled()));
        }
    }
}

/// The course of a call, whose panic is a failure of the call's.
async fn caught(course: impl Future<Output = Answer>) -> Answer {
    let mut course = Box::pin(course);
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| course.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    })
    .await
}

fn next_call() -> u64 {
    use std::sync::atomic::AtomicU64;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The runtime of host functions; none where its threads cannot be started.
fn runtime() -> Option<Handle> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING)
            .thread_name("warmcell-host")
            .enable_all()
            .build()
            .ok()
    });
    runtime.as_ref().map(|runtime| runtime.handle().clone())
}
