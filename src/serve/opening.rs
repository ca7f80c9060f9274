//! The parameters of `open`, and how they become a session's builder.

use std::path::Path;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use warmcell::{
    Backup, Capability, Integers, JavaScriptEngine, Language, Limits, Placement, Sandbox, Session,
    SessionBuilder,
};

use super::functions::Described;
use super::message::Problem;
use super::params::{Fields, required};
use crate::ready;

/// What a client wants to open.
pub(super) struct Opening {
    pub(super) builder: SessionBuilder,
    /// The client's functions that its cells can call.
    pub(super) functions: Vec<Described>,
    names_python: bool,
}

impl Opening {
    /// Whether it is the python that the client named that cannot be used: the field is to blame then, not the engine.
    pub(super) fn wrong_python(&self) -> Option<Problem> {
        match self.builder.facts() {
            Err(error) if self.names_python => {
                Some(Problem::invalid_params(format!("`python`: {error}")))
            }
            _ => None,
        }
    }
}

/// The words for the sandboxes.
pub(super) const SANDBOXES: [(&str, Sandbox); 3] = [
    ("off", Sandbox::Off),
    ("workspace-write", Sandbox::WorkspaceWrite),
    ("read-only", Sandbox::ReadOnly),
];

/// Reads the parameters of `open`. Sessions that name no folder for artifacts get `artifacts`.
pub(super) fn read(mut params: Fields, artifacts: Option<&Path>) -> Result<Opening, Problem> {
    let languages: Vec<(&str, Language)> = Language::ALL
        .iter()
        .map(|language| (language.as_str(), *language))
        .collect();
    let language = required("language", params.choice("language", &languages)?)?;
    let mut builder = Session::builder(language);
    if language == Language::Python {
        // Python has one engine, which bears its name.
        params.choice("engine", &[(language.as_str(), ())])?;
    } else {
        let engines: Vec<(&str, JavaScriptEngine)> = JavaScriptEngine::ALL
            .iter()
            .map(|engine| (engine.as_str(), *engine))
            .collect();
        if let Some(engine) = params.choice("engine", &engines)? {
            builder = builder.javascript_engine(engine);
        }
    }
    builder = builder.placement(placement(&mut params)?);
    if let Some(limits) = params.fields("limits")? {
        builder = builder.limits(read_limits(limits)?);
    }
    let cwd = params.text("cwd")?;
    if let Some(folder) = &cwd {
        builder = builder.cwd(folder);
    }
    let python = params.text("python")?;
    let names_python = python.is_some();
    if let Some(interpreter) = python {
        builder = builder.python(interpreter);
    }
    for (name, value) in params.text_map("env")?.unwrap_or_default() {
        builder = builder.env(name, value);
    }
    for name in params.texts("envPass")?.unwrap_or_default() {
        builder = builder.env_pass(name);
    }
    let integers = [("exact", Integers::Exact), ("safe", Integers::Safe)];
    if let Some(integers) = params.choice("integers", &integers)? {
        builder = builder.integers(integers);
    }
    let backups = [
        ("off", Backup::Off),
        ("last", Backup::Last),
        ("undo", Backup::Undo),
    ];
    if let Some(backup) = params.choice("backup", &backups)? {
        builder = builder.backup(backup);
    }
    let sandbox = params.choice("sandbox", &SANDBOXES)?.unwrap_or_default();
    builder = builder.sandbox(sandbox);
    let workspace = params.text("workspace")?;
    let asked: Vec<Asked> = params.list("capabilities")?.unwrap_or_default();
    // Without a sandbox it is the folder of the capabilities alone.
    if let Some(folder) = &workspace
        && (asked.is_empty() || sandbox != Sandbox::Off)
    {
        builder = builder.workspace(folder);
    }
    let folder = workspace.or(cwd).unwrap_or_else(|| ".".to_owned());
    for capability in capabilities(asked, Path::new(&folder))? {
        builder = builder.capability(capability);
    }
    if let Some(folder) = params.text("artifacts")? {
        builder = builder.artifacts(folder);
    } else if let Some(folder) = artifacts {
        builder = builder.artifacts(folder);
    }
    if let Some(allowed) = params.flag("network")? {
        builder = builder.network(allowed);
    }
    let functions = params.list("functions")?.unwrap_or_default();
    params.finish()?;
    Ok(Opening {
        builder,
        functions,
        names_python,
    })
}

fn placement(params: &mut Fields) -> Result<Placement, Problem> {
    let choices = [
        ("in-process", Placement::InProcess),
        ("worker", Placement::Worker),
    ];
    Ok(params
        .choice("placement", &choices)?
        .unwrap_or(Placement::Worker))
}

fn read_limits(mut given: Fields) -> Result<Limits, Problem> {
    let mut limits = Limits::default();
    if let Some(milliseconds) = given.whole("timeoutMs")? {
        limits.timeout = Some(Duration::from_millis(milliseconds));
    }
    if let Some(milliseconds) = given.whole("cpuMs")? {
        limits.cpu = Some(Duration::from_millis(milliseconds));
    }
    if let Some(mebibytes) = given.whole("memoryMb")? {
        limits.memory_mb = mebibytes;
    }
    limits.processes = given.whole("processes")?;
    limits.open_files = given.whole("openFiles")?;
    limits.file_mb = given.whole("fileMb")?;
    for (name, limit) in [
        ("outputBytes", &mut limits.output_bytes),
        ("valueBytes", &mut limits.value_bytes),
        ("imageBytes", &mut limits.image_bytes),
        ("displayBytes", &mut limits.display_bytes),
        ("displayEntries", &mut limits.display_entries),
    ] {
        if let Some(number) = given.whole(name)? {
            *limit = usize::try_from(number).unwrap_or(usize::MAX);
        }
    }
    if let Some(bytes) = given.whole("artifactBytes")? {
        limits.artifact_bytes = bytes;
    }
    given.finish()?;
    Ok(limits)
}

/// A capability that a client asks for.
enum Asked {
    Name(String),
    Http(Web),
}

/// What HTTP may reach.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Web {
    hosts: Vec<String>,
}

impl<'de> Deserialize<'de> for Asked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Described {
            http: Web,
        }
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self::Name(name)),
            given => serde_json::from_value(given)
                .map(|described: Described| Self::Http(described.http))
                .map_err(|_| {
                    D::Error::custom(
                        "each is a name, or `{\"http\": {\"hosts\": [\"example.org\"]}}`",
                    )
                }),
        }
    }
}

/// The ready-made capabilities that a client asks for, in a folder.
fn capabilities(asked: Vec<Asked>, folder: &Path) -> Result<Vec<Capability>, Problem> {
    asked
        .into_iter()
        .map(|asked| {
            let made = match asked {
                Asked::Name(name) => ready::named(&name, folder),
                Asked::Http(web) => ready::http(web.hosts),
            };
            made.map_err(|error| Problem::invalid_params(format!("`capabilities`: {error}")))
        })
        .collect()
}
