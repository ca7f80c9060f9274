//! [`Execution`]: a cell that was given to a session, as its host holds it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::{Session, Stop, Ticket, block_on};
use crate::outcome::Outcome;

/// A cell on its way to its outcome: a future that needs no runtime.
///
/// # Cancel safety
///
/// Dropping it cancels the cell: one that waits never runs, one that runs is stopped.
#[must_use = "dropping an execution cancels its cell"]
#[derive(Debug)]
pub struct Execution(State);

#[derive(Debug)]
enum State {
    Waiting {
        session: Session,
        ticket: Arc<Ticket>,
        receiver: oneshot::Receiver<Outcome>,
    },
    Settled(Box<Outcome>),
    Taken,
}

impl Execution {
    pub(super) fn waiting(
        session: Session,
        ticket: Arc<Ticket>,
        receiver: oneshot::Receiver<Outcome>,
    ) -> Self {
        Self(State::Waiting {
            session,
            ticket,
            receiver,
        })
    }

    pub(super) fn settled(outcome: Outcome) -> Self {
        Self(State::Settled(Box::new(outcome)))
    }

    /// A handle that cancels this cell from anywhere.
    pub fn canceller(&self) -> Canceller {
        match &self.0 {
            State::Waiting {
                session, ticket, ..
            } => Canceller(Some((Arc::downgrade(&session.0), Arc::downgrade(ticket)))),
            State::Settled(_) | State::Taken => Canceller(None),
        }
    }

    /// Waits for the outcome on this thread, without any runtime.
    pub fn wait(self) -> Outcome {
        block_on(self)
    }
}

impl Future for Execution {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        match std::mem::replace(&mut self.0, State::Taken) {
            State::Waiting {
                session,
                ticket,
                mut receiver,
            } => match Pin::new(&mut receiver).poll(context) {
                Poll::Ready(Ok(outcome)) => Poll::Ready(outcome),
                Poll::Ready(Err(_)) => Poll::Ready(ticket.abandoned()),
                Poll::Pending => {
                    self.0 = State::Waiting {
                        session,
                        ticket,
                        receiver,
                    };
                    Poll::Pending
                }
            },
            State::Settled(outcome) => Poll::Ready(*outcome),
            // The contract of `Future`: nobody polls after the end. Staying pending is the harmless answer.
            State::Taken => Poll::Pending,
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if let State::Waiting {
            session, ticket, ..
        } = &self.0
        {
            session.stop(ticket, Stop::Cancelled);
        }
    }
}

/// Cancels one cell. It keeps neither the cell nor its session alive.
#[derive(Clone, Debug)]
pub struct Canceller(Option<(Weak<super::Inner>, Weak<Ticket>)>);

impl Canceller {
    /// Cancels the cell: one that waits never runs, one that runs settles as `cancelled`. After its end: nothing.
    pub fn cancel(&self) {
        if let Some((session, ticket)) = &self.0
            && let (Some(inner), Some(ticket)) = (session.upgrade(), ticket.upgrade())
        {
            Session(inner).stop(&ticket, Stop::Cancelled);
        }
    }
}

impl std::fmt::Debug for super::Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Inner").finish_non_exhaustive()
    }
}
