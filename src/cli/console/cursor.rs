//! [`Cursor`]: where the terminal's cursor is, as far as the text that was written tells.

use unicode_width::UnicodeWidthChar;

use super::text::sequence_length;

/// Counts rows and columns of what is written.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The columns of the terminal.
    columns: usize,
    column: usize,
    /// Rows since the mark; none when something was written whose height is not known.
    rows: Option<usize>,
}

impl Cursor {
    pub(super) fn new() -> Self {
        Self {
            columns: 80,
            column: 0,
            rows: Some(0),
        }
    }

    /// Counts rows from here on, on a terminal that is so wide.
    pub(super) fn mark(&mut self, columns: usize) {
        self.columns = columns.max(1);
        self.rows = Some(0);
    }

    pub(super) fn is_at_line_start(&self) -> bool {
        self.column == 0
    }

    /// How many rows the cursor is below the mark.
    pub(super) fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// The cursor was moved to so many rows below the mark, to the start of a line.
    pub(super) fn set_rows(&mut self, rows: usize) {
        (self.column, self.rows) = (0, Some(rows));
    }

    /// Takes text that was written.
    pub(super) fn take(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '\x1b' => sequence_length(rest),
                other => {
                    self.step(other);
                    other.len_utf8()
                }
            };
            rest = &rest[length..];
        }
    }

    /// Takes something that took so many rows and ended at the start of a line.
    pub(super) fn take_rows(&mut self, rows: Option<usize>) {
        self.column = 0;
        self.rows = self.rows.zip(rows).map(|(before, rows)| before + rows);
    }

    fn step(&mut self, character: char) {
        match character {
            '\n' => {
                self.column = 0;
                self.down();
            }
            '\r' => self.column = 0,
            '\x08' => self.column = self.column.saturating_sub(1),
            '\t' => self.column = (self.column / 8 * 8 + 8).min(self.columns - 1),
            other => {
                let wide = other.width().unwrap_or(0);
                // A terminal goes on in the next row once a character does not fit any more.
                if self.column + wide > self.columns {
                    self.column = 0;
                    self.down();
                }
                self.column += wide;
            }
        }
    }

    fn down(&mut self) {
        if let Some(rows) = &mut self.rows {
            *rows += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> (Option<usize>, bool) {
        let mut cursor = Cursor::new();
        cursor.mark(10);
        cursor.take(text);
        (cursor.rows(), cursor.is_at_line_start())
    }

    #[test]
    fn rows_are_those_of_the_terminal() {
        assert_eq!(after("a\nb\n"), (Some(2), true));
        assert_eq!(after("0123456789"), (Some(0), false));
        assert_eq!(after("0123456789a"), (Some(1), false));
        assert_eq!(after("漢字漢字漢字"), (Some(1), false));
        assert_eq!(after("\x1b[31m0123456789\x1b[0m\n"), (Some(1), true));
        assert_eq!(after("50%\r"), (Some(0), true));
        let mut cursor = Cursor::new();
        cursor.take_rows(None);
        cursor.take("\n");
        assert_eq!(cursor.rows(), None);
    }
}
