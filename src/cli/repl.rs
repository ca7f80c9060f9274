//! `warmcell repl`: one session behind a prompt, or behind lines that come through a pipe.
//!
//! The terminal is read on the main thread; while a cell runs it is in its ordinary mode, so that Ctrl-C is a signal that
//! stops the cell, and at the prompt Ctrl-C is a key that clears the line.

mod command;
mod complete;
mod history;
mod prompt;
mod typing;
mod whole;

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::Path;

use anyhow::{Context, anyhow};
use reedline::Signal;
use warmcell::{
    Backup, CodeRuntime, Failure, FailureKind, Language, Placement, Session, SessionBuilder,
    Variable,
};

use self::command::Command;
use self::typing::{Ahead, Typing};
use self::whole::Gatherer;
use super::console::{Console, Show, Table};
use super::interrupt::Leave;
use super::runner::{Farewell, Runner, SessionOptions, UNWRITABLE};
use super::{descriptors, language};

/// Type cells into one session
///
/// Without a terminal, cells are read from standard input; the status is then 1 when one of them failed.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The language of the session: `python`, `javascript` or `typescript` [default: python, or what `--engine` runs]
    #[arg(long, value_name = "LANGUAGE", value_parser = language::parse)]
    language: Option<Language>,
    #[command(flatten)]
    session: SessionOptions,
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    let language = options.session.language_or_default(options.language);
    options.session.check(&[language])?;
    let mut session = options.session.or_placed(Placement::Worker);
    if session.placement == Some(Placement::Worker) {
        // A person takes cells back.
        session.process.backup.get_or_insert(Backup::Undo);
    }
    let mut console = Console::on_standard_streams();
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        console.keep_images();
        let runner = Runner::new(console, Show::Displays, Leave::Never, &session)?;
        let mut repl = Repl::open(runner, session, language)?;
        let status = repl.talk();
        repl.end(status)
    } else {
        // A child of a cell must not eat the cells that are still to come.
        let input = descriptors::take_stdin().context("cannot use standard input")?;
        let runner = Runner::new(console, Show::Displays, Leave::Eventually, &session)?;
        let mut repl = Repl::open(runner, session, language)?;
        let status = repl.read(BufReader::new(input));
        repl.end(status)
    }
}

struct Repl {
    runner: Runner,
    options: SessionOptions,
    /// One for each language that was spoken, the one that is spoken now first.
    desks: Vec<Desk>,
    ahead: Ahead,
    /// A person reads along.
    is_person: bool,
    has_failed: bool,
}

/// A session, and where its cells are typed.
struct Desk {
    session: Session,
    /// What it was opened with.
    builder: SessionBuilder,
    /// None where nobody types.
    editor: Option<Typing>,
}

/// What comes after a piece of input.
enum Next {
    More,
    Leave(u8),
}

impl Repl {
    fn open(runner: Runner, options: SessionOptions, language: Language) -> anyhow::Result<Self> {
        let mut repl = Self {
            runner,
            options,
            desks: Vec::new(),
            ahead: Ahead::default(),
            is_person: false,
            has_failed: false,
        };
        repl.speak(language)?;
        Ok(repl)
    }

    /// Goes to the session of a language, which is opened the first time.
    fn speak(&mut self, language: Language) -> anyhow::Result<()> {
        let is_it = |desk: &Desk| desk.session.language() == language;
        if let Some(place) = self.desks.iter().position(is_it) {
            self.desks.swap(0, place);
            return Ok(());
        }
        let builder = self.options.builder(language, Path::new("."));
        let desk = Desk {
            session: self.runner.open(builder.clone())?,
            builder,
            editor: None,
        };
        self.desks.insert(0, desk);
        Ok(())
    }

    fn desk(&self) -> &Desk {
        // One is opened before anything is read.
        &self.desks[0]
    }

    /// Reads from a person.
    fn talk(&mut self) -> anyhow::Result<u8> {
        self.is_person = true;
        let on = self.engine();
        self.runner.console.message(&format!(
            "warmcell {} with {on}; `:help` tells what the prompt can do",
            env!("CARGO_PKG_VERSION"),
        ));
        loop {
            match self.type_in()? {
                Signal::Success(text) => {
                    if let Next::Leave(status) = self.take(&text)? {
                        return Ok(status);
                    }
                }
                Signal::CtrlD => return Ok(0),
                // The line is cleared.
                _ => {}
            }
        }
    }

    /// Waits until the person has typed something.
    fn type_in(&mut self) -> anyhow::Result<Signal> {
        let is_one = self.desks.len() == 1;
        let desk = &mut self.desks[0];
        let editor = match &mut desk.editor {
            Some(editor) => editor,
            none => {
                let console = &mut self.runner.console;
                let (editor, problem) =
                    prompt::editor(&desk.session, console.is_coloured(), &self.ahead);
                if let Some(problem) = problem {
                    console.notice(&problem);
                }
                none.insert(editor)
            }
        };
        let language = (!is_one).then(|| desk.session.language());
        let read = editor.read(&prompt::Marks { language });
        read.context("cannot read from the terminal")
    }

