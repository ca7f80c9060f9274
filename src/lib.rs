//! Code cells that stay warm: persistent Python, JavaScript and TypeScript sessions inside a Rust host, for agents.
//!
//! A host hands over a piece of code that a model wrote (a *cell*) and gets an [`Outcome`] it can act on: value, output,
//! error, and the truth about the session's state. Between cells the [`Session`] keeps its variables, imports, functions,
//! classes and tasks. Python runs on CPython with the packages of a virtual environment, JavaScript and TypeScript on boa or
//! on QuickJS.
//!
//! ```
//! # #[cfg(feature = "python")] {
//! use warmcell::{Language, Session};
//!
//! let session = Session::builder(Language::Python).open_blocking()?;
//! session.run("rows = [{'name': 'Ann', 'score': 91}, {'name': 'Bob', 'score': 77}]".into())?.wait();
//! let outcome = session.run("return max(rows, key=lambda row: row['score'])['name']".into())?.wait();
//! assert_eq!(outcome.value.unwrap().as_str(), "\"Ann\"");
//! # }
//! # Ok::<(), warmcell::RuntimeError>(())
//! ```
//!
//! ```
//! # #[cfg(feature = "javascript")] {
//! use warmcell::{Language, Session};
//!
//! let session = Session::builder(Language::TypeScript).open_blocking()?;
//! session.run("const rows: number[] = [3, 1, 2];".into())?.wait();
//! let outcome = session.run("return rows.toSorted()".into())?.wait();
//! assert_eq!(outcome.value.unwrap().as_str(), "[1,2,3]");
//! # }
//! # Ok::<(), warmcell::RuntimeError>(())
//! ```
//!
//! # The map
//!
//! - [`Session`], made by [`SessionBuilder`], runs a [`Cell`] as an [`Execution`] and hands back an [`Outcome`].
//! - [`CodeRuntime`] is the contract in two verbs, for hosts that want no more.
//! - [`Limits`] are a session's budgets; [`Placement`] says where its engine runs.
//! - [`Language`] and [`JavaScriptEngine`] say what its cells are written in and run on.
//! - [`EngineFacts`] says what a session would run on, before one is opened.
//! - [`Event`] and [`Events`] are a cell's output while it runs.
//! - [`Capability`] is what cells may call of the host; `capabilities` has ready-made ones.
//! - [`Registry`] keeps sessions by name and language, as many as may live.
//! - [`tool`] is a session as a tool of a model: what the model is told, and what it reads.
//!
//! Futures need no runtime: they work on any executor, and [`Execution::wait`] needs none at all.
//!
//! # Features
//!
//! `python`, `javascript` (JavaScript and TypeScript on boa), `quickjs` (the same on QuickJS), `capabilities` (ready-made ones:
//! files, a shell, git, search), `http` (one for HTTP), `images` (scales images that are over their budget), `html` (turns HTML
//! into Markdown for models), `cli` (the binary) and `mcp` (its server for MCP clients), all on by default. A host that runs boa with a memory limit of its own makes `CountingAllocator` its global allocator.
//!
//! # Trust
//!
//! In process, code is trusted code: it can do whatever the host can. An engine that crashes takes the process with it.

#![cfg_attr(
    not(any(feature = "python", feature = "_javascript")),
    expect(dead_code, reason = "no engine is built in that would use it")
)]

mod artifacts;
mod capability;
mod cell;
mod engine;
mod facts;
mod limits;
mod outcome;
mod output;
mod placement;
mod registry;
mod runtime;
mod session;
pub mod tool;

#[cfg(feature = "_javascript")]
#[doc(hidden)]
pub use engine::javascript::internals as javascript_internals;
#[cfg(feature = "python")]
#[doc(hidden)]
pub use engine::python::internals;

pub use artifacts::{Artifact, ArtifactPart, clean_artifacts};
#[cfg(feature = "capabilities")]
pub use capability::standard as capabilities;
pub use capability::{
    Action, Call, Capability, CapabilityError, CapabilityErrorKind, Decision, InvalidSignature,
    Permission, Requested, Signature,
};
pub use cell::Cell;
#[cfg(feature = "_javascript")]
pub use engine::javascript::CountingAllocator;
pub use engine::{Integers, Variable};
pub use facts::{ArmedLimit, EngineFacts};
pub use limits::Limits;
pub use outcome::{
    Background, Cut, Display, Failure, FailureKind, Files, InvalidJson, Json, Outcome,
    SessionState, Truncated,
};
pub use output::{Event, Events, Stream};
pub use placement::worker::{Isolation, Sandbox};
pub use placement::{Placement, worker};
pub use registry::{Lease, Listed, Registry, RegistryError};
pub use runtime::{Backup, CodeRuntime, JavaScriptEngine, Language, RuntimeError, SessionBuilder};
pub use session::{Canceller, Completions, Execution, Session};

/// The README's Rust, compiled and run.
#[cfg(all(doctest, feature = "python", feature = "quickjs"))]
#[doc = include_str!("../README.md")]
struct Readme;
