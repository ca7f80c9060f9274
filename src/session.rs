//! [`Session`]: what a host holds. It counts cells, makes a [`Ticket`] for each, and queues it in front of one engine.

mod completions;
mod execution;
mod ticket;

use std::collections::BTreeSet;
use std::future::Future;
use std::path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use async_trait::async_trait;
use tokio::sync::oneshot;

use crate::artifacts::{Artifact, ArtifactPart, Artifacts};
use crate::capability::{self, Calls};
use crate::cell::Cell;
use crate::cell::source;
use crate::engine::{Caller, Opening, Variable};
use crate::limits::check_timeout;
use crate::outcome::{Failure, FailureKind, Json, Outcome, SessionState};
use crate::output::Transcript;
use crate::placement::worker::Sandbox;
use crate::placement::{self, Placed};
use crate::runtime::{CodeRuntime, Language, RuntimeError, SessionBuilder};

pub use completions::Completions;
pub use execution::{Canceller, Execution};
pub(crate) use ticket::{Stop, Ticket};

/// A namespace that lives across cells, and the queue in front of it.
///
/// Cheap to clone; all clones are the same session. Cells run one at a time, in the order in which they were given.
/// Dropping the last handle ends the session without waiting.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "python")] {
/// use warmcell::{Language, Session};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), warmcell::RuntimeError> {
/// let session = Session::builder(Language::Python).open().await?;
/// session.run("rows = [3, 1, 2]".into())?.await;
/// let outcome = session.run("return sorted(rows)".into())?.await;
/// assert_eq!(outcome.value.unwrap().as_str(), "[1,2,3]");
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct Session(Arc<Inner>);

pub(crate) struct Inner {
    language: Language,
    builder: SessionBuilder,
    transcript: Arc<Transcript>,
    placed: Box<dyn Placed>,
    closed: AtomicBool,
    /// The cells that wait or run, so that closing and interrupting can reach them. Locked for a push or a look, never
    /// while another lock is taken.
    tickets: Mutex<Vec<Weak<Ticket>>>,
    count: Arc<std::sync::atomic::AtomicU64>,
}

impl Session {
    /// Starts describing a session.
    pub fn builder(language: Language) -> SessionBuilder {
        SessionBuilder::new(language)
    }

    pub(crate) async fn open(mut builder: SessionBuilder) -> Result<Self, RuntimeError> {
        builder.limits.check()?;
        check_options(&builder)?;
        if builder.cwd.is_none() {
            // Where the host is may be out of the session's reach.
            builder.cwd.clone_from(&builder.workspace);
        }
        let count = Arc::default();
        let artifacts = match &builder.artifacts {
            Some(folder) => Some(Artifacts::open(
                folder,
                builder.limits.artifact_bytes,
                Arc::clone(&count),
            )?),
            None => None,
        };
        let transcript = Arc::new(Transcript::with_artifacts(&builder.limits, artifacts));
        let opening = Opening {
            limits: builder.limits.clone(),
            integers: builder.integers,
            code_cache: builder.code_cache,
            python: builder.python.clone(),
            cwd: builder.cwd.clone(),
            imports_from: builder
                .imports_from
                .as_ref()
                .and_then(|folder| path::absolute(folder).ok()),
            env: builder.env.clone(),
            withheld: BTreeSet::new(),
            owns_process: false,
            caller: capabilities(&builder)?,
            sink: transcript.clone(),
        };
        let placed = placement::place(&builder, opening, transcript.clone()).await?;
        Ok(Self(Arc::new(Inner {
            language: builder.language,
            builder,
            transcript,
            placed,
            closed: AtomicBool::new(false),
            tickets: Mutex::new(Vec::new()),
            count,
        })))
    }

    /// The language of the session's cells.
    pub fn language(&self) -> Language {
        self.0.language
    }

    /// Typed declarations of everything that the session's cells can call, for the prompt: sorted, the same each time, and empty
    /// where the host offers nothing.
    pub fn stubs(&self) -> String {
        self.0.builder.stubs()
    }

    /// Queues a cell; await the returned [`Execution`] for its outcome, or drop it to cancel the cell.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Closed`] after [`Session::close`]; [`RuntimeError::InvalidLimit`] when the cell's own timeout is
    /// out of range.
    pub fn run(&self, cell: Cell) -> Result<Execution, RuntimeError> {
        if self.0.closed.load(Ordering::Acquire) {
            return Err(RuntimeError::Closed);
        }
        let timeout = match cell.timeout {
            Some(Some(timeout)) => {
                check_timeout("timeoutMs", timeout)?;
                Some(timeout)
            }
            Some(None) => None,
            None => self.0.builder.limits.timeout,
        };
        if source::is_blank(source::without_fence(&cell.code)) {
            return Ok(Execution::settled(self.blank()));
        }
        let (reply, receiver) = oneshot::channel();
        let ticket = Arc::new(Ticket::new(
            cell,
            timeout,
            self.0.transcript.clone(),
            self.0.count.clone(),
            reply,
        ));
        self.remember(&ticket);
        self.0.placed.run(ticket.clone());
        Ok(Execution::waiting(self.clone(), ticket, receiver))
    }

