//! [`Ignored`]: which paths the workspace's `.gitignore` files leave out.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The files whose rules count, the later before the earlier.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Rules for the whole workspace, which are no part of the repository.
const EXCLUDED: &str = ".git/info/exclude";

/// What is read of one such file.
const MOST_BYTES: u64 = 1 << 20;

/// The rules of a folder and of those above it. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Ignored {
    innermost: Option<Arc<Rules>>,
}

struct Rules {
    matcher: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Ignored {
    /// The rules above a folder of the workspace; its own come when it is entered. The folder itself is not left out by
    /// them: whoever names it wants to see it.
    pub(super) fn above(workspace: &Dir, folder: &Path) -> Self {
        let mut rules = Self::default().with(workspace, Path::new(""), &[EXCLUDED]);
        let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
        above.reverse();
        for path in above {
            let name = match path.as_os_str().is_empty() {
                true => Path::new("."),
                false => path,
            };
            if let Ok(folder) = workspace.open_dir(name) {
                rules = rules.within(&folder, path);
            }
        }
        rules
    }

    /// With the rules of a folder.
    pub(super) fn within(&self, folder: &Dir, path: &Path) -> Self {
        self.with(folder, path, &FILES)
    }

    fn with(&self, folder: &Dir, path: &Path, files: &[&str]) -> Self {
        let mut builder = GitignoreBuilder::new(path);
        let mut has_rules = false;
        for file in files {
            let Some(text) = text(folder, file) else {
                continue;
            };
            for line in text.lines() {
                // A rule that does not read is none, as git has it.
                has_rules |= builder.add_line(Some(PathBuf::from(file)), line).is_ok();
            }
        }
        match builder.build() {
            Ok(matcher) if has_rules => Self {
                innermost: Some(Arc::new(Rules {
                    matcher,
                    above: self.innermost.clone(),
                })),
            },
            _ => self.clone(),
        }
    }

    /// Whether a path of the workspace is left out: the innermost rule that speaks of it says.
    pub(super) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let mut next = self.innermost.as_ref();
        while let Some(rules) = next {
            match rules.matcher.matched(path, is_folder) {
                Match::None => next = rules.above.as_ref(),
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn text(folder: &Dir, name: &str) -> Option<String> {
    let mut options = OpenOptions::new();
    // Not a pipe, and no link: its target's lines are no rules.
    options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    let file = folder.open_with(name, &options).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
