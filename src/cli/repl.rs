//! `warmcell repl`: one session behind a prompt, or behind lines that come through a pipe.
//!
//! The terminal is read on the main thread; while a cell runs it is in its ordinary mode, so that Ctrl-C is a signal that
//! stops the cell, and at the prompt Ctrl-C is a key that clears the line.

mod complete;
mod history;
mod prompt;

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::Path;

use anyhow::Context;
use reedline::Signal;
use warmcell::{CodeRuntime, FailureKind, Language, Placement, Session, SessionBuilder};

use self::complete::Gatherer;
use super::console::{Console, Show};
use super::interrupt::Leave;
use super::runner::{Runner, SessionOptions, UNWRITABLE};
use super::{descriptors, language};

const HELP: &str = "\
:help   what you read
:vars   the names the session holds
:reset  a fresh session
:quit   leave, as Ctrl-D does
Ctrl-C stops the cell that runs and keeps the session; at the prompt it clears the line.
An empty line ends a block, and whatever else waits for more. The value of a cell is shown as JSON.";

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
    let session = options.session.or_placed(Placement::Worker);
    let builder = session.builder(language, Path::new("."));
    let console = Console::on_standard_streams();
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        let runner = Runner::new(console, Show::Displays, Leave::Never)?;
        Repl::open(runner, builder)?.talk()
    } else {
        // A child of a cell must not eat the cells that are still to come.
        let input = descriptors::take_stdin().context("cannot use standard input")?;
        let runner = Runner::new(console, Show::Displays, Leave::Eventually)?;
        Repl::open(runner, builder)?.read(BufReader::new(input))
    }
}

struct Repl {
    runner: Runner,
    session: Session,
    /// What the session was opened with.
    builder: SessionBuilder,
    /// A person reads along.
    is_person: bool,
    has_failed: bool,
}

/// What comes after a piece of input.
enum Next {
    More,
    Leave(u8),
}

impl Repl {
    fn open(runner: Runner, builder: SessionBuilder) -> anyhow::Result<Self> {
        let session = runner.open(builder.clone())?;
        Ok(Self {
            runner,
            session,
            builder,
            is_person: false,
            has_failed: false,
        })
    }

    /// Reads from a person.
    fn talk(mut self) -> anyhow::Result<u8> {
        self.is_person = true;
        self.greet();
        let is_coloured = self.runner.console.is_coloured();
        let (mut editor, problem) = prompt::editor(self.builder.language(), is_coloured);
        if let Some(problem) = problem {
            self.runner.console.notice(&problem);
        }
        let prompt = prompt::Marks;
        loop {
            let read = editor.read_line(&prompt);
            match read.context("cannot read from the terminal")? {
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

    fn greet(&mut self) {
        let (language, engine) = (self.builder.language().as_str(), self.builder.engine());
        let version = self
            .builder
            .facts()
            .map(|facts| facts.version)
            .unwrap_or_default();
        // Python's engine bears its name.
        let on_engine = if engine == language {
            version
        } else {
            format!("on {engine} {version}")
        };
        self.runner.console.message(&format!(
            "warmcell {} with {language} {on_engine}; `:help` tells what the prompt can do",
            env!("CARGO_PKG_VERSION"),
        ));
    }

    /// Reads from a pipe or a file.
    fn read(mut self, input: impl BufRead) -> anyhow::Result<u8> {
        let mut gatherer = Gatherer::new(self.builder.language());
        for line in input.lines() {
            let line = line.context("cannot read standard input")?;
            for cell in gatherer.line(&line) {
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

    fn command(&mut self, command: &str) -> anyhow::Result<Next> {
        match command {
            "help" => self.runner.console.line(HELP).context(UNWRITABLE)?,
            "vars" => {
                let variables = self.runner.wait(self.session.inspect())?;
                for variable in variables {
                    let line = format!(
                        "{}: {} = {}",
                        variable.name, variable.type_name, variable.preview
                    );
                    self.runner.console.line(&line).context(UNWRITABLE)?;
                }
            }
            "reset" => self.runner.wait(self.session.reset())?,
            "quit" => return Ok(Next::Leave(self.status())),
            unknown => {
                self.has_failed = true;
                self.runner.console.error(&format!(
                    "there is no command `:{unknown}`\nhint: `:help` lists what there is"
                ));
            }
        }
        self.runner.console.flush().context(UNWRITABLE)?;
        Ok(Next::More)
    }

    /// A person has seen each failure; whoever sent cells through a pipe learns of them by the status.
    fn status(&self) -> u8 {
        (self.has_failed && !self.is_person).into()
    }

    fn cell(&mut self, code: &str) -> anyhow::Result<Next> {
        let outcome = self.runner.run(&self.session, code)?;
        let console = &mut self.runner.console;
        if let Some(value) = &outcome.value {
            console.line(value.as_str()).context(UNWRITABLE)?;
        }
        console.rest(&outcome).context(UNWRITABLE)?;
        console.end_line().context(UNWRITABLE)?;
        match &outcome.error {
            Some(failure) if failure.kind == FailureKind::Exit => {
                Ok(Next::Leave(super::run::status(failure, console)))
            }
            failure => {
                self.has_failed |= failure.is_some();
                Ok(Next::More)
            }
        }
    }
}
