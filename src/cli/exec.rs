//! `warmcell exec`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use warmcell::{FailureKind, Language, Outcome, Session};

use super::console::{Console, Show};
use super::interrupt::Leave;
use super::report::Report;
use super::runner::{Farewell, Runner, SessionOptions, UNWRITABLE};
use super::{descriptors, interrupt, language};

/// Run each argument as a cell of one session, and print the values as JSON
///
/// Cells run in order until one fails. What they print comes as they print it.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The code of a cell
    #[arg(required = true, value_name = "CODE")]
    cells: Vec<String>,
    /// Print the outcome of each cell as a line of JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// Write a page of the cells and of what came of them, also when one fails
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The language of the code: `python`, `javascript` or `typescript` [default: python, or what `--engine` runs]
    #[arg(long, value_name = "LANGUAGE", value_parser = language::parse)]
    language: Option<Language>,
    #[command(flatten)]
    session: SessionOptions,
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    let language = options.session.language_or_default(options.language);
    options.session.check(&[language])?;
    let console = if options.json {
        // Only outcomes may stand there, whatever the cells write to descriptor 1.
        let stdout = descriptors::take_stdout().context("cannot use standard output")?;
        Console::on_file(stdout)
    } else {
        Console::on_standard_streams()
    };
    let mut report = options.html.as_deref().map(Report::to).transpose()?;
    let mut runner = Runner::new(console, Show::Displays, Leave::Eventually, &options.session)?;
    if report.is_some() {
        runner.heed_endings()?;
    }
    let mut session = None;
    let status = run(
        &options,
        language,
        &mut runner,
        report.as_mut(),
        &mut session,
    );
    Report::finish(report, &status)?;
    if let Some(session) = session
        && status.is_ok()
        && !interrupt::was_pressed()
    {
        runner.end(
            &session,
            match options.json {
                true => Farewell::Silent,
                false => Farewell::Snippets,
            },
        )?;
    }
    status
}

fn run(
    options: &Options,
    language: Language,
    runner: &mut Runner,
    mut report: Option<&mut Report>,
    session: &mut Option<Session>,
) -> anyhow::Result<u8> {
    let builder = options.session.builder(language, Path::new("."));
    if let Some(report) = &mut report {
        report.add_engine(&builder);
    }
    let session = &*session.insert(runner.open(builder)?);
    for code in &options.cells {
        // Before anything else is shown: a terminal that is gone must not cost the page its last cell.
        let mut add = |outcome: &Outcome| {
            if let Some(report) = &mut report {
                report.add(None, language, code, outcome);
            }
        };
        let outcome = if options.json {
            let outcome = runner.run_silently(session, code)?;
            add(&outcome);
            let line = serde_json::to_string(&outcome).context("cannot write the outcome")?;
            runner.console.line(&line).context(UNWRITABLE)?;
            outcome
        } else {
            let outcome = runner.run(session, code)?;
            add(&outcome);
            runner.show(&outcome, false)?;
            outcome
        };
        runner.console.flush().context(UNWRITABLE)?;
        if interrupt::was_pressed() {
            return Ok(interrupt::status());
        }
        if let Some(failure) = &outcome.error
            && !options.json
            && failure.kind == FailureKind::Exit
        {
            super::run::exit_status(failure, &mut runner.console);
        }
        if !outcome.ok {
            return Ok(status(&outcome));
        }
    }
    Ok(0)
}

fn status(outcome: &Outcome) -> u8 {
    match &outcome.error {
        Some(failure) if failure.kind == FailureKind::Cancelled => interrupt::status(),
        _ => 1,
    }
}
