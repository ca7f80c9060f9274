//! [`CodeRuntime`], the contract in two verbs; [`RuntimeError`], what cannot even start; [`SessionBuilder`], which makes
//! a [`Session`](crate::Session).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::capability::{self, Capability, Permission};
use crate::engine::{self, Integers};
use crate::facts::EngineFacts;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::placement::Placement;
use crate::placement::worker::Sandbox;
use crate::session::Session;

/// Something that runs cells and remembers what they did.
///
/// # Examples
///
/// ```
/// use warmcell::{CodeRuntime, Outcome};
///
/// async fn answer(runtime: &dyn CodeRuntime) -> Outcome {
///     runtime.execute("rows = [1, 2, 3]").await;
///     runtime.execute("return sum(rows)").await
/// }
/// ```
#[async_trait]
pub trait CodeRuntime: Send + Sync {
    /// Runs one cell and says what came of it. Whatever the cell does is an [`Outcome`], never an error of the call.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the cell: one that waits never runs, one that runs is stopped.
    async fn execute(&self, code: &str) -> Outcome;

    /// Forgets everything: the next cell meets a fresh session.
    ///
    /// # Errors
    ///
    /// When the session is closed, or its interpreter is gone.
    async fn reset(&self) -> Result<(), RuntimeError>;
}

/// Misuse, or something that cannot start. What a cell does is never one of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
    /// A limit is out of its range.
    #[error("`{limit}` is {given}, which is not between {least} and {most}")]
    InvalidLimit {
        /// The limit, as the wire names it.
        limit: &'static str,
        /// What was given.
        given: u64,
        /// The least that is taken.
        least: u64,
        /// The most that is taken.
        most: u64,
    },
    /// An option does not make sense; the text names it and says what to do.
    #[error("{0}")]
    InvalidOption(String),
    /// The build does not contain the engine.
    #[error("this build has no {engine} engine\nhint: build warmcell with the feature `{feature}`")]
    NotBuilt {
        /// The language or engine that was asked for.
        engine: &'static str,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// The interpreter could not be started, or it is gone; the text says why and what to do.
    #[error("{0}")]
    Unavailable(String),
    /// The engine refused what was asked; the text says why.
    #[error("{0}")]
    Refused(String),
}

/// A language that cells are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Language {
    /// Python, on CPython.
    Python,
    /// JavaScript, on boa or QuickJS.
    JavaScript,
    /// TypeScript, on boa or QuickJS: types are erased, not checked.
    TypeScript,
}

impl Language {
    /// Every language this version knows, whether it was built in or not.
    pub const ALL: &'static [Self] = &[Self::Python, Self::JavaScript, Self::TypeScript];

    /// The language as the wire names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
        }
    }
}

/// An engine that runs JavaScript and TypeScript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum JavaScriptEngine {
    /// boa: pure Rust, with Intl and Temporal; slow at string building.
    #[default]
    Boa,
    /// QuickJS: several times faster, and it has a memory limit of its own; no Intl, no Temporal.
    QuickJs,
}

impl JavaScriptEngine {
    /// What a session gets that asks for none: boa, unless QuickJS alone was built in.
    pub(crate) const UNASKED: Self = if cfg!(feature = "quickjs") && !cfg!(feature = "javascript") {
        Self::QuickJs
    } else {
        Self::Boa
    };

    /// Every engine this version knows, whether it was built in or not; the default first.
    pub const ALL: &'static [Self] = &[Self::Boa, Self::QuickJs];

    /// The engine as the wire names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Boa => "boa",
            Self::QuickJs => "quickjs",
        }
    }
}

/// What a session is opened with.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
/// use warmcell::{Language, Limits, Session};
///
/// let session = Session::builder(Language::Python)
///     .python(".venv")
///     .limits(Limits::default().with_timeout(Duration::from_secs(10)))
///     .env("REGION", "eu")
///     .open_blocking()?;
/// # Ok::<(), warmcell::RuntimeError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until the session is opened"]
pub struct SessionBuilder {
    pub(crate) language: Language,
    pub(crate) placement: Placement,
    pub(crate) limits: Limits,
    pub(crate) python: Option<PathBuf>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) imports_from: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) env_pass: Vec<String>,
    pub(crate) integers: Integers,
    pub(crate) code_cache: bool,
    pub(crate) javascript_engine: Option<JavaScriptEngine>,
    pub(crate) worker_executable: Option<PathBuf>,
    pub(crate) backup: Backup,
    pub(crate) sandbox: Sandbox,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) artifacts: Option<PathBuf>,
    pub(crate) network: bool,
    pub(crate) capabilities: Vec<Capability>,
    pub(crate) permission: Option<Arc<dyn Permission>>,
}

