//! The colours of a terminal: what each stands for, and that there may be none.

use crate::cli::syntax::Role;

/// What something means to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Tone {
    Error,
    Notice,
    Hint,
    /// Not data: what was left out, borders, marks.
    Aside,
    Heading,
    Strong,
    Emphasis,
    Code,
    /// A place in a source.
    Place,
    Of(Role),
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Palette {
    pub(in crate::cli) is_coloured: bool,
}

const PLAIN: &str = "\x1b[0m";

impl Palette {
    /// The text in the colour of its meaning.
    pub(in crate::cli) fn paint(self, tone: Tone, text: &str) -> String {
        let begin = self.begin(tone);
        if begin.is_empty() || text.is_empty() {
            text.to_owned()
        } else {
            format!("{begin}{text}{PLAIN}")
        }
    }

    /// The pieces of a source, each in the colour of its role.
    pub(in crate::cli) fn pieces(self, pieces: &[(Role, &str)]) -> String {
        pieces
            .iter()
            .map(|(role, text)| self.paint(Tone::Of(*role), text))
            .collect()
    }

    fn begin(self, tone: Tone) -> &'static str {
        if !self.is_coloured {
            return "";
        }
        match tone {
            Tone::Error => "\x1b[1;31m",
            Tone::Notice => "\x1b[1;33m",
            Tone::Hint => "\x1b[1;36m",
            Tone::Aside | Tone::Of(Role::Comment) => "\x1b[2m",
            Tone::Heading => "\x1b[1;4m",
            Tone::Strong => "\x1b[1m",
            Tone::Emphasis => "\x1b[3m",
            Tone::Code | Tone::Place => "\x1b[36m",
            Tone::Of(Role::Key) => "\x1b[34m",
            Tone::Of(Role::Text) => "\x1b[32m",
            Tone::Of(Role::Number) => "\x1b[33m",
            Tone::Of(Role::Keyword) => "\x1b[35m",
            Tone::Of(Role::Plain) => "",
        }
    }
}
