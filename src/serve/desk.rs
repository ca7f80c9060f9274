//! [`Desk`]: the methods of the protocol, and the sessions they are about.
//!
//! It lives on the one thread that serves requests. Its cells are borrowed for a look or a change, never across an await.

use std::cell::{Cell as Counter, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use warmcell::{
    ArtifactPart, Canceller, Cell, CodeRuntime, Event, Events, Execution, Isolation, Json,
    RuntimeError, Sandbox, Session, SessionBuilder, Stream,
};

use super::functions::{Functions, SessionName};
use super::message::{Answered, Id, Missing, Outgoing, Output, Problem, Reply, Request};
use super::params::{Fields, one_of, required};
use super::writer::Mailbox;
use super::{log, opening};

/// The version of the protocol: raised when a client that knows the last one would misread us.
const PROTOCOL_VERSION: u32 = 1;

/// How many events of a streaming cell may wait for the client.
const STREAMED_EVENTS: usize = 256;

/// How many bytes of streamed output may be on their way to the client.
const STREAMED_BYTES: usize = 1 << 20;

const METHODS: [&str; 12] = [
    "initialize",
    "open",
    "execute",
    "interrupt",
    "inspect",
    "bind",
    "reset",
    "undo",
    "close",
    "stubs",
    "artifact",
    "$/cancelRequest",
];

/// What the server keeps for its client.
pub(super) struct Desk {
    sessions: RefCell<HashMap<String, Session>>,
    opened: Counter<u64>,
    /// Requests without an answer, and how to cancel those that are cells.
    unanswered: RefCell<HashMap<Id, Option<Canceller>>>,
    mailbox: Mailbox,
    stream_room: Arc<Semaphore>,
    functions: Arc<Functions>,
    /// Where sessions keep artifacts that name no place.
    artifacts: Option<PathBuf>,
}

impl Desk {
    pub(super) fn new(mailbox: Mailbox, artifacts: Option<PathBuf>) -> Self {
        Self {
            artifacts,
            sessions: RefCell::default(),
            opened: Counter::default(),
            unanswered: RefCell::default(),
            functions: Functions::new(mailbox.clone()),
            mailbox,
            stream_room: Arc::new(Semaphore::new(STREAMED_BYTES)),
        }
    }

    /// Serves a request to its end and answers it. The first poll gives it its place in its session's queue.
    pub(super) async fn serve(
        self: Rc<Self>,
        request: Request,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        let Request { id, method, params } = request;
        let Some(id) = id else {
            if let Err(problem) = self.call(None, &method, params).await {
                log(&format!(
                    "the notification `{method}` was refused: {problem}"
                ));
            }
            return;
        };
        if self.unanswered.borrow().contains_key(&id) {
            let message = format!("`id` {id} belongs to a request that has no answer yet");
            let refusal = Outgoing::Answer(Some(id), Err(Problem::invalid_request(message)));
            return self.mailbox.send(refusal, permit);
        }
        self.unanswered.borrow_mut().insert(id.clone(), None);
        let answer = self.call(Some(&id), &method, params).await;
        self.unanswered.borrow_mut().remove(&id);
        self.mailbox
            .send(Outgoing::Answer(Some(id), answer), permit);
    }

    /// The client has answered a request of ours. Says whether there was one.
    pub(super) fn answered(&self, id: &str, answered: Answered) -> bool {
        self.functions.answered(id, answered)
    }

    /// Cancels what runs and closes every session, as tasks of `tasks`.
    pub(super) fn close_all(&self, tasks: &mut JoinSet<()>) {
        for (_, session) in self.sessions.borrow_mut().drain() {
            tasks.spawn_local(async move { session.close().await });
        }
    }

    async fn call(&self, id: Option<&Id>, method: &str, params: Fields) -> Result<Reply, Problem> {
        match method {
            "initialize" => self.initialize(params),
            "open" => self.open(params).await,
            "execute" => self.execute(id, params).await,
            "interrupt" => self.interrupt(params),
            "inspect" => self.inspect(params).await,
            "bind" => self.bind(params).await,
            "reset" => self.reset(params).await,
            "undo" => self.undo(params).await,
            "close" => self.close(params).await,
            "stubs" => self.stubs(params),
            "artifact" => self.artifact(params).await,
            "$/cancelRequest" => self.cancel(params),
            unknown => {
                let unknown: String = unknown.chars().take(60).collect();
                Err(Problem::unknown_method(format!(
                    "there is no method `{unknown}`: use {}",
                    one_of(METHODS.into_iter())
                )))
            }
        }
    }

    fn initialize(&self, mut params: Fields) -> Result<Reply, Problem> {
        params.fields("clientInfo")?;
        params.finish()?;
        let languages: Vec<serde_json::Value> = SessionBuilder::all().map(describe).collect();
        // What this kernel can enforce; the rest is refused by `open`.
        let holds_files = Isolation::of_this_kernel().holds_files();
        let sandboxes: Vec<&str> = opening::SANDBOXES
            .iter()
            .filter(|(_, sandbox)| *sandbox == Sandbox::Off || holds_files)
            .map(|(name, _)| *name)
            .collect();
        reply(json!({
            "protocolVersion": PROTOCOL_VERSION,
            "serverInfo": { "name": "warmcell", "version": env!("CARGO_PKG_VERSION") },
            "languages": languages,
            "sandbox": sandboxes,
        }))
    }

    async fn open(&self, params: Fields) -> Result<Reply, Problem> {
        let name = SessionName::default();
        let mut opening = opening::read(params, self.artifacts.as_deref())?;
        let functions = std::mem::take(&mut opening.functions);
        for capability in self.functions.capabilities(functions, &name)? {
            opening.builder = opening.builder.capability(capability);
        }
        let session = opening.builder.clone().open().await;
        let session = session.map_err(|error| match opening.wrong_python() {
            Some(problem) => problem,
            None => refusal(error),
        })?;
        self.opened.set(self.opened.get() + 1);
        let name = name.get_or_init(|| format!("session-{}", self.opened.get()));
        self.sessions.borrow_mut().insert(name.clone(), session);
        reply(json!({ "session": name }))
    }

    async fn execute(&self, id: Option<&Id>, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        let mut cell = Cell::new(required("code", params.text("code")?)?);
        if let Some(milliseconds) = params.whole("timeoutMs")? {
            cell = cell.with_timeout(Duration::from_millis(milliseconds));
        }
        let stream = params.flag("stream")?.unwrap_or(false);
        params.finish()?;
        let outcome = match id.filter(|_| stream) {
            None => self.begin(id, &session, cell)?.await,
            Some(id) => {
                let (cell, events) = cell.with_events(STREAMED_EVENTS);
                let execution = self.begin(Some(id), &session, cell)?;
                self.stream(id, events).await;
                execution.await
            }
        };
        Ok(Reply::Outcome(Box::new(outcome)))
    }

    fn begin(&self, id: Option<&Id>, session: &Session, cell: Cell) -> Result<Execution, Problem> {
        let execution = session.run(cell).map_err(refusal)?;
        if let Some(id) = id {
            let canceller = Some(execution.canceller());
            self.unanswered.borrow_mut().insert(id.clone(), canceller);
        }
        Ok(execution)
    }

    /// Passes on what a cell prints and shows, until it has ended.
    async fn stream(&self, id: &Id, mut events: Events) {
        while let Some(event) = events.next().await {
            let (output, bytes) = match event {
                Event::Output { stream, text } => {
                    let bytes = text.len();
                    let stream = match stream {
                        Stream::Stdout => "stdout",
                        Stream::Stderr => "stderr",
                    };
                    (Output::Text { stream, text }, bytes)
                }
                Event::Display(entry) => (Output::Entry { entry }, STREAMED_BYTES),
                Event::Clear => (Output::Clear { clear: true }, 0),
                Event::Gap { events, bytes } => {
                    let gap = Missing { events, bytes };
                    (Output::Gap { gap }, 0)
                }
                _ => continue,
            };
            // The frame around the text weighs something too.
            let share = (bytes + 256).min(STREAMED_BYTES) as u32;
            let room = self.stream_room.clone().acquire_many_owned(share).await;
            self.mailbox
                .send(Outgoing::Output(id.clone(), output), room.ok());
        }
    }

    fn interrupt(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        params.finish()?;
        reply(json!({ "running": session.interrupt() }))
    }

    async fn inspect(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        params.finish()?;
        let variables = session.inspect().await.map_err(refusal)?;
        reply(json!({ "variables": variables }))
    }

    async fn bind(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        let name = required("name", params.text("name")?)?;
        let value = required("value", params.raw("value"))?;
        params.finish()?;
        let value = Json::new(Box::<str>::from(value))
            .map_err(|error| Problem::invalid_params(format!("`value` is {error}")))?;
        session
            .bind(&name, value)
            .await
            .map_err(|error| match error {
                // The engine says which of the two it cannot take, and why.
                RuntimeError::Refused(text) => Problem::invalid_params(text),
                error => refusal(error),
            })?;
        reply(json!({}))
    }

    async fn reset(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        params.finish()?;
        session.reset().await.map_err(refusal)?;
        reply(json!({}))
    }

    async fn undo(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        params.finish()?;
        let cell = session.undo().await.map_err(refusal)?;
        reply(json!({ "undone": cell }))
    }

    async fn close(&self, mut params: Fields) -> Result<Reply, Problem> {
        let name = required("session", params.text("session")?)?;
        params.finish()?;
        // From here on no request finds it, however long its cells take to end.
        let session = self.sessions.borrow_mut().remove(&name);
        session.ok_or_else(|| not_open(&name))?.close().await;
        reply(json!({}))
    }

    fn stubs(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        params.finish()?;
        reply(json!({ "stubs": session.stubs() }))
    }

    /// Reads a part of a file, on a thread that may block.
    async fn artifact(&self, mut params: Fields) -> Result<Reply, Problem> {
        let session = self.session(&mut params)?;
        let path = required("path", params.text("path")?)?;
        let units = [
            ("line", ArtifactPart::lines()),
            ("byte", ArtifactPart::bytes()),
        ];
        let mut part = params.choice("by", &units)?.unwrap_or(units[0].1);
        if let Some(offset) = params.whole("offset")? {
            part = part.from(offset);
        }
        if let Some(limit) = params.whole("limit")? {
            part = part.most(limit);
        }
        params.finish()?;
        let reading = tokio::task::spawn_blocking(move || session.artifact(&path, part));
        let read = reading.await.map_err(|error| {
            Problem::internal(format!(
                "the thread that reads the artifact is gone: {error}"
            ))
        })?;
        let artifact = serde_json::to_value(read.map_err(refusal)?);
        reply(artifact.map_err(|error| Problem::internal(error.to_string()))?)
    }

    fn cancel(&self, mut params: Fields) -> Result<Reply, Problem> {
        let raw = required("id", params.raw("id"))?;
        params.finish()?;
        let id = Id::read(&raw)
            .ok_or_else(|| Problem::invalid_params("`id` must be a string or a number"))?;
        // A request that was answered meanwhile is no mistake; one that is no cell takes its course.
        if let Some(Some(canceller)) = self.unanswered.borrow().get(&id) {
            canceller.cancel();
        }
        reply(json!({}))
    }

    fn session(&self, params: &mut Fields) -> Result<Session, Problem> {
        let name = required("session", params.text("session")?)?;
        let session = self.sessions.borrow().get(&name).cloned();
        session.ok_or_else(|| not_open(&name))
    }
}

fn not_open(name: &str) -> Problem {
    let name: String = name.chars().take(60).collect();
    Problem::invalid_params(format!(
        "`session` is {name:?}, which is not open\nhint: use what `open` answered"
    ))
}

/// A language on one of its engines, as `initialize` tells of it; one that cannot be used says why.
fn describe(builder: SessionBuilder) -> serde_json::Value {
    let (language, engine) = (builder.language(), builder.engine());
    match builder.facts() {
        Ok(facts) => json!({
            "language": language,
            "engine": engine,
            "version": facts.version,
            "executable": facts.executable,
        }),
        Err(error) => {
            json!({ "language": language, "engine": engine, "problem": error.to_string() })
        }
    }
}

fn reply(value: serde_json::Value) -> Result<Reply, Problem> {
    Ok(Reply::Value(value))
}

fn refusal(error: RuntimeError) -> Problem {
    let message = error.to_string();
    match error {
        RuntimeError::InvalidLimit { .. } | RuntimeError::InvalidOption(_) => {
            Problem::invalid_params(message)
        }
        RuntimeError::Unavailable(_) | RuntimeError::NotBuilt { .. } => {
            Problem::unavailable(message)
        }
        RuntimeError::Refused(_) | RuntimeError::Closed => Problem::refused(message),
        _ => Problem::internal(message),
    }
}
