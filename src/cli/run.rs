//! `warmcell run`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use warmcell::{Failure, FailureKind, Language, Outcome, Session};

use super::console::{Console, Show};
use super::interrupt::Leave;
use super::report::Report;
use super::runner::{Farewell, Runner, SessionOptions};
use super::{Usage, interrupt, language};

/// What `timeout` of the shell ends with, too.
const TIMEOUT_STATUS: u8 = 124;

/// Run files as cells of one session a language, each by its extension
///
/// The imports of a session start from the folder of its first file; JavaScript and TypeScript files share one. As with scripts, what the
/// files print is the output; a terminal shows what they display, and their values, besides. `sys.exit(n)` ends with status n, a timeout with 124, any other
/// failure with 1, and none of the files after it is run.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// A file of code; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write a page of the files and of what came of them, also when one fails
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The language of standard input, and of files whose extension says nothing
    #[arg(long, value_name = "LANGUAGE", value_parser = language::parse)]
    language: Option<Language>,
    #[command(flatten)]
    session: SessionOptions,
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    // All are read before the first one runs: a typing mistake in the last name costs nothing.
    let sources = options
        .files
        .iter()
        .map(|file| read(file, &options))
        .collect::<Result<Vec<_>, _>>()?;
    let languages: Vec<Language> = sources.iter().map(|(language, _)| *language).collect();
    options.session.check(&languages)?;
    let mut report = options.html.as_deref().map(Report::to).transpose()?;
    if let Some(report) = &report {
        report.spare(&options.files)?;
    }
    let mut runner = Runner::new(
        Console::on_standard_streams(),
        Show::Prints,
        Leave::Eventually,
        &options.session,
    )?;
    if report.is_some() {
        runner.heed_endings()?;
    }
    let mut sessions = HashMap::new();
    let status = run(
        &options,
        &sources,
        &mut runner,
        report.as_mut(),
        &mut sessions,
    );
    Report::finish(report, &status)?;
    if status.is_ok() && !interrupt::was_pressed() {
        for session in sessions.values() {
            runner.end(session, Farewell::Script)?;
        }
    }
    status
}

fn run(
    options: &Options,
    sources: &[(Language, String)],
    runner: &mut Runner,
    mut report: Option<&mut Report>,
    sessions: &mut HashMap<Language, Session>,
) -> anyhow::Result<u8> {
    let languages: Vec<Language> = sources.iter().map(|(language, _)| *language).collect();
    let is_one = sources.len() == 1;
    for (file, (own, code)) in options.files.iter().zip(sources) {
        let language = session_language(*own, &languages);
        let session = match sessions.entry(language) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let folder = file.parent().unwrap_or(Path::new(""));
                let folder = Path::new(".").join(folder);
                let mut builder = options.session.builder(language, &folder);
                if language == Language::Python && !is_standard_input(file) {
                    builder = builder.imports_from(folder);
                }
                if let Some(report) = &mut report {
                    report.add_engine(&builder);
                }
                entry.insert(runner.open(builder)?)
            }
        };
        if language == Language::Python && !is_standard_input(file) {
            runner.name_file(session, file)?;
        }
        let outcome = runner.run(session, code)?;
        if is_blank(&outcome) {
            continue;
        }
        if let Some(report) = &mut report {
            report.add(Some(file), *own, code, &outcome);
        }
        runner.show(&outcome, false)?;
        if interrupt::was_pressed() {
            return Ok(interrupt::status());
        }
        if let Some(failure) = &outcome.error {
            if failure.kind != FailureKind::Exit && !is_one {
                let (number, file) = (outcome.execution_count, file.display());
                let notice = format!("`{file}` is <cell {number}>, and nothing after it was run");
                runner.console.notice(&notice);
            }
            return Ok(status(failure, &mut runner.console));
        }
    }
    Ok(0)
}

/// A file that holds no code does nothing, as ever.
fn is_blank(outcome: &Outcome) -> bool {
    let failure = outcome.error.as_ref();
    failure.is_some_and(|failure| failure.kind == FailureKind::Empty)
}

/// The language of the session that a file runs in. JavaScript is TypeScript without types, and one program's files may be
/// of both: where there are some of both, they share a TypeScript session.
fn session_language(language: Language, all: &[Language]) -> Language {
    match language {
        Language::JavaScript if all.contains(&Language::TypeScript) => Language::TypeScript,
        language => language,
    }
}

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn read(file: &Path, options: &Options) -> Result<(Language, String), Usage> {
    let is_stdin = is_standard_input(file);
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        format!("`{}`", file.display())
    };
    let language = if is_stdin {
        options.session.language_or_default(options.language)
    } else {
        language::of_file(file)
            .or(options.language)
            .ok_or_else(|| unknown_extension(file, &name))?
    };
    let mut bytes = Vec::new();
    let read = if is_stdin {
        io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        fs::read(file).map(|content| bytes = content)
    };
    read.map_err(|error| Usage(format!("cannot read {name}: {error}")))?;
    let code = String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        Usage(format!(
            "{name} is not UTF-8 text from its byte {position}\nhint: save it as UTF-8"
        ))
    })?;
    let code = match code.strip_prefix('\u{feff}') {
        Some(code) => code.to_owned(),
        None => code,
    };
    Ok((language, code))
}

fn unknown_extension(file: &Path, name: &str) -> Usage {
    let extension = match file.extension() {
        Some(extension) => format!("the extension `.{}` is no language's", extension.display()),
        None => "it has no extension".to_owned(),
    };
    Usage(format!(
        "cannot tell the language of {name}: {extension}\nhint: name the language with `--language`, or use one of {}",
        language::all_extensions()
    ))
}

/// The status that a failed file ends the process with.
pub(super) fn status(failure: &Failure, console: &mut Console) -> u8 {
    match failure.kind {
        FailureKind::Timeout => TIMEOUT_STATUS,
        FailureKind::Cancelled => interrupt::status(),
        FailureKind::Exit => exit_status(failure, console),
        _ => 1,
    }
}

/// The status of a cell that asked to exit. A text in its place is shown, as Python does.
pub(super) fn exit_status(failure: &Failure, console: &mut Console) -> u8 {
    match failure.message.parse::<i128>() {
        // The kernel keeps the lowest byte.
        Ok(status) => (status & 0xff) as u8,
        Err(_) => {
            console.message(&failure.message);
            1
        }
    }
}
