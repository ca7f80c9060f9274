//! The options that only a session in a process of its own can have: what it is held to and what is kept of it.

use std::path::PathBuf;
use std::time::Duration;

use warmcell::{Backup, Limits, Sandbox, SessionBuilder};

use super::runner::seconds;

/// What a worker is held to. A session in this process is refused with any of it, which its message says.
#[derive(Debug, clap::Args)]
pub(super) struct ProcessOptions {
    /// What the code may do with files, in a worker: `off`, `workspace-write` or `read-only` [default: off]
    #[arg(long, value_name = "SANDBOX", value_parser = sandbox)]
    pub(super) sandbox: Option<Sandbox>,
    /// The folder that `workspace-write` lets the code write to [default: the folder in which the code starts]
    #[arg(long, value_name = "FOLDER")]
    pub(super) workspace: Option<PathBuf>,
    /// Let the code open no sockets, in a worker
    #[arg(long)]
    pub(super) no_network: bool,
    /// What is kept for when the worker dies: `off`, `last` or `undo` [default: last]
    #[arg(long, value_name = "BACKUP", value_parser = backup)]
    pub(super) backup: Option<Backup>,
    /// Let a worker's code see this variable of the environment, too; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(super) env_pass: Vec<String>,
    /// How much processor time a cell and its children may take, in seconds, in a worker [default: any]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(super) cpu: Option<Duration>,
    /// How many processes the code may have, in a worker [default: 512]
    #[arg(long, value_name = "NUMBER")]
    pub(super) processes: Option<u64>,
    /// How many files each process may have open, in a worker [default: as many as this one]
    #[arg(long, value_name = "NUMBER")]
    pub(super) open_files: Option<u64>,
    /// How large a file the code may write, in MiB, in a worker [default: any]
    #[arg(long, value_name = "MIB")]
    pub(super) file_size: Option<u64>,
}

pub(super) fn sandbox(text: &str) -> Result<Sandbox, String> {
    match text {
        "off" => Ok(Sandbox::Off),
        "workspace-write" => Ok(Sandbox::WorkspaceWrite),
        "read-only" => Ok(Sandbox::ReadOnly),
        _ => Err("a sandbox is `off`, `workspace-write` or `read-only`".to_owned()),
    }
}

pub(super) fn backup(text: &str) -> Result<Backup, String> {
    match text {
        "off" => Ok(Backup::Off),
        "last" => Ok(Backup::Last),
        "undo" => Ok(Backup::Undo),
        _ => Err("a backup is `off`, `last` or `undo`".to_owned()),
    }
}

impl ProcessOptions {
    pub(super) fn limit(&self, limits: &mut Limits) {
        limits.cpu = self.cpu;
        limits.processes = self.processes;
        limits.open_files = self.open_files;
        limits.file_mb = self.file_size;
    }

    pub(super) fn apply(&self, mut builder: SessionBuilder) -> SessionBuilder {
        if let Some(sandbox) = self.sandbox {
            builder = builder.sandbox(sandbox);
        }
        if let Some(workspace) = &self.workspace {
            builder = builder.workspace(workspace);
        }
        if let Some(backup) = self.backup {
            builder = builder.backup(backup);
        }
        for name in &self.env_pass {
            builder = builder.env_pass(name);
        }
        builder.network(!self.no_network)
    }
}