    fn blank(&self) -> Outcome {
        Outcome {
            ok: false,
            value: None,
            stdout: String::new(),
            stderr: String::new(),
            background: Default::default(),
            truncated: Default::default(),
            display: Vec::new(),
            files: Default::default(),
            error: Some(Failure::new(FailureKind::Empty, "the cell holds no code")),
            state: SessionState::Kept,
            notice: None,
            execution_count: self.0.count.load(Ordering::Relaxed),
            duration_ms: 0.0,
        }
    }

    fn remember(&self, ticket: &Arc<Ticket>) {
        let mut tickets = self
            .0
            .tickets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|ticket| ticket.upgrade().is_some_and(|ticket| !ticket.is_settled()));
        tickets.push(Arc::downgrade(ticket));
    }

    fn live_tickets(&self) -> Vec<Arc<Ticket>> {
        let tickets = self
            .0
            .tickets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tickets
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|ticket| !ticket.is_settled())
            .collect()
    }

    pub(crate) fn stop(&self, ticket: &Arc<Ticket>, stop: Stop) {
        if ticket.stop(stop) {
            self.0.placed.stop(ticket);
        }
    }

    /// Stops the cell that runs, or, while none does yet, the one whose turn is next; others that wait are not touched.
    ///
    /// Says whether there was one.
    pub fn interrupt(&self) -> bool {
        let live = self.live_tickets();
        let running = live.iter().find(|ticket| ticket.is_running());
        let next = running.or_else(|| live.first());
        if let Some(ticket) = next {
            self.stop(ticket, Stop::Cancelled);
        }
        next.is_some()
    }

    /// The names the program bound, each with type and a bounded preview; no code of the program runs.
    ///
    /// Waits for its turn behind the cells given before.
    ///
    /// # Errors
    ///
    /// When the session is closed, or its interpreter is gone.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed when the future is dropped.
    pub async fn inspect(&self) -> Result<Vec<Variable>, RuntimeError> {
        self.ask(|reply| self.0.placed.inspect(reply)).await
    }

    /// The names that may stand where the cursor is in a source, `cursor` bytes from its beginning: the session's names, or those
    /// of what stands before the last dot. No code of the program runs, so that what only code could tell is left out.
    ///
    /// Waits for its turn behind the cells given before.
    ///
    /// # Errors
    ///
    /// When the session is closed, or its interpreter is gone.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed when the future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "python")] {
    /// use warmcell::{Language, Session};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), warmcell::RuntimeError> {
    /// let session = Session::builder(Language::Python).open().await?;
    /// session.run("text = 'a b'".into())?.await;
    /// let completions = session.complete("text.spl", 8).await?;
    /// assert_eq!((completions.start, completions.names), (5, vec!["split".to_owned(), "splitlines".to_owned()]));
    /// # Ok(())
    /// # }
    /// # main().unwrap();
    /// # }
    /// ```
    pub async fn complete(&self, source: &str, cursor: usize) -> Result<Completions, RuntimeError> {
        let place = completions::Place::of(source, cursor);
        let names = match &place.path {
            Some(path) => {
                let path = path.clone();
                self.ask(|reply| self.0.placed.members(path, reply)).await?
            }
            None => Vec::new(),
        };
        Ok(place.complete(names))
    }

    /// Puts a host's value into the session under a name, without passing through source text.
    ///
    /// # Errors
    ///
    /// When the name cannot be a variable's, the value cannot be taken over without loss, the session is closed, or its
    /// interpreter is gone.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the name may be bound or not.
    pub async fn bind(&self, name: &str, value: Json) -> Result<(), RuntimeError> {
        self.ask(|reply| self.0.placed.bind(name.to_owned(), value, reply))
            .await
    }

    /// Takes the session back to before its last cell, and says which cell that was. Its files and network effects remain.
    ///
    /// Only a session in a worker that was opened with [`Backup::Undo`](crate::Backup::Undo) can, by one cell.
    ///
    /// # Errors
    ///
    /// When the session was opened without, when there is no cell to undo, or no backup since threads of the program were
    /// alive; when the session is closed.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, the cell may be undone or not.
    pub async fn undo(&self) -> Result<u64, RuntimeError> {
        self.ask(|reply| self.0.placed.undo(reply)).await
    }

    /// Reads a part of one of the session's artifacts, named as `file` of an outcome names it. It reads a file, at most 1 MiB of it,
    /// and blocks meanwhile; lines far from the beginning take as long as it takes to read what is before them.
    ///
    /// Only what this session has written is read, also after it was closed.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::InvalidOption`] when that is no artifact of this session, [`RuntimeError::InvalidLimit`] when the part
    /// is too large, [`RuntimeError::Refused`] when the file cannot be read any more, or not like this.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "python")] {
    /// use warmcell::{ArtifactPart, Language, Session};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// let session = Session::builder(Language::Python).artifacts(folder).open_blocking()?;
    /// let outcome = session.run("for i in range(1_000_000): print('line', i)".into())?.wait();
    /// let file = outcome.truncated.stdout.and_then(|cut| cut.file).unwrap();
    /// let part = session.artifact(&file, ArtifactPart::lines().from(500_000).most(2))?;
    /// assert_eq!(part.text.unwrap(), "line 500000\nline 500001\n");
    /// assert_eq!(part.next_offset, Some(500_002));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn artifact(&self, file: &str, part: ArtifactPart) -> Result<Artifact, RuntimeError> {
        match self.0.transcript.artifacts() {
            Some(artifacts) => artifacts.read(file, part),
            None => Err(RuntimeError::InvalidOption(
                "the session has no artifacts\nhint: open it with `artifacts`".to_owned(),
            )),
        }
    }

    async fn ask<T>(&self, send: impl FnOnce(placement::Reply<T>)) -> Result<T, RuntimeError> {
        if self.0.closed.load(Ordering::Acquire) {
            return Err(RuntimeError::Closed);
        }
        let (reply, answer) = oneshot::channel();
        send(reply);
        answer.await.unwrap_or(Err(RuntimeError::Closed))
    }

    /// Closes the session: a running cell is stopped, cells that wait never run, and everything the session held goes.
    ///
    /// Closing a closed session does nothing.
    ///
    /// # Cancel safety
    ///
    /// The session is closed all the same when the future is dropped.
    pub async fn close(&self) {
        if self.0.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        // The one that runs last: the next would run before its turn to be stopped came.
        for ticket in self.live_tickets().iter().rev() {
            self.stop(ticket, Stop::Cancelled);
        }
        let (reply, closed) = oneshot::channel();
        self.0.placed.close(Some(reply));
        let _ = closed.await;
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("language", &self.0.language)
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !*self.closed.get_mut() {
            self.placed.close(None);
        }
    }
}

