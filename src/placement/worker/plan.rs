//! [`Plan`]: what the workers of one session are started with, and which program is one of ours.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fs};

use super::environment::Environment;
use super::messages::{self, Hello, Open, Prepare};
use super::sandbox::Confinement;
use crate::engine::{Caller, Opening};
use crate::facts::EngineFacts;
use crate::limits::Limits;
use crate::runtime::{Backup, SessionBuilder};

/// What makes workers alike until a session is opened in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) program: PathBuf,
    pub(super) prepare: Prepare,
    pub(super) environment: Vec<(String, String)>,
    /// Where the host was, which is where a worker starts.
    pub(super) folder: PathBuf,
}

/// What a worker is opened with. Where that and the configuration are the same, a worker serves one session as well as another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) open: Open,
    /// The folder it stands in, which may have been removed and made anew since.
    folder: Option<(u64, u64)>,
}

/// What a session's workers are started with.
pub(super) struct Plan {
    pub(super) configuration: Configuration,
    opening: Opening,
    withheld: Vec<String>,
    backup: Backup,
    facts: EngineFacts,
}

impl Plan {
    pub(super) fn new(
        builder: &SessionBuilder,
        opening: &Opening,
        program: PathBuf,
        facts: EngineFacts,
    ) -> Self {
        let folder = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let prepare = Prepare {
            language: builder.language,
            javascript_engine: builder.chosen_javascript_engine(),
            python: builder.python.clone(),
            cwd: builder.cwd.clone(),
            confinement: Confinement::of(builder, &facts.reads, &folder),
        };
        let environment = Environment::of_this_process(&builder.env_pass);
        let configuration = Configuration {
            program,
            prepare,
            environment: environment.passed,
            folder,
        };
        Self {
            configuration,
            opening: opening.clone(),
            withheld: environment.withheld,
            backup: builder.backup,
            facts,
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.opening.limits
    }

    pub(super) fn caller(&self) -> Option<&Arc<dyn Caller>> {
        self.opening.caller.as_ref()
    }

    pub(super) fn backup(&self) -> Backup {
        self.backup
    }

    pub(super) fn keeps_backup(&self) -> bool {
        self.backup != Backup::Off
    }

    /// How many sleeping copies are worth keeping.
    pub(super) fn generations(&self) -> usize {
        match self.backup {
            Backup::Undo => 2,
            Backup::Off | Backup::Last => 1,
        }
    }

    pub(super) fn opened(&self) -> Opened {
        let opening = &self.opening;
        let folder = opening.cwd.as_ref().unwrap_or(&self.configuration.folder);
        let folder = fs::metadata(folder).ok();
        let open = Open {
            memory_mb: opening.limits.memory_mb,
            open_files: opening.limits.open_files,
            file_mb: opening.limits.file_mb,
            value_bytes: opening.limits.value_bytes,
            display_entries: opening.limits.display_entries,
            integers: opening.integers,
            code_cache: opening.code_cache,
            python: opening.python.clone(),
            cwd: opening.cwd.clone(),
            imports_from: opening.imports_from.clone(),
            env: opening.env.clone(),
            withheld: self.withheld.clone(),
            backup: self.keeps_backup(),
            offered: match &opening.caller {
                Some(caller) => caller.offered().to_vec(),
                None => Vec::new(),
            },
        };
        Opened {
            open,
            folder: folder.map(|folder| (folder.dev(), folder.ino())),
        }
    }

    /// Why the worker that says this is not one of ours.
    pub(super) fn refuse(&self, hello: &Hello) -> Option<String> {
        let what = if hello.protocol != messages::PROTOCOL || hello.build != messages::BUILD {
            format!(
                "is warmcell {} and this is {}",
                hello.build,
                messages::BUILD
            )
        } else if !hello.languages.contains(&self.facts.engine) {
            format!("has no {} engine", self.facts.engine)
        } else if hello.version != self.facts.version {
            format!(
                "runs {} {} and this was built for {}",
                self.facts.engine, hello.version, self.facts.version
            )
        } else {
            return None;
        };
        Some(format!(
            "the worker executable `{}` {what}\nhint: name one of the same build with `worker_executable`",
            self.configuration.program.display()
        ))
    }
}
