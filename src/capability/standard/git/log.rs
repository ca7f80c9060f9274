//! [`Commit`]s: what `git log` gives in our format, read.

use serde::Serialize;

/// Fields end in a NUL, and so does a commit with `-z`: no text of a commit can hold one.
pub(super) const FORMAT: &str = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00%b";

const FIELDS: usize = 7;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Commit {
    hash: String,
    parents: Vec<String>,
    author: String,
    email: String,
    /// As ISO 8601 has it.
    date: String,
    subject: String,
    body: String,
}

pub(super) fn read(text: &str) -> Vec<Commit> {
    let fields: Vec<&str> = text.split('\0').collect();
    let commits = fields.chunks_exact(FIELDS);
    let commit = |fields: &[&str]| match fields {
        [hash, parents, author, email, date, subject, body] => Some(Commit {
            hash: (*hash).to_owned(),
            parents: parents.split_whitespace().map(str::to_owned).collect(),
            author: (*author).to_owned(),
            email: (*email).to_owned(),
            date: (*date).to_owned(),
            subject: (*subject).to_owned(),
            body: body.trim_end().to_owned(),
        }),
        _ => None,
    };
    commits.filter_map(commit).collect()
}