/// What a worker session goes back to when its process dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Backup {
    /// Nothing: a session whose process dies is lost.
    Off,
    /// The state before the cell that was running.
    #[default]
    Last,
    /// The same, and [`Session::undo`] can go back by one cell, at the price of a second sleeping copy.
    Undo,
}

impl SessionBuilder {
    pub(crate) fn new(language: Language) -> Self {
        Self {
            language,
            placement: Placement::default(),
            limits: Limits::default(),
            python: None,
            cwd: None,
            imports_from: None,
            env: BTreeMap::new(),
            env_pass: Vec::new(),
            integers: Integers::default(),
            code_cache: true,
            javascript_engine: None,
            worker_executable: None,
            backup: Backup::default(),
            sandbox: Sandbox::default(),
            workspace: None,
            artifacts: None,
            network: true,
            capabilities: Vec::new(),
            permission: None,
        }
    }

    /// A builder for each language on each of its engines, whether it was built in or not; a language's default engine
    /// comes first.
    ///
    /// # Examples
    ///
    /// ```
    /// use warmcell::SessionBuilder;
    ///
    /// for builder in SessionBuilder::all() {
    ///     let name = (builder.language().as_str(), builder.engine());
    ///     match builder.facts() {
    ///         Ok(facts) => println!("{name:?}: version {}", facts.version),
    ///         Err(problem) => println!("{name:?}: {problem}"),
    ///     }
    /// }
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        Language::ALL.iter().flat_map(|language| {
            let builder = Self::new(*language);
            match language {
                Language::Python => vec![builder],
                Language::JavaScript | Language::TypeScript => JavaScriptEngine::ALL
                    .iter()
                    .map(|engine| builder.clone().javascript_engine(*engine))
                    .collect(),
            }
        })
    }

    /// The language of the session's cells.
    pub fn language(&self) -> Language {
        self.language
    }

    pub(crate) fn chosen_javascript_engine(&self) -> JavaScriptEngine {
        self.javascript_engine.unwrap_or(JavaScriptEngine::UNASKED)
    }

    /// The engine that the session runs on, as the wire names it.
    pub fn engine(&self) -> &'static str {
        match self.language {
            Language::Python => self.language.as_str(),
            Language::JavaScript | Language::TypeScript => self.chosen_javascript_engine().as_str(),
        }
    }

    /// Where the session's engine runs. Default: in this process.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// The budgets of the session.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The interpreter or venv that Python sessions see.
    ///
    /// Default: an active `VIRTUAL_ENV`, then `.venv` or `venv` in the working directory or the nearest parent, then the
    /// python that warmcell was built with. A process has one interpreter: its first Python session chooses. Sessions of
    /// other languages with one are refused.
    pub fn python(mut self, interpreter_or_venv: impl Into<PathBuf>) -> Self {
        self.python = Some(interpreter_or_venv.into());
        self
    }

    /// The folder in which the session's cells start. Default: the host's.
    ///
    /// It is all that `import` reaches in JavaScript and TypeScript; without one they import nothing.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// The folder whose modules Python's `import` finds before all others, as that of a script is. A relative one is taken from
    /// the host's folder. Default: none; the working folder's modules are found in any case.
    ///
    /// JavaScript imports from its [`cwd`](Self::cwd) alone: its sessions with such a folder are refused.
    pub fn imports_from(mut self, folder: impl Into<PathBuf>) -> Self {
        self.imports_from = Some(folder.into());
        self
    }

    /// An environment variable that the session's cells see besides the host's. JavaScript has no environment: sessions
    /// with variables are refused.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The engine of a JavaScript or TypeScript session; a Python session with one is refused. Default: boa;
    /// QuickJS where it alone was built in.
    pub fn javascript_engine(mut self, engine: JavaScriptEngine) -> Self {
        self.javascript_engine = Some(engine);
        self
    }

    /// Which integers a value may hold. Default: all of 64 bits.
    pub fn integers(mut self, integers: Integers) -> Self {
        self.integers = integers;
        self
    }

    /// Whether sources that come again are kept compiled; only a bench has a reason to turn it off.
    #[doc(hidden)]
    pub fn code_cache(mut self, kept: bool) -> Self {
        self.code_cache = kept;
        self
    }

    /// Lets Python cells in a worker see a variable of the host's environment, besides those that programs need to find
    /// things (`PATH`, `HOME`, `LANG`, `VIRTUAL_ENV` and their like). In process they see all.
    pub fn env_pass(mut self, name: impl Into<String>) -> Self {
        self.env_pass.push(name.into());
        self
    }

    /// The program that workers run.
    ///
    /// Default: `warmcell` beside this executable or on PATH, else this executable, if its `main` has called
    /// [`worker::init`](crate::worker::init). It must be of the same build.
    pub fn worker_executable(mut self, program: impl Into<PathBuf>) -> Self {
        self.worker_executable = Some(program.into());
        self
    }

    /// Whether a worker session can go back when its process dies. Default: [`Backup::Last`].
    ///
    /// A backup costs a fork after each cell, off its path, and memory for what the session changes.
    pub fn backup(mut self, backup: Backup) -> Self {
        self.backup = backup;
        self
    }

    /// Which files the cells of a worker reach. Default: [`Sandbox::Off`].
    ///
    /// Opening the session fails where the kernel cannot enforce it.
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// The folder of a sandbox that cells may write to, or read. Default: the session's [`cwd`](Self::cwd), else where the
    /// host is.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// The folder in which the session makes one of its own, once it is needed, for what is too large for an outcome: output
    /// over its budget, images and large values are files there, which the outcome names and
    /// [`Session::artifact`] reads. Default: none, and what is over a budget is lost.
    ///
    /// The folder is made if it is not there; what is written stays after the session. What cannot be written is told in a
    /// notice, and no cell fails for it.
    pub fn artifacts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.artifacts = Some(folder.into());
        self
    }

    /// Whether the cells of a worker may open sockets of the network. Default: yes.
    pub fn network(mut self, allowed: bool) -> Self {
        self.network = allowed;
        self
    }

    /// Host functions that the session's cells can call; can be given several times. The names are checked when the session is
    /// opened.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "python")] {
    /// use warmcell::{Action, Capability, Language, Session, Signature};
    ///
    /// let signature = Signature::new().required("name", "string", "whom to greet");
    /// let greet = Action::new("greet", signature, |call| {
    ///     Ok(format!("good morning, {}", call.argument::<String>("name")?))
    /// });
    /// let session = Session::builder(Language::Python)
    ///     .capability(Capability::new("manners").with_action(greet))
    ///     .open_blocking()?;
    /// let outcome = session.run("return manners.greet('Ada')".into())?.wait();
    /// assert_eq!(outcome.value.unwrap().as_str(), "\"good morning, Ada\"");
    /// # }
    /// # Ok::<(), warmcell::RuntimeError>(())
    /// ```
    pub fn capability(mut self, capability: Capability) -> Self {
        self.capabilities.push(capability);
        self
    }

    /// Typed declarations of the host functions, as [`Session::stubs`] gives them; empty where there are none.
    pub fn stubs(&self) -> String {
        let offered = capability::offer(&self.capabilities).unwrap_or_default();
        capability::stubs(self.language, &offered)
    }

    /// Who is asked before each call of a host function. Default: nobody, and every call runs.
    pub fn permission(mut self, permission: Arc<dyn Permission>) -> Self {
        self.permission = Some(permission);
        self
    }

    /// What a session opened like this would run on. Nothing is started.
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] when the engine was not built in, or the interpreter that was asked for cannot be used.
    pub fn facts(&self) -> Result<EngineFacts, RuntimeError> {
        engine::facts(self)
    }

    /// Opens the session; the first one of a language starts its interpreter (about 20 ms for Python).
    ///
    /// # Errors
    ///
    /// [`RuntimeError`] when an option or a limit does not make sense, or the interpreter cannot be started.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing behind; an interpreter that was being started stays for the next session.
    pub async fn open(self) -> Result<Session, RuntimeError> {
        Session::open(self).await
    }

    /// Opens the session and waits for it, on a thread that runs no async code.
    ///
    /// # Errors
    ///
    /// As [`SessionBuilder::open`].
    pub fn open_blocking(self) -> Result<Session, RuntimeError> {
        crate::session::block_on(self.open())
    }
}
