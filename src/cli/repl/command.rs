//! What can be said to the prompt besides cells: a word behind a colon.

use warmcell::Language;

use crate::cli::language;

/// Something other than a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Vars,
    Reset,
    Undo,
    Lang(Language),
    Quit,
}

/// Each command, what it takes, and what it does.
const COMMANDS: [(&str, &str, &str); 6] = [
    ("help", "", "what you read"),
    ("vars", "", "the names the session holds"),
    ("undo", "", "the session as it was before the last cell"),
    ("reset", "", "a fresh session"),
    (
        "lang",
        "LANGUAGE",
        "a session of another language; this one is kept",
    ),
    ("quit", "", "leave, as Ctrl-D does"),
];

const NOTES: &str = "\
Tab completes names and what stands behind a dot. Ctrl-C stops the cell that
runs and keeps the session; at the prompt it clears the line. An empty line ends
a block, and whatever else waits for more. The value of a cell is shown as JSON,
records as a table.";

/// What `:help` says.
pub(super) fn help() -> String {
    let mut help = String::new();
    for (name, argument, does) in COMMANDS {
        let command = format!(":{name} {argument}");
        help.push_str(&format!("{command:<15} {does}\n"));
    }
    help + NOTES
}

/// Reads a command without its colon.
pub(super) fn parse(text: &str) -> Result<Command, String> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let argument = words.next();
    let command = match (name, argument) {
        ("lang", Some(named)) => Command::Lang(language::parse(named)?),
        ("lang", None) => {
            let names: Vec<String> = languages().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "`:lang` needs a language\nhint: one of {}",
                names.join(", ")
            ));
        }
        ("help", None) => Command::Help,
        ("vars", None) => Command::Vars,
        ("reset", None) => Command::Reset,
        ("undo", None) => Command::Undo,
        ("quit", None) => Command::Quit,
        (known, Some(_)) if COMMANDS.iter().any(|(name, ..)| *name == known) => {
            return Err(format!("`:{known}` takes nothing behind it"));
        }
        (unknown, _) => {
            return Err(format!(
                "there is no command `:{unknown}`\nhint: `:help` lists what there is"
            ));
        }
    };
    match words.next() {
        Some(more) => Err(format!("`:{name}` has no use for `{more}`")),
        None => Ok(command),
    }
}

/// The words that may stand where a command ends: its name or, behind that, what it takes.
pub(super) fn completions(text: &str) -> (usize, Vec<&'static str>) {
    let start = text.rfind([' ', ':']).map_or(0, |space| space + 1);
    let typed = &text[start..];
    let words: Vec<&str> = match text[..start].trim() {
        ":" => COMMANDS.iter().map(|(name, ..)| *name).collect(),
        ":lang" => languages().collect(),
        _ => Vec::new(),
    };
    let fits = words.into_iter().filter(|word| word.starts_with(typed));
    (start, fits.collect())
}

fn languages() -> impl Iterator<Item = &'static str> {
    Language::ALL.iter().map(|language| language.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_too_many_or_too_few_is_named() {
        assert_eq!(
            parse("lang typescript"),
            Ok(Command::Lang(Language::TypeScript))
        );
        assert_eq!(parse(" vars "), Ok(Command::Vars));
        for (text, said) in [
            (
                "lang",
                "`:lang` needs a language\nhint: one of `python`, `javascript`, `typescript`",
            ),
            (
                "lang cobol",
                "the languages are `python`, `javascript`, `typescript`",
            ),
            ("lang python 3", "`:lang` has no use for `3`"),
            ("vars x", "`:vars` takes nothing behind it"),
            (
                "nonsense x",
                "there is no command `:nonsense`\nhint: `:help` lists what there is",
            ),
            (
                "",
                "there is no command `:`\nhint: `:help` lists what there is",
            ),
        ] {
            assert_eq!(parse(text), Err(said.to_owned()), "{text}");
        }
    }

    #[test]
    fn commands_complete() {
        assert_eq!(completions(":r"), (1, vec!["reset"]));
        assert_eq!(completions(":lang ty"), (6, vec!["typescript"]));
        assert_eq!(completions(":vars "), (6, vec![]));
    }

    #[test]
    fn help_fits_a_terminal() {
        assert!(help().lines().all(|line| line.len() <= 80), "{}", help());
        assert!(
            help().starts_with(":help           what you read\n"),
            "{}",
            help()
        );
    }
}
