//! What `run`, `exec` and `repl` share: the options of a session, and running a cell while its output is shown.

use std::path::{self, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::runtime::Runtime;
use warmcell::{
    Cell, Event, Events, JavaScriptEngine, Json, Language, Limits, Outcome, Placement,
    RuntimeError, Session, SessionBuilder,
};

use super::console::{Console, Show};
use super::interrupt::{Interrupts, Leave};
use super::process::ProcessOptions;

use super::{Usage, language};

/// How many events of a cell may wait to be shown; then the cell waits, so that no output is lost in a slow pipe.
const WAITING_EVENTS: usize = 1024;

/// How long the end of a session is waited for.
const CLOSING: Duration = Duration::from_secs(5);

/// What a Python program does at its end.
const FAREWELL: &str = include_str!("farewell.py");

/// The options of a session.
#[derive(Debug, clap::Args)]
pub(super) struct SessionOptions {
    /// The engine of JavaScript and TypeScript: `boa` or `quickjs` [default: boa]
    #[arg(long, value_name = "ENGINE", value_parser = language::parse_engine)]
    pub(super) engine: Option<JavaScriptEngine>,
    /// The interpreter or virtual environment of Python [default: an active or nearby one]
    #[arg(long, value_name = "PATH")]
    pub(super) python: Option<PathBuf>,
    /// The folder in which the code starts, and from which the imports of JavaScript do
    #[arg(long, value_name = "FOLDER")]
    pub(super) cwd: Option<PathBuf>,
    /// Where the code runs: `in-process`, or `worker`, a process of its own [default: worker for `repl`, else in-process]
    #[arg(long, value_name = "PLACEMENT", value_parser = placement)]
    pub(super) placement: Option<Placement>,
    /// How long a cell may run, in seconds [default: for ever]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(super) timeout: Option<Duration>,
    /// How much memory the engine may take, in MiB [default: 2048]
    #[arg(long, value_name = "MIB")]
    pub(super) memory: Option<u64>,
    /// How much of each output stream an outcome keeps, in bytes [default: 1048576]
    #[arg(long, value_name = "BYTES")]
    pub(super) output_bytes: Option<usize>,
    /// How large a value may be, in bytes of JSON [default: 16777216]
    #[arg(long, value_name = "BYTES")]
    pub(super) value_bytes: Option<usize>,
    /// Where images, large values and the whole of what was cut are kept as files [default: nowhere]
    #[arg(long, value_name = "FOLDER")]
    pub(super) artifacts: Option<PathBuf>,
    /// How large an image may be, and everything that a cell shows.
    #[arg(skip)]
    pub(super) shown_bytes: Option<usize>,
    #[command(flatten)]
    pub(super) process: ProcessOptions,
}

pub(super) fn placement(text: &str) -> Result<Placement, String> {
    match text {
        "in-process" => Ok(Placement::InProcess),
        "worker" => Ok(Placement::Worker),
        _ => Err("a placement is `in-process` or `worker`".to_owned()),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if timeout >= Duration::from_millis(1) => Ok(timeout),
        _ => Err("a timeout is a number of seconds, from 0.001".to_owned()),
    }
}

impl SessionOptions {
    /// The language of code that nothing else tells the language of: an engine that is named says it, too.
    pub(super) fn language_or_default(&self, given: Option<Language>) -> Language {
        let default = match self.engine {
            Some(_) => Language::JavaScript,
            None => Language::Python,
        };
        given.unwrap_or(default)
    }

    /// Refuses the options that none of these languages has a use for.
    pub(super) fn check(&self, languages: &[Language]) -> Result<(), Usage> {
        let has_python = languages.contains(&Language::Python);
        let has_other = languages
            .iter()
            .any(|language| *language != Language::Python);
        match self.engine {
            Some(engine) if !has_other => Err(Usage(format!(
                "`--engine` is `{}`, which runs no Python\nhint: leave `--engine` out, or name the language with `--language`",
                engine.as_str()
            ))),
            _ if self.python.is_some() && !has_python => Err(Usage(
                "`--python` is given, and none of the code is Python\nhint: leave `--python` out"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// A session of `language` as the options want it. The imports of JavaScript start from `folder`, unless the options
    /// name another.
    pub(super) fn builder(&self, language: Language, folder: &Path) -> SessionBuilder {
        let mut builder = Session::builder(language);
        if language != Language::Python {
            // A Python session of this process may change the working folder.
            if let Ok(folder) = path::absolute(folder) {
                builder = builder.cwd(folder);
            }
            if let Some(engine) = self.engine {
                builder = builder.javascript_engine(engine);
            }
        }
        self.apply(builder)
    }

    /// The same options, with a placement for when none is given.
    pub(super) fn or_placed(mut self, placement: Placement) -> Self {
        self.placement.get_or_insert(placement);
        self
    }

    /// The options that do not choose an engine.
    pub(super) fn apply(&self, mut builder: SessionBuilder) -> SessionBuilder {
        let mut limits = Limits::default();
        limits.timeout = self.timeout;
        limits.memory_mb = self.memory.unwrap_or(limits.memory_mb);
        limits.output_bytes = self.output_bytes.unwrap_or(limits.output_bytes);
        limits.value_bytes = self.value_bytes.unwrap_or(limits.value_bytes);
        limits.image_bytes = self.shown_bytes.unwrap_or(limits.image_bytes);
        limits.display_bytes = self.shown_bytes.unwrap_or(limits.display_bytes);
        self.process.limit(&mut limits);
        builder = self.process.apply(builder.limits(limits));
        if let Some(placement) = self.placement {
            builder = builder.placement(placement);
        }
        if let Some(python) = &self.python
            && builder.language() == Language::Python
        {
            builder = builder.python(python);
        }
        if let Some(cwd) = &self.cwd {
            builder = builder.cwd(cwd);
        }
        if let Some(artifacts) = &self.artifacts {
            builder = builder.artifacts(artifacts);
        }
        builder
    }

    /// Whether all that cells of this language print comes to us: neither they nor their children can write to our terminal.
    fn is_captured(&self, language: Language) -> bool {
        self.placement == Some(Placement::Worker) || language != Language::Python
    }

    /// Whether the options leave this engine in play.
    pub(super) fn includes(&self, builder: &SessionBuilder) -> bool {
        self.engine
            .is_none_or(|engine| engine.as_str() == builder.engine())
    }
}

/// How a Python session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// As a script does: when its threads have ended.
    Script,
    /// At once: what is typed for an answer should not be held up by a thread that runs for ever.
    Snippets,
    /// As above, and nothing is shown.
    Silent,
}

/// Runs cells on this thread, which sleeps while there is nothing to show.
pub(super) struct Runner {
    runtime: Runtime,
    pub(super) console: Console,
    show: Show,
    interrupts: Interrupts,
    /// The languages whose cells leave the terminal to us.
    captured: Vec<Language>,
}

impl Runner {
    /// Shows on `console`, and takes Ctrl-C over. To be called once in a process.
    pub(super) fn new(
        console: Console,
        show: Show,
        leave: Leave,
        options: &SessionOptions,
    ) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .context("cannot start the runtime that waits for cells")?;
        Ok(Self {
            runtime,
            console,
            show,
            interrupts: Interrupts::listen(leave).context("cannot listen for Ctrl-C")?,
            captured: Language::ALL
                .iter()
                .copied()
                .filter(|language| options.is_captured(*language))
                .collect(),
        })
    }

    /// Has a request to end the process stop the cell first, for the sake of what is written then.
    pub(super) fn heed_endings(&self) -> anyhow::Result<()> {
        let heeded = self.interrupts.heed_endings();
        heeded.context("cannot listen for signals")
    }

    /// Opens a session.
    pub(super) fn open(&self, builder: SessionBuilder) -> anyhow::Result<Session> {
        let language = builder.language();
        let opened = self.wait(builder.open());
        opened.map_err(|error| match error {
            RuntimeError::InvalidLimit {
                limit,
                given,
                least,
                most,
            } => {
                let (option, unit) = option_of(limit);
                let message =
                    format!("`{option}` is {given}{unit}, which is not between {least} and {most}");
                anyhow!(Usage(message))
            }
            RuntimeError::InvalidOption(_) => anyhow!(Usage(error.to_string())),
            error => anyhow!(error).context(format!("cannot open a {} session", language.as_str())),
        })
    }

    /// Runs a cell and shows all its output as it comes. When the output cannot be written any more, the cell is cancelled.
    pub(super) fn run(&mut self, session: &Session, code: &str) -> anyhow::Result<Outcome> {
        let Self {
            runtime,
            console,
            show,
            interrupts,
            captured,
        } = self;
        interrupts.aim(session);
        console.begin_cell(captured.contains(&session.language()));
        let (cell, mut events) = Cell::from(code).with_paced_events(WAITING_EVENTS);
        let execution = session.run(cell)?;
        let outcome = runtime.block_on(async {
            loop {
                let event = match events.try_next() {
                    Some(event) => event,
                    None => {
                        console.flush().context(UNWRITABLE)?;
                        match next_event(&mut events, console).await {
                            Some(event) => event,
                            None => break,
                        }
                    }
                };
                console.event(event, *show).context(UNWRITABLE)?;
            }
            Ok(execution.await)
        });
        console.end_cell();
        outcome
    }

    /// Shows what a cell came to, after what it printed: its value, and what its reader must know. In a terminal a long value
    /// is folded if `folds`.
    pub(super) fn show(&mut self, outcome: &Outcome, folds: bool) -> anyhow::Result<()> {
        if let Some(value) = &outcome.value {
            let shown = self.console.value(value.as_str(), self.show, folds);
            shown.context(UNWRITABLE)?;
        }
        self.console.rest(outcome).context(UNWRITABLE)
    }

    /// Tells a Python session which file its next cell is: scripts look for what lies beside them, and processes that
    /// `multiprocessing` starts afresh for the functions that they are to call.
    pub(super) fn name_file(&self, session: &Session, file: &Path) -> anyhow::Result<()> {
        let file = path::absolute(file).context("the working folder is gone")?;
        let name = serde_json::to_string(&file.to_string_lossy())?;
        Ok(self.wait(session.bind("__file__", Json::new(name)?))?)
    }

    /// Runs a cell and shows nothing.
    pub(super) fn run_silently(&self, session: &Session, code: &str) -> anyhow::Result<Outcome> {
        self.interrupts.aim(session);
        Ok(self.wait(session.run(code.into())?))
    }

    /// Ends a session as its programs would end outside of it: what they have registered for their end is called, and files are
    /// written to the end.
    pub(super) fn end(&mut self, session: &Session, farewell: Farewell) -> anyhow::Result<()> {
        let shown = match session.language() {
            Language::Python => self.say_farewell(session, farewell),
            _ => Ok(()),
        };
        // One that is stuck is not waited for.
        let _ = self.wait(async { tokio::time::timeout(CLOSING, session.close()).await });
        shown
    }

    fn say_farewell(&mut self, session: &Session, farewell: Farewell) -> anyhow::Result<()> {
        let waits_for_threads = match farewell {
            Farewell::Script => "True",
            Farewell::Snippets | Farewell::Silent => "False",
        };
        let code = format!("{FAREWELL}\n\nfarewell({waits_for_threads})\n");
        if farewell == Farewell::Silent {
            return self.run_silently(session, &code).map(drop);
        }
        let mut outcome = self.run(session, &code)?;
        // Of a session that ends nobody needs to know how safe it is.
        outcome.notice = None;
        self.console.rest(&outcome).context(UNWRITABLE)
    }

    /// Waits for an answer of the library.
    pub(super) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}

/// The next event of a cell; while there is none, the console shows that the cell still runs.
async fn next_event(events: &mut Events, console: &mut Console) -> Option<Event> {
    while let Some(patience) = console.patience() {
        match tokio::time::timeout(patience, events.next()).await {
            Ok(event) => return event,
            Err(_) => console.spin(),
        }
    }
    events.next().await
}

/// The option that sets a limit, and the unit that its range is told in.
fn option_of(limit: &str) -> (&str, &str) {
    match limit {
        "timeoutMs" => ("--timeout", " ms"),
        "memoryMb" => ("--memory", ""),
        "outputBytes" => ("--output-bytes", ""),
        "valueBytes" => ("--value-bytes", ""),
        other => (other, ""),
    }
}

/// What a failed write is reported as.
pub(super) const UNWRITABLE: &str = "cannot write to standard output";
