//! `warmcell doctor`: what cells would run on here, whether they do, and what to do where they do not.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use warmcell::{EngineFacts, Isolation, Language, RuntimeError, Session, SessionBuilder};

use super::console::{Console, Show};
use super::interrupt::Leave;
use super::runner::{Runner, SessionOptions, UNWRITABLE};

/// Tell what cells run on, which limits hold, and what is missing
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    session: SessionOptions,
}

/// What was found out.
#[derive(Serialize)]
struct Examination {
    engines: Vec<Finding>,
    isolation: Isolation,
}

/// What was found out about a language on one of its engines.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    language: Language,
    engine: &'static str,
    /// Whether this build has the engine. One that was left out is no failure.
    built: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<EngineFacts>,
    /// How long a cell took, in milliseconds, once the engine was warm.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_ms: Option<f64>,
    /// Why cells do not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    let console = Console::on_standard_streams();
    let mut runner = Runner::new(console, Show::Prints, Leave::Eventually, &options.session)?;
    let found = Examination {
        engines: SessionBuilder::all()
            .filter(|builder| options.session.includes(builder))
            .map(|builder| examine(&runner, options.session.apply(builder)))
            .collect(),
        isolation: Isolation::of_this_kernel(),
    };
    let console = &mut runner.console;
    if options.json {
        let text = serde_json::to_string_pretty(&found).context("cannot write what was found")?;
        console.line(&text).context(UNWRITABLE)?;
    } else {
        for finding in &found.engines {
            report(finding, console).context(UNWRITABLE)?;
        }
        report_isolation(found.isolation, console).context(UNWRITABLE)?;
    }
    console.flush().context(UNWRITABLE)?;
    Ok(found
        .engines
        .iter()
        .any(|finding| finding.built && finding.problem.is_some())
        .into())
}

/// The facts are asked for once the engine runs: only then are its limits armed.
fn examine(runner: &Runner, builder: SessionBuilder) -> Finding {
    let (language, engine) = (builder.language(), builder.engine());
    let tried = runner
        .open(builder.clone())
        .and_then(|session| try_out(runner, &session));
    let facts = builder.facts();
    let (cell_ms, problem) = match (tried, &facts) {
        (_, Err(error @ RuntimeError::NotBuilt { .. })) => (None, Some(error.to_string())),
        (Err(error), _) => (None, Some(format!("{error:#}"))),
        (Ok(_), Err(error)) => (None, Some(error.to_string())),
        (Ok(cell_ms), Ok(_)) => (Some(cell_ms), None),
    };
    Finding {
        language,
        engine,
        built: !matches!(facts, Err(RuntimeError::NotBuilt { .. })),
        facts: facts.ok(),
        cell_ms,
        problem,
    }
}

/// Runs a cell twice, and tells how long the second one took.
fn try_out(runner: &Runner, session: &Session) -> anyhow::Result<f64> {
    let mut took = 0.0;
    for _ in 0..2 {
        let outcome = runner.run_silently(session, "return 1 + 1")?;
        if let Some(failure) = outcome.error {
            anyhow::bail!("a cell failed: {}", failure.message);
        }
        let value = outcome.value.map(|value| value.to_string());
        anyhow::ensure!(
            value.as_deref() == Some("2"),
            "the value of `1 + 1` is {}",
            value.as_deref().unwrap_or("absent")
        );
        took = outcome.duration_ms;
    }
    Ok(took)
}

fn report(finding: &Finding, console: &mut Console) -> std::io::Result<()> {
    let mut row = |name: &str, text: &str| console.line(&format!("  {name:<12} {text}"));
    let heading = finding.language.as_str();
    // Python's engine bears its name.
    let engine = Some(finding.engine).filter(|engine| *engine != heading);
    let on_engine = |text: &str| match engine {
        Some(engine) => format!("{engine} {text}"),
        None => text.to_owned(),
    };
    match &finding.facts {
        None if !finding.built => row(heading, &on_engine("not in this build"))?,
        None => row(heading, &on_engine("unusable"))?,
        Some(facts) => {
            row(heading, &on_engine(&facts.version))?;
            let mut path = |name: &str, path: &Option<std::path::PathBuf>| match path {
                Some(path) => row(name, &shown(path)),
                None => Ok(()),
            };
            path("executable", &facts.executable)?;
            path("library", &facts.library)?;
            path("environment", &facts.environment)?;
            if let Some(chosen) = &facts.chosen {
                row("chosen", chosen)?;
            }
            for limit in &facts.limits {
                let armed = if limit.armed { "armed" } else { "not armed" };
                row(&limit.limit, &format!("{armed}: {}", limit.how))?;
            }
        }
    }
    if let Some(cell_ms) = finding.cell_ms {
        row("cells", &format!("run; a small one took {cell_ms} ms"))?;
    }
    for notice in finding.facts.iter().flat_map(|facts| &facts.notices) {
        console.notice(notice);
    }
    match &finding.problem {
        // What was left out on purpose is no problem; its row says so.
        Some(problem) if finding.built => console.error(problem),
        _ => {}
    }
    Ok(())
}

/// What this kernel can hold a worker to.
fn report_isolation(isolation: Isolation, console: &mut Console) -> std::io::Result<()> {
    let mut row = |name: &str, text: &str| console.line(&format!("  {name:<12} {text}"));
    let files = match (isolation.landlock, isolation.holds_files()) {
        (Some(version), true) => format!("can be held: landlock, version {version}"),
        (Some(version), false) => {
            format!("cannot be held: landlock, version {version}, is too old")
        }
        (None, _) => "cannot be held: the kernel does not offer landlock".to_owned(),
    };
    row("files", &files)?;
    row(
        "signals",
        match isolation.holds_signals() {
            true => "can be kept inside a sandbox: landlock",
            false => "of a sandboxed cell reach other processes of the user",
        },
    )?;
    row(
        "network",
        match isolation.seccomp {
            true => "can be held: filters of system calls",
            false => "cannot be held: the kernel does not filter system calls",
        },
    )
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
