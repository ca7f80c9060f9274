//! [`Status`]: `git status --porcelain=v2 -z --branch`, read.

use serde::Serialize;

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Status {
    branch: Option<String>,
    /// The hash of the latest commit.
    head: Option<String>,
    upstream: Option<String>,
    ahead: Option<u64>,
    behind: Option<u64>,
    changes: Vec<Change>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    path: String,
    staged: Option<&'static str>,
    unstaged: Option<&'static str>,
    /// Where it was moved or copied from.
    original: Option<String>,
}

impl Status {
    pub(super) fn read(text: &str) -> Self {
        let mut status = Self::default();
        let mut records = text.split('\0');
        while let Some(record) = records.next() {
            let Some((kind, rest)) = record.split_once(' ') else {
                continue;
            };
            match kind {
                "#" => status.header(rest),
                "1" => status.change(rest, 6, None),
                "2" => {
                    let original = records.next().map(str::to_owned);
                    status.change(rest, 7, original);
                }
                "u" => status.changes.extend(path(rest, 8).map(|path| Change {
                    path,
                    unstaged: Some("unmerged"),
                    ..Change::default()
                })),
                "?" => status.changes.push(Change {
                    path: rest.to_owned(),
                    unstaged: Some("untracked"),
                    ..Change::default()
                }),
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, text: &str) {
        let Some((name, value)) = text.split_once(' ') else {
            return;
        };
        match name {
            "branch.oid" if value != "(initial)" => self.head = Some(value.to_owned()),
            "branch.head" if value != "(detached)" => self.branch = Some(value.to_owned()),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                if let Some((ahead, behind)) = value.split_once(' ') {
                    self.ahead = ahead.trim_start_matches('+').parse().ok();
                    self.behind = behind.trim_start_matches('-').parse().ok();
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, rest: &str, before: usize, original: Option<String>) {
        let mut letters = rest.chars();
        let (staged, unstaged) = (letters.next(), letters.next());
        self.changes.extend(path(rest, before).map(|path| Change {
            path,
            staged: staged.and_then(in_words),
            unstaged: unstaged.and_then(in_words),
            original,
        }));
    }
}

/// What follows so many fields besides the first.
fn path(rest: &str, fields: usize) -> Option<String> {
    rest.splitn(fields + 2, ' ')
        .nth(fields + 1)
        .map(str::to_owned)
}

fn in_words(letter: char) -> Option<&'static str> {
    Some(match letter {
        'A' => "added",
        'M' => "modified",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        'T' => "type-changed",
        'U' => "unmerged",
        _ => return None,
    })
}