    /// What cells run on now.
    fn engine(&self) -> String {
        let builder = &self.desk().builder;
        let (language, engine) = (builder.language().as_str(), builder.engine());
        let version = builder.facts().map(|facts| facts.version);
        let version = version.unwrap_or_default();
        // Python's engine bears its name.
        if engine == language {
            format!("{language} {version}")
        } else {
            format!("{language} on {engine} {version}")
        }
    }

    /// Reads from a pipe or a file.
    fn read(&mut self, input: impl BufRead) -> anyhow::Result<u8> {
        let mut gatherer = Gatherer::default();
        for line in input.lines() {
            let line = line.context("cannot read standard input")?;
            for cell in gatherer.line(self.desk().session.language(), &line) {
                if let Next::Leave(status) = self.take(&cell)? {
                    return Ok(status);
                }
            }
        }
        if let Some(cell) = gatherer.rest()
            && let Next::Leave(status) = self.take(&cell)?
        {
            return Ok(status);
        }
        Ok(self.status())
    }

    /// Ends the sessions, unless there is nobody left to show anything to.
    fn end(&mut self, status: anyhow::Result<u8>) -> anyhow::Result<u8> {
        if status.is_ok() {
            for desk in &self.desks {
                self.runner.end(&desk.session, Farewell::Snippets)?;
            }
        }
        status
    }

    fn take(&mut self, text: &str) -> anyhow::Result<Next> {
        let command = text.trim();
        if command.is_empty() {
            return Ok(Next::More);
        }
        match command.strip_prefix(':') {
            Some(command) => self.command(command),
            None => self.cell(text),
        }
    }

    fn command(&mut self, text: &str) -> anyhow::Result<Next> {
        let done = match command::parse(text) {
            Ok(Command::Quit) => return Ok(Next::Leave(self.status())),
            Ok(command) => self.obey(command),
            Err(problem) => Err(anyhow!(problem)),
        };
        if let Err(problem) = done {
            self.has_failed = true;
            self.runner.console.error(&format!("{problem:#}"));
        }
        self.runner.console.flush().context(UNWRITABLE)?;
        Ok(Next::More)
    }

    fn obey(&mut self, command: Command) -> anyhow::Result<()> {
        let session = self.desk().session.clone();
        match command {
            Command::Help => self.runner.console.line(&command::help())?,
            Command::Vars => {
                let variables = self.runner.wait(session.inspect())?;
                self.list(&variables)?;
            }
            Command::Reset => {
                self.runner.wait(session.reset())?;
                self.tell("a fresh session");
            }
            Command::Undo => {
                let cell = self.runner.wait(session.undo())?;
                self.tell(&format!("the session as it was before cell {cell}"));
            }
            Command::Lang(language) => {
                self.speak(language)?;
                let on = self.engine();
                self.tell(&on);
            }
            Command::Quit => {}
        }
        Ok(())
    }

    fn list(&mut self, variables: &[Variable]) -> io::Result<()> {
        if variables.is_empty() {
            self.tell("the session holds no names yet");
            return Ok(());
        }
        let header = ["name", "type", "preview"].map(str::to_owned).to_vec();
        let table = Table::of_rows(header, variables.len(), |row| {
            let variable = &variables[row];
            vec![
                variable.name.clone(),
                variable.type_name.clone(),
                variable.preview.clone(),
            ]
        });
        let lines = variables.iter().map(|variable| {
            format!(
                "{}: {} = {}",
                variable.name, variable.type_name, variable.preview
            )
        });
        self.runner.console.table(&table, lines)
    }

    /// Says to a person what has happened. Whoever sent the command through a pipe knows.
    fn tell(&mut self, text: &str) {
        if self.is_person {
            self.runner.console.message(text);
        }
    }

    /// A person has seen each failure; whoever sent cells through a pipe learns of them by the status.
    fn status(&self) -> u8 {
        (self.has_failed && !self.is_person).into()
    }

    fn cell(&mut self, code: &str) -> anyhow::Result<Next> {
        let session = self.desk().session.clone();
        let outcome = self.runner.run(&session, code)?;
        self.runner.show(&outcome, true)?;
        let console = &mut self.runner.console;
        console.end_line().context(UNWRITABLE)?;
        match &outcome.error {
            Some(failure) if failure.kind == FailureKind::Exit => {
                Ok(Next::Leave(super::run::status(failure, console)))
            }
            failure => {
                self.has_failed |= failure.is_some();
                let is_cancelled = |failure: &Failure| failure.kind == FailureKind::Cancelled;
                if failure.as_ref().is_some_and(is_cancelled) {
                    self.ahead.forget();
                }
                Ok(Next::More)
            }
        }
    }
}
