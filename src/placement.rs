//! Where a session's engine runs. A placement knows no language: it gets a [`Launch`](crate::engine::Launch) and drives
//! what comes out of it through the seam in [`crate::engine`].

mod in_process;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::engine::{self, Opening, Variable};
use crate::outcome::Json;
use crate::runtime::{RuntimeError, SessionBuilder};
use crate::session::Ticket;

/// Where a session's engine runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Placement {
    /// On a thread of this process: the fastest, for code you trust. A crash of the engine is a crash of the host.
    #[default]
    InProcess,
}

/// An answer that comes later.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, RuntimeError>>;

/// A session's engine in its place. Every call returns at once; the answers come in the order of the calls.
pub(crate) trait Placed: Send + Sync {
    /// Runs the cell of `ticket` when its turn comes, and settles it.
    fn run(&self, ticket: Arc<Ticket>);

    /// The cell of `ticket` was running when a stop was asked for: see to it that it ends.
    fn stop(&self, ticket: &Arc<Ticket>);

    /// Makes the session a fresh one.
    fn reset(&self, reply: Reply<()>);

    /// Lists what the program bound.
    fn inspect(&self, reply: Reply<Vec<Variable>>);

    /// Puts a host's value into the session.
    fn bind(&self, name: String, value: Json, reply: Reply<()>);

    /// Ends the session after what was asked before.
    fn close(&self, reply: Option<Reply<()>>);
}

/// Puts a new session where its builder wants it.
pub(crate) async fn place(
    builder: &SessionBuilder,
    opening: Opening,
) -> Result<Box<dyn Placed>, RuntimeError> {
    match builder.placement {
        Placement::InProcess => {
            if builder.limits.cpu.is_some() {
                return Err(RuntimeError::InvalidOption(
                    "`cpuMs` needs a process of its own: an engine in this process shares its processor time\nhint: leave `cpuMs` out, or use `timeoutMs`"
                        .to_owned(),
                ));
            }
            let again = builder.clone();
            let relaunch = Box::new(move || engine::launch(&again));
            in_process::place(engine::launch(builder)?, relaunch, opening).await
        }
    }
}
