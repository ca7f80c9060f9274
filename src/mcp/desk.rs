//! [`Desk`]: the tools, the sessions they are about, and the cells that nobody waits for.
//!
//! What goes wrong in a call is a result that says so, for the model to read, and never an error of the protocol.
//!
//! Locks: one on the list of cells, held for a look or a change, never across an await.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;
use warmcell::tool::{self, Arguments, Call, DEFAULT_SESSION, Rendering};
use warmcell::{ArtifactPart, Cell, Language, Outcome, Registry};

use super::Settings;
use super::running::Running;

/// How long a call waits for its cell: less than the time after which clients give up.
pub(super) const WAIT: Duration = Duration::from_secs(45);

/// The least and the most that `wait_seconds` may be.
pub(super) const WAIT_SECONDS: RangeInclusive<u32> = 0..=3600;

/// How many ended cells are kept whose outcomes nobody has asked for; the oldest goes first.
const KEPT_CELLS: usize = 32;

/// How many lines of a file one call reads when it does not say, and at most.
const LINES: u64 = 200;
const MOST_LINES: u64 = 10_000;

/// How large an outcome may be as data, in bytes of JSON.
const STRUCTURED_BYTES: usize = 1 << 20;

/// Who made a call.
pub(super) trait Caller {
    /// Comes when the call was taken back.
    async fn gone(&self);

    /// Never comes: tells the caller of a cell meanwhile.
    async fn follow(&self, running: &Running);
}

pub(super) struct Desk {
    settings: Settings,
    registry: Arc<Registry>,
    /// Cells that run, and those whose outcomes nobody has taken, in the order in which they were given.
    cells: Mutex<Vec<Arc<Running>>>,
}

/// Why a wait ended.
enum Waited {
    Ended,
    TooLong,
    Gone,
}

