//! [`run`]: git, without anything that the repository's configuration would have it start.
//!
//! Configuration of the command line outranks that of the repository, so what can be switched off by a fixed name is. Filters
//! have names that the repository chooses: they are looked up first, in a command that runs none. Drivers of diffs are off by
//! options of the commands, and submodules, whose configurations are others, are not gone into.

use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Repository, confined};
use crate::capability::CapabilityError;
use crate::capability::standard::program::{Finished, Kept, Program};
use crate::capability::standard::{environment, in_words};

const LONGEST: Duration = Duration::from_secs(30);

/// The first git that takes all of [`SETTINGS`] and its kin from the environment: an older one would not heed them.
const OLDEST: (u32, u32) = (2, 32);

/// Whether git has been found to be new enough. One that is replaced by an older one while a host runs is not noticed.
static IS_RECENT: AtomicBool = AtomicBool::new(false);

/// Bytes of output that are kept.
const KEPT_BYTES: usize = 2 << 20;

/// What the command line says against the repository.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.untrackedCache", "false"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.autoRefreshIndex", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.noPrefix", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
];

/// The settings of a filter, each of which may be a command, and the one that makes it a must.
const OF_A_FILTER: [(&str, &str); 4] = [
    ("clean", ""),
    ("smudge", ""),
    ("process", ""),
    ("required", "false"),
];

/// What git said.
pub(super) struct Output(Kept);

impl Output {
    pub(super) fn is_cut(&self) -> bool {
        self.0.cut.is_some()
    }

    pub(super) fn text(self) -> Result<String, CapabilityError> {
        Ok(self.0.text)
    }
}

/// Runs one command of git's.
pub(super) async fn run(
    repository: &Repository,
    arguments: Vec<OsString>,
) -> Result<Output, CapabilityError> {
    check_version(repository).await?;
    let filters = filters(repository).await?;
    let finished = start(repository, &filters, arguments).await?;
    match finished.exit_code {
        Some(0) => Ok(Output(finished.stdout)),
        _ => Err(CapabilityError::tool(format!(
            "git: {}",
            finished.stderr.text.trim_end()
        ))),
    }
}

/// Whether there is a first commit.
pub(super) async fn has_commits(repository: &Repository) -> Result<bool, CapabilityError> {
    let arguments = ["rev-parse", "--verify", "--quiet", "HEAD"].map(OsString::from);
    let finished = start(repository, &[], arguments.to_vec()).await?;
    Ok(finished.exit_code == Some(0))
}

/// Refuses a git that would not heed what it is told.
async fn check_version(repository: &Repository) -> Result<(), CapabilityError> {
    if IS_RECENT.load(Ordering::Relaxed) {
        return Ok(());
    }
    let finished = start(repository, &[], vec!["version".into()]).await?;
    let said = finished.stdout.text.trim();
    if version(said).is_none_or(|version| version < OLDEST) {
        let (major, minor) = OLDEST;
        return Err(CapabilityError::tool(format!(
            "git {major}.{minor} or newer is needed, and this machine has `{said}`: install a newer git"
        )));
    }
    IS_RECENT.store(true, Ordering::Relaxed);
    Ok(())
}

/// The first two numbers of `git version 2.47.3`.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The names of the filters that the repository's configuration knows.
async fn filters(repository: &Repository) -> Result<Vec<String>, CapabilityError> {
    let arguments = ["config", "--list", "--name-only", "-z", "--includes"].map(OsString::from);
    let finished = start(repository, &[], arguments.to_vec()).await?;
    if finished.exit_code != Some(0) || finished.stdout.cut.is_some() {
        return Err(CapabilityError::tool(format!(
            "the repository's configuration does not read: {}",
            finished.stderr.text.trim_end()
        )));
    }
    let mut names: Vec<String> = finished
        .stdout
        .text
        .split('\0')
        .filter_map(|key| key.strip_prefix("filter."))
        .filter_map(|key| key.rsplit_once('.'))
        .map(|(name, _)| name.to_owned())
        .collect();
    names.sort();
    names.dedup();
    // Such a name would be another when it is said again.
    match names.iter().find(|name| name.contains('\u{fffd}')) {
        Some(_) => Err(CapabilityError::permission(
            "the repository's configuration has a filter whose name is no UTF-8",
        )),
        None => Ok(names),
    }
}

async fn start(
    repository: &Repository,
    filters: &[String],
    arguments: Vec<OsString>,
) -> Result<Finished, CapabilityError> {
    let root = repository.workspace.root();
    let folder = root.join(&repository.folder);
    let mut settings: Vec<(String, OsString)> = SETTINGS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).into()))
        .collect();
    settings.push(("safe.directory".to_owned(), folder.clone().into()));
    for filter in filters {
        let of_it = OF_A_FILTER.iter();
        settings.extend(
            of_it.map(|(name, value)| (format!("filter.{filter}.{name}"), (*value).into())),
        );
    }
    let fixed = [
        ("LC_ALL", "C.UTF-8"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        // None at all: nothing here is to connect to anything.
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_PAGER", "cat"),
    ];
    let mut environment: Vec<(OsString, OsString)> = fixed
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let path = environment::path();
    let rules = confined::rules(root, &path);
    environment.push(("PATH".into(), path));
    environment.push(("GIT_DIR".into(), root.join(&repository.data).into()));
    environment.push(("GIT_WORK_TREE".into(), folder.into()));
    environment.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
    for (index, (name, value)) in settings.into_iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{index}").into(), name.into()));
        environment.push((format!("GIT_CONFIG_VALUE_{index}").into(), value));
    }
    let mut whole = vec![OsString::from("--no-pager")];
    whole.extend(arguments);
    let name = match repository.folder.as_os_str().is_empty() {
        true => std::path::Path::new("."),
        false => &repository.folder,
    };
    let program = Program {
        name: "git".into(),
        arguments: whole,
        environment,
        folder: repository.workspace.folder().open_dir(name)?,
        input: None,
        timeout: LONGEST,
        budget: KEPT_BYTES,
        rules,
    };
    let finished = program.run().await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            CapabilityError::tool("there is no `git` on this machine: install git, 2.32 or newer")
        }
        _ => CapabilityError::tool(format!("cannot run git: {}", in_words(&error))),
    })?;
    match finished.timed_out {
        true => Err(CapabilityError::timeout(format!(
            "git was still running after {} s, and was killed",
            LONGEST.as_secs()
        ))),
        false => Ok(finished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (said, read) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.54.0.windows.1", Some((2, 54))),
            ("git version 3.0", Some((3, 0))),
            ("", None),
            ("git version x", None),
        ] {
            assert_eq!(version(said), read, "{said}");
        }
    }
}