#[async_trait]
impl CodeRuntime for Session {
    async fn execute(&self, code: &str) -> Outcome {
        match self.run(code.into()) {
            Ok(execution) => execution.await,
            Err(problem) => {
                let mut outcome = self.blank();
                outcome.error = Some(Failure::unavailable(&problem.to_string()));
                outcome.state = SessionState::Lost;
                outcome
            }
        }
    }

    async fn reset(&self) -> Result<(), RuntimeError> {
        self.ask(|reply| self.0.placed.reset(reply)).await
    }
}

/// What the session's cells call their host with; none where it offers nothing.
fn capabilities(builder: &SessionBuilder) -> Result<Option<Arc<dyn Caller>>, RuntimeError> {
    if builder.capabilities.is_empty() {
        return Ok(None);
    }
    let offered = capability::offer(&builder.capabilities)?;
    let calls = Calls::new(
        builder.capabilities.clone(),
        offered,
        builder.permission.clone(),
        builder.limits.value_bytes,
    );
    Ok(Some(calls))
}

/// Refuses options that make no sense, and those that the language has no use for: they must not be lost without a word.
fn check_options(builder: &SessionBuilder) -> Result<(), RuntimeError> {
    let language = builder.language.as_str();
    let refused = |text: String| Err(RuntimeError::InvalidOption(text));
    if builder.language == Language::Python {
        if let Some(engine) = builder.javascript_engine {
            let engine = engine.as_str();
            return refused(format!(
                "`engine` is `{engine}`, which runs no {language}\nhint: leave `engine` out"
            ));
        }
    } else if builder.python.is_some() {
        return refused(format!(
            "`python` is given, and {language} needs none\nhint: leave `python` out"
        ));
    } else if !builder.env_pass.is_empty() {
        return refused(format!(
            "`envPass` is given, and {language} cells see no environment\nhint: leave `envPass` out"
        ));
    } else if !builder.env.is_empty() {
        return refused(format!(
            "`env` is given, and {language} cells see no environment\nhint: leave `env` out, and hand values over with `bind`"
        ));
    }
    if builder.imports_from.is_some() && builder.language != Language::Python {
        return refused(format!(
            "`imports_from` is given, and {language} imports from `cwd` alone\nhint: leave `imports_from` out"
        ));
    }
    if let Some(cwd) = &builder.cwd
        && !cwd.is_dir()
    {
        let problem = if cwd.exists() {
            "is not a folder"
        } else {
            "does not exist"
        };
        return Err(RuntimeError::InvalidOption(format!(
            "`cwd` is `{}`, which {problem}",
            cwd.display()
        )));
    }
    if let Some(workspace) = &builder.workspace {
        if builder.sandbox == Sandbox::Off {
            return refused(
                "`workspace` is given, and nothing holds the session to it\nhint: ask for a `sandbox`, or leave `workspace` out"
                    .to_owned(),
            );
        }
        if !workspace.is_dir() {
            return refused(format!(
                "`workspace` is `{}`, which is not a folder",
                workspace.display()
            ));
        }
    }
    for (name, value) in &builder.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(RuntimeError::InvalidOption(format!(
                "`env` holds the name {name:?}, which no variable can have"
            )));
        }
        if value.contains('\0') {
            return Err(RuntimeError::InvalidOption(format!(
                "`env` holds a null byte in the value of `{name}`"
            )));
        }
    }
    Ok(())
}

/// Runs a future to its end on this thread, which sleeps meanwhile. Our futures need no runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