impl Desk {
    pub(super) fn new(settings: Settings) -> Self {
        let open = settings.open.clone();
        let registry = Registry::new(move |language| open(language))
            .most(settings.sessions)
            .idle(settings.idle);
        Self {
            settings,
            registry: Arc::new(registry),
            cells: Mutex::default(),
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn sweep(&self) {
        self.registry.sweep();
    }

    /// Stops what runs and closes every session.
    pub(super) async fn close(&self) {
        for running in self.lock().iter() {
            running.stop();
        }
        self.registry.close_all().await;
    }

    pub(super) async fn run_code(
        &self,
        mut arguments: Arguments,
        caller: &impl Caller,
    ) -> CallToolResult {
        let read = Call::take(&mut arguments, &self.settings.languages).and_then(|call| {
            let wait = arguments.seconds("wait_seconds", WAIT_SECONDS)?;
            arguments.finish()?;
            Ok((call, wait.unwrap_or(WAIT)))
        });
        let (call, wait) = match read {
            Ok(read) => read,
            Err(problem) => return refusal(&problem.to_string()),
        };
        while let Some(busy) = self.left_running(&call.session, call.language) {
            if !busy.is_stopped() {
                return refusal(&busy_text(&busy));
            }
            // It ends within the grace of its session, and what it has to tell goes before what this one has.
            tokio::select! {
                () = busy.ended() => {}
                () = caller.gone() => return refusal("the call was cancelled"),
            }
        }
        let earlier = self.take_ended(&call.session, Some(call.language));
        let running = match self.start(&call).await {
            Ok(running) => running,
            Err(problem) => return self.with_earlier(&earlier, refusal(&problem)),
        };
        let result = match self.wait(&running, wait, caller).await {
            Waited::Ended => self.answer(&running, self.share(&earlier)),
            Waited::TooLong => {
                running.leave();
                self.still_running(&running)
            }
            Waited::Gone => {
                running.stop();
                running.leave();
                refusal("the call was cancelled")
            }
        };
        self.with_earlier(&earlier, result)
    }

    async fn start(&self, call: &Call) -> Result<Arc<Running>, String> {
        if call.reset {
            let reset = self.registry.reset(&call.session, call.language).await;
            reset.map_err(|problem| problem.to_string())?;
        }
        // A relative one is meant from the workspace, wherever the session is.
        let cwd = call.cwd.as_deref().map(std::path::absolute).transpose();
        let cwd = cwd.map_err(|problem| format!("`cwd` cannot be used: {problem}"))?;
        let lease = self
            .registry
            .lease(&call.session, call.language, cwd.as_deref())
            .await
            .map_err(|problem| problem.to_string())?;
        let mut cell = Cell::new(call.code.as_str());
        if let Some(timeout) = call.timeout {
            cell = cell.with_timeout(timeout);
        }
        let running = Running::start(lease, cell).map_err(|problem| problem.to_string())?;
        let mut cells = self.lock();
        if cells.len() >= KEPT_CELLS
            && let Some(oldest) = cells.iter().position(|cell| cell.has_ended())
        {
            cells.remove(oldest);
        }
        cells.push(running.clone());
        Ok(running)
    }

    pub(super) async fn wait_cell(
        &self,
        mut arguments: Arguments,
        caller: &impl Caller,
    ) -> CallToolResult {
        let read = arguments.text("session").and_then(|session| {
            let wait = arguments.seconds("wait_seconds", WAIT_SECONDS)?;
            let stop = arguments.flag("stop")?.unwrap_or(false);
            arguments.finish()?;
            let session = session.unwrap_or_else(|| DEFAULT_SESSION.to_owned());
            Ok((session, wait.unwrap_or(WAIT), stop))
        });
        let (session, wait, stop) = match read {
            Ok(read) => read,
            Err(problem) => return refusal(&problem.to_string()),
        };
        let oldest = self
            .lock()
            .iter()
            .find(|running| running.session == session)
            .cloned();
        let Some(running) = oldest else {
            return self.nothing_runs(&session);
        };
        if stop {
            running.stop();
        }
        match self.wait(&running, wait, caller).await {
            Waited::Ended if running.is_left() => self.answer(&running, self.settings.bytes),
            Waited::Ended => told(format!(
                "the cell of session `{session}` has ended; its result went to the call that started it"
            )),
            Waited::TooLong => self.still_running(&running),
            // The cell goes on: nobody asked for its end.
            Waited::Gone => refusal("the call was cancelled"),
        }
    }

    fn nothing_runs(&self, session: &str) -> CallToolResult {
        let sessions = self.registry.sessions();
        if sessions.iter().any(|listed| listed.name == session) {
            return told(format!(
                "no cell runs in session `{session}`: every result was told"
            ));
        }
        let mut names: Vec<String> = sessions
            .iter()
            .map(|listed| format!("`{}`", listed.name))
            .collect();
        names.dedup();
        let names = match names.is_empty() {
            true => "there are none".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let session: String = session.chars().take(60).collect();
        refusal(&format!("there is no session {session:?}: {names}"))
    }

    pub(super) async fn reset_session(&self, mut arguments: Arguments) -> CallToolResult {
        let choices: Vec<(&str, Language)> = self
            .settings
            .languages
            .iter()
            .map(|language| (language.as_str(), *language))
            .collect();
        let read = arguments.text("session").and_then(|session| {
            let language = arguments.choice("language", &choices)?;
            arguments.finish()?;
            Ok((
                session.unwrap_or_else(|| DEFAULT_SESSION.to_owned()),
                language,
            ))
        });
        let (session, language) = match read {
            Ok(read) => read,
            Err(problem) => return refusal(&problem.to_string()),
        };
        let languages: Vec<Language> = match language {
            Some(language) => vec![language],
            None => self.settings.languages.clone(),
        };
        for running in self.lock().iter() {
            if running.session == session && languages.contains(&running.language) {
                running.stop();
            }
        }
        let mut fresh = Vec::new();
        for language in languages {
            match self.registry.reset(&session, language).await {
                Ok(true) => fresh.push(language.as_str()),
                Ok(false) => {}
                Err(problem) => return refusal(&problem.to_string()),
            }
        }
        // What the cells that were stopped had to tell is told now or never.
        let earlier = self.take_ended(&session, language);
        let shown: String = session.chars().take(60).collect();
        let result = match fresh.is_empty() {
            true => told(format!(
                "there is no session {shown:?}: its first cell starts a fresh one"
            )),
            false => told(format!(
                "session {shown:?} ({}) is a fresh one: it holds nothing",
                fresh.join(", ")
            )),
        };
        self.with_earlier(&earlier, result)
    }

    /// Reads what a result left out, for clients that see no file of the server's, and cells in a sandbox, which do not either.
    pub(super) async fn read_output(&self, mut arguments: Arguments) -> CallToolResult {
        let read = arguments.text("path").and_then(|path| {
            let offset = arguments.whole("offset")?.unwrap_or(0);
            let lines = arguments.whole("lines")?.unwrap_or(LINES);
            arguments.finish()?;
            Ok((path, offset, lines.clamp(1, MOST_LINES)))
        });
        let (path, offset, lines) = match read {
            Ok((Some(path), offset, lines)) => (path, offset, lines),
            Ok((None, ..)) => return refusal("`path` is missing: give one that a result names"),
            Err(problem) => return refusal(&problem.to_string()),
        };
        let part = ArtifactPart::lines().from(offset).most(lines);
        // The server has one thread, and a part far into a large file takes its time.
        let registry = self.registry.clone();
        let reading = tokio::task::spawn_blocking(move || registry.artifact(&path, part));
        let artifact = match reading.await {
            Ok(Ok(artifact)) => artifact,
            Ok(Err(problem)) => return refusal(&problem.to_string()),
            Err(problem) => {
                return refusal(&format!(
                    "the thread that reads the file is gone: {problem}"
                ));
            }
        };
        let Some(mut text) = artifact.text else {
            return refusal("the file is no text: it is an image, or other data");
        };
        let whole = text.len();
        text.truncate(text.floor_char_boundary(self.settings.bytes));
        let mut about = format!("{} bytes in all", artifact.bytes);
        if offset > 0 {
            let _ = write!(about, ", after the first {offset} lines");
        }
        if text.len() < whole {
            let _ = write!(
                about,
                "; cut after {} bytes: ask for fewer lines",
                text.len()
            );
        } else if let Some(next) = artifact.next_offset {
            let _ = write!(about, "; the next part has the `offset` {next}");
        }
        told(format!("{about}\n{text}"))
    }

    async fn wait(&self, running: &Running, time: Duration, caller: &impl Caller) -> Waited {
        tokio::select! {
            biased;
            () = running.ended() => Waited::Ended,
            () = caller.gone() => Waited::Gone,
            () = tokio::time::sleep(time) => Waited::TooLong,
            () = caller.follow(running) => Waited::TooLong,
        }
    }

    /// The result of a cell that has ended; nobody else gets it from here on.
    fn answer(&self, running: &Arc<Running>, bytes: usize) -> CallToolResult {
        self.lock().retain(|cell| !Arc::ptr_eq(cell, running));
        match running.take() {
            Some(outcome) => self.result(running, outcome, bytes),
            None => told("the cell has ended; its result was told to another call".to_owned()),
        }
    }

    fn result(&self, running: &Running, mut outcome: Outcome, bytes: usize) -> CallToolResult {
        if outcome.execution_count == 1
            && let Some(notice) = &self.settings.notice
        {
            outcome.notice = Some(match outcome.notice.take() {
                Some(more) => format!("{notice}\nnotice: {more}"),
                None => notice.clone(),
            });
        }
        let outcomes = [outcome];
        let rendering = Rendering::new(running.language)
            .session(&running.session)
            .bytes(bytes)
            .image_bytes(self.settings.image_bytes);
        let mut content = vec![ContentBlock::text(tool::render(&outcomes, &rendering))];
        for image in tool::images(&outcomes, self.settings.image_bytes) {
            content.push(ContentBlock::image(image.data, image.mime_type));
        }
        let [outcome] = outcomes;
        let mut result = CallToolResult::success(content);
        result.is_error = Some(!outcome.ok);
        if self.settings.structured {
            result.structured_content = Some(structured(running, &outcome));
        }
        result
    }

    /// The cell of that session whose call was answered while it ran, and which still runs.
    fn left_running(&self, session: &str, language: Language) -> Option<Arc<Running>> {
        let cells = self.lock();
        let is_it = |cell: &&Arc<Running>| {
            cell.session == session
                && cell.language == language
                && cell.is_left()
                && !cell.has_ended()
        };
        cells.iter().find(is_it).cloned()
    }

    /// Takes the cells of that session that have ended and whose outcomes nobody waits for.
    fn take_ended(&self, session: &str, language: Option<Language>) -> Vec<Arc<Running>> {
        let mut taken = Vec::new();
        self.lock().retain(|cell| {
            let is_taken = cell.session == session
                && language.is_none_or(|language| cell.language == language)
                && cell.is_left()
                && cell.has_ended();
            if is_taken {
                taken.push(cell.clone());
            }
            !is_taken
        });
        taken
    }

    /// What each of the cells that one result tells of may take.
    fn share(&self, earlier: &[Arc<Running>]) -> usize {
        self.settings.bytes / (earlier.len() + 1)
    }

    /// Puts what earlier cells have to tell before a result.
    fn with_earlier(&self, earlier: &[Arc<Running>], mut result: CallToolResult) -> CallToolResult {
        let mut content = Vec::new();
        for running in earlier {
            let Some(outcome) = running.take() else {
                continue;
            };
            let told = self.result(running, outcome, self.share(earlier));
            content.push(ContentBlock::text(
                "an earlier cell of this session, whose result nobody waited for:",
            ));
            content.extend(told.content);
        }
        if !content.is_empty() {
            content.push(ContentBlock::text("this call:"));
            content.append(&mut result.content);
            result.content = content;
        }
        result
    }

    fn still_running(&self, running: &Arc<Running>) -> CallToolResult {
        let is_behind = self
            .lock()
            .iter()
            .take_while(|cell| !Arc::ptr_eq(cell, running))
            .any(|cell| {
                cell.session == running.session
                    && cell.language == running.language
                    && !cell.has_ended()
            });
        let what = match is_behind {
            true => "waits for its turn behind another one",
            false => "still runs",
        };
        told(format!(
            "{}, session `{}`: the cell {what} after {:.1} s, and goes on\n{}hint: do not send it again; `wait_cell` waits for it, and stops it with `stop`\n",
            running.language.as_str(),
            running.session,
            running.time().as_secs_f64(),
            running.so_far(),
        ))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Running>>> {
        // Nothing panics under this lock.
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn told(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A result that says why there is none.
fn refusal(text: &str) -> CallToolResult {
    let mut result = told(text.to_owned());
    result.is_error = Some(true);
    result
}

fn busy_text(running: &Running) -> String {
    format!(
        "session `{}` is busy: a cell has been running in it for {:.1} s, and this one was not run\n{}hint: `wait_cell` waits for the cell that runs, and stops it with `stop`; another session name runs this one beside it\n",
        running.session,
        running.time().as_secs_f64(),
        running.so_far(),
    )
}

/// The outcome as data. Clients read a message as one line, which must not grow without bound.
fn structured(running: &Running, outcome: &Outcome) -> serde_json::Value {
    let mut data = json!({ "session": running.session, "language": running.language });
    match serde_json::to_value(outcome) {
        Ok(outcome) if outcome.to_string().len() <= STRUCTURED_BYTES => data["outcome"] = outcome,
        Ok(_) => data["problem"] = json!("the outcome is too large to be handed over as data"),
        Err(error) => data["problem"] = json!(error.to_string()),
    }
    data
}
