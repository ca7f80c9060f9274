//! The capability `shell`: one command, its output and how it ended.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::program::{Finished, Left, Program};
use super::workspace::Workspace;
use super::{environment, in_words, signature, timeout};
use crate::capability::{Action, Call, Capability, CapabilityError};
use crate::outcome::Json;
use crate::runtime::RuntimeError;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of each stream that are kept.
const KEPT_BYTES: usize = 1 << 20;

/// How much of a command stands in a message.
const SHOWN_CHARACTERS: usize = 80;

const PARAMETERS: &str = r#"{
    "type": "object",
    "required": ["command"],
    "properties": {
        "command": {"type": ["string", "array"], "description": "a line for `sh`, or a program and its arguments as a list"},
        "cwd": {"type": "string", "description": "a folder of the workspace; the workspace by default"},
        "timeout_seconds": {"type": "number", "description": "60 by default"},
        "input": {"type": "string", "description": "its standard input; empty by default"}
    }
}"#;

pub(super) fn capability(workspace: Workspace) -> Result<Capability, RuntimeError> {
    let run = Action::asynchronous("run", signature(PARAMETERS)?, move |call| {
        run(workspace.clone(), call)
    });
    Ok(Capability::new("shell")
        .with_description("Commands of the machine, begun in the workspace.")
        .with_action(run.with_description(
            "Runs a command and waits: {exit_code, signal, stdout, stderr, truncated}; what it leaves in the background is killed.",
        )))
}

/// A command as cells give it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    Line(String),
    List(Vec<String>),
}

impl Given {
    /// The program and its arguments.
    fn parts(&self) -> Result<(OsString, Vec<OsString>), CapabilityError> {
        let parts = match self {
            Self::Line(line) => ["sh", "-c", line].map(str::to_owned).to_vec(),
            Self::List(list) => list.clone(),
        };
        if parts.iter().any(|part| part.contains('\0')) {
            return Err(CapabilityError::tool(
                "`command` cannot hold a NUL character",
            ));
        }
        match parts.split_first() {
            Some((name, arguments)) if !name.is_empty() => {
                Ok((name.into(), arguments.iter().map(OsString::from).collect()))
            }
            _ => Err(CapabilityError::tool("`command` names no program")),
        }
    }

    fn shown(&self) -> String {
        let whole = match self {
            Self::Line(line) => line.clone(),
            Self::List(list) => list.join(" "),
        };
        match whole.char_indices().nth(SHOWN_CHARACTERS) {
            None => whole,
            Some((end, _)) => format!("{}...", &whole[..end]),
        }
    }
}

#[derive(Serialize)]
struct Answer {
    exit_code: Option<i32>,
    signal: Option<i32>,
    #[serde(flatten)]
    output: Output,
}

/// What it wrote.
#[derive(Serialize)]
struct Output {
    stdout: String,
    stderr: String,
    /// Of which stream how much was left out.
    truncated: Option<Truncated>,
}

#[derive(Serialize)]
struct Truncated {
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<Left>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<Left>,
}

async fn run(workspace: Workspace, call: Call) -> Result<Answer, CapabilityError> {
    let given: Given = call
        .argument("command")
        .map_err(|_| CapabilityError::tool("`command` must be a string, or a list of strings"))?;
    let (name, arguments) = given.parts()?;
    let timeout = timeout(&call, DEFAULT_TIMEOUT, LONGEST_TIMEOUT)?;
    let folder = match call.argument::<Option<String>>("cwd")?.as_deref() {
        None | Some("") => workspace.whole(),
        Some(written) => workspace.inside(written)?,
    };
    let program = Program {
        name,
        arguments,
        environment: environment::passed(),
        folder: workspace.open_folder(&folder, "begin in")?,
        input: call
            .argument::<Option<String>>("input")?
            .map(String::into_bytes),
        timeout,
        budget: KEPT_BYTES,
        // The command may do what the host may.
        rules: None,
    };
    let finished = program.run().await.map_err(|error| {
        CapabilityError::tool(format!(
            "cannot run `{}`: {}",
            given.shown(),
            in_words(&error)
        ))
    })?;
    let Finished {
        exit_code,
        signal,
        stdout,
        stderr,
        timed_out,
    } = finished;
    let is_whole = stdout.cut.is_none() && stderr.cut.is_none();
    let output = Output {
        stdout: stdout.text,
        stderr: stderr.text,
        truncated: (!is_whole).then_some(Truncated {
            stdout: stdout.cut,
            stderr: stderr.cut,
        }),
    };
    if timed_out {
        let error = CapabilityError::timeout(format!(
            "`{}` was still running after {} s, and was killed",
            given.shown(),
            timeout.as_secs_f64()
        ));
        return Err(match Json::of(&output) {
            Ok(output) => error.with_data(output),
            Err(_) => error,
        });
    }
    Ok(Answer {
        exit_code,
        signal,
        output,
    })
}
