//! The working folder and environment of a session, put in place for its cells and put back after them.
//!
//! Both belong to the process, so other threads of the host see them while a cell runs that changed them; between cells the
//! host's are there. A session that changed nothing costs nothing: the audit hook tells.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use pyo3::prelude::*;

use super::audit::{self, Before};
use super::interpreter::Interpreter;
use crate::engine::Opening;

/// What a session sees besides, or instead of, what the host has.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    folder: Option<PathBuf>,
    /// Variables as they should be for the session; `None` is one it does not have.
    variables: BTreeMap<OsString, Option<OsString>>,
    /// The host's folder, while a cell runs that has another.
    host_folder: Option<OwnedFd>,
}

impl Surroundings {
    /// As a fresh session has them.
    pub(super) fn new(opening: &Opening) -> Self {
        let variables = opening
            .env
            .iter()
            .map(|(name, value)| (name.into(), Some(value.into())))
            .collect::<BTreeMap<_, _>>();
        Self {
            folder: opening.cwd.clone(),
            variables,
            host_folder: None,
        }
    }

    /// The folder in which the session's cells run, when it is not the host's.
    pub(super) fn folder(&self) -> Option<&PathBuf> {
        self.folder.as_ref()
    }

    /// A cell begins.
    pub(super) fn enter(&mut self, py: Python<'_>, interpreter: &Interpreter) -> PyResult<()> {
        if let Some(folder) = &self.folder {
            self.host_folder = audit::open_working_folder();
            if let Err(error) = std::env::set_current_dir(folder) {
                let text = format!(
                    "the session's folder `{}` cannot be entered: {error}",
                    folder.display()
                );
                return Err(pyo3::exceptions::PyOSError::new_err(text));
            }
        }
        if !self.variables.is_empty() {
            audit::note_environment();
            interpreter.set_variables(
                py,
                self.variables
                    .iter()
                    .map(|(name, value)| (&**name, value.as_deref())),
            )?;
        }
        Ok(())
    }

    /// A cell has ended: keeps what it changed for the session's next cell, and gives the host back its own.
    pub(super) fn leave(&mut self, py: Python<'_>, interpreter: &Interpreter) -> PyResult<()> {
        interpreter.put_environ_back(py)?;
        let touched = audit::take_touched();
        let host_folder = self.host_folder.take();
        let Before {
            folder,
            environment,
        } = touched.unwrap_or(Before {
            folder: None,
            environment: None,
        });
        if folder.is_some() {
            self.folder = std::env::current_dir().ok();
        }
        if let Some(host) = host_folder.or(folder) {
            audit::go_back(&host)?;
        }
        let Some(before) = environment else {
            return Ok(());
        };
        let now: HashMap<OsString, OsString> = std::env::vars_os().collect();
        let mut undo: Vec<(OsString, Option<OsString>)> = Vec::new();
        self.variables.clear();
        for (name, value) in &now {
            if before.get(name) != Some(value) {
                self.variables.insert(name.clone(), Some(value.clone()));
                undo.push((name.clone(), before.get(name).cloned()));
            }
        }
        for (name, value) in before.iter().filter(|(name, _)| !now.contains_key(*name)) {
            self.variables.insert(name.clone(), None);
            undo.push((name.clone(), Some(value.clone())));
        }
        let changes = undo
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_deref()));
        interpreter.set_variables(py, changes)
    }
}
