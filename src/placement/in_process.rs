//! The in-process placement: engines on threads of this process.
//!
//! A [`Lane`](lane::Lane) is a thread and its mailbox. A language that can live only once in a process (CPython) has one
//! lane that all its sessions share; any other gets a lane for each session, and another one when a cell of the session
//! hangs on it for good. One watchdog thread tends all lanes.
//!
//! Threads and locks: a lane's thread owns its engines; hosts reach them by the mailbox alone. [`SHARED`] is locked to look
//! up or start a lane, never while waiting for one, and so is a seat's lane. See the heads of [`lane`] and [`watchdog`] for the rest.

mod lane;
mod watchdog;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use self::lane::{Job, Lane, SessionId};
use super::{Placed, Reply};
use crate::engine::{Launch, Opening, Variable};
use crate::outcome::Json;
use crate::runtime::RuntimeError;
use crate::session::Ticket;

/// The lanes of languages that live once in a process, by engine.
static SHARED: Mutex<Option<HashMap<&'static str, Arc<Lane>>>> = Mutex::new(None);

/// How to bring the same language to life once more, on another lane.
pub(super) type Relaunch = Box<dyn Fn() -> Result<Launch, RuntimeError> + Send + Sync>;

/// Opens a session on its lane, starting the lane where there is none.
pub(super) async fn place(
    launch: Launch,
    relaunch: Relaunch,
    opening: Opening,
) -> Result<Seat, RuntimeError> {
    let relaunch = (!launch.once_per_process).then_some(relaunch);
    let lane = if launch.once_per_process {
        shared_lane(launch)?
    } else {
        Arc::new(Lane::start(launch)?)
    };
    let session = SessionId::new();
    let (reply, opened) = oneshot::channel();
    lane.send(Job::open(session, &opening, Some(reply)));
    let seat = Seat {
        lane: Mutex::new(lane),
        session,
        opening,
        relaunch,
    };
    match opened.await {
        Ok(result) => result.map(|()| seat),
        Err(_) => Err(RuntimeError::Unavailable(
            "the engine's thread is gone".to_owned(),
        )),
    }
}

fn shared_lane(launch: Launch) -> Result<Arc<Lane>, RuntimeError> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let lanes = shared.get_or_insert_with(HashMap::new);
    if let Some(lane) = lanes.get(launch.engine)
        && !lane.failed_to_start()
    {
        return Ok(lane.clone());
    }
    let engine = launch.engine;
    let lane = Arc::new(Lane::start(launch)?);
    lanes.insert(engine, lane.clone());
    Ok(lane)
}

/// Whether the lane that all sessions of an engine share hangs for good.
pub(super) fn is_stuck(engine: &str) -> bool {
    let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let lane = shared.as_ref().and_then(|lanes| lanes.get(engine));
    lane.is_some_and(|lane| lane.is_stuck())
}

/// One session on a lane.
pub(super) struct Seat {
    lane: Mutex<Arc<Lane>>,
    session: SessionId,
    opening: Opening,
    /// There when the lane is the session's own.
    relaunch: Option<Relaunch>,
}

impl Seat {
    /// The session's lane. One of its own that a cell hangs on is left to that cell, and the session starts afresh on
    /// another one.
    fn lane(&self) -> Arc<Lane> {
        let mut lane = self.lock();
        if lane.is_stuck()
            && let Some(relaunch) = &self.relaunch
            && let Ok(fresh) = relaunch().and_then(Lane::start)
        {
            // Should it not open, the lane says so to whoever asks it for anything.
            fresh.send(Job::open(self.session, &self.opening, None));
            *lane = Arc::new(fresh);
        }
        lane.clone()
    }

    /// Whether it is on a lane for all sessions that hangs for good: no other lane can take its place.
    pub(super) fn is_stuck(&self) -> bool {
        self.relaunch.is_none() && self.lock().is_stuck()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Lane>> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Placed for Seat {
    fn run(&self, ticket: Arc<Ticket>) {
        self.lane().send(Job::Run {
            session: self.session,
            ticket,
        });
    }

    fn stop(&self, ticket: &Arc<Ticket>) {
        self.lock().stop(ticket);
    }

    fn reset(&self, reply: Reply<()>) {
        self.lane().send(Job::Reset {
            session: self.session,
            reply,
        });
    }

    fn inspect(&self, reply: Reply<Vec<Variable>>) {
        self.lane().send(Job::Inspect {
            session: self.session,
            reply,
        });
    }

    fn members(&self, path: Vec<String>, reply: Reply<Vec<String>>) {
        self.lane().send(Job::Members {
            session: self.session,
            path,
            reply,
        });
    }

    fn bind(&self, name: String, value: Json, reply: Reply<()>) {
        self.lane().send(Job::Bind {
            session: self.session,
            name,
            value,
            reply,
        });
    }

    fn undo(&self, reply: Reply<u64>) {
        let _ = reply.send(Err(RuntimeError::Refused(
            "a session in this process cannot be undone\nhint: open it in a worker, with `backup` set to `undo`"
                .to_owned(),
        )));
    }

    fn close(&self, reply: Option<Reply<()>>) {
        self.lane().send(Job::Close {
            session: self.session,
            reply,
        });
    }
}
