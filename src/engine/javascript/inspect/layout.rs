//! Where line breaks go: short entries share a line, long arrays of short entries become columns.

use super::strings::LINE;

/// How many levels may share a line.
const LEVELS_ON_A_LINE: usize = 3;

/// What stands around the entries of an object.
pub(super) struct Frame<'a> {
    /// Before the opening bracket, when it is not part of it: `[Function: f]`.
    pub(super) base: &'a str,
    pub(super) opening: &'a str,
    pub(super) closing: &'a str,
}

/// Puts `entries` into their frame. `levels` is how many levels of objects they hold, `items` how many of them are array
/// elements (with a last one that says how many are left out, if `is_cut`).
pub(super) fn arrange(
    mut entries: Vec<String>,
    frame: &Frame<'_>,
    indentation: usize,
    levels: usize,
    columns: Option<Columns>,
) -> String {
    let base = if frame.base.is_empty() {
        String::new()
    } else {
        format!("{} ", frame.base)
    };
    let count = entries.len();
    if let Some(columns) = columns
        && count > 6
    {
        entries = columns.of(entries, indentation);
    }
    if levels < LEVELS_ON_A_LINE && entries.len() == count {
        let start = count + indentation + width(frame.opening) + width(frame.base) + 10;
        let total: usize = entries.iter().map(|entry| width(entry)).sum::<usize>() + count + start;
        if total <= LINE
            && !frame.base.contains('\n')
            && !entries.iter().any(|entry| entry.contains('\n'))
        {
            return format!(
                "{base}{} {} {}",
                frame.opening,
                entries.join(", "),
                frame.closing
            );
        }
    }
    let margin = " ".repeat(indentation);
    let separator = format!(",\n{margin}  ");
    format!(
        "{base}{}\n{margin}  {}\n{margin}{}",
        frame.opening,
        entries.join(&separator),
        frame.closing
    )
}

/// How the entries of an array line up.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    /// All of them are numbers, which are aligned at their ends.
    pub(super) numeric: bool,
    /// The last entry says how many are left out.
    pub(super) is_cut: bool,
}

impl Columns {
    fn of(self, entries: Vec<String>, indentation: usize) -> Vec<String> {
        const SEPARATOR: usize = 2;
        let count = entries.len() - usize::from(self.is_cut);
        let widths: Vec<usize> = entries[..count].iter().map(|entry| width(entry)).collect();
        let total: usize = widths.iter().map(|width| width + SEPARATOR).sum();
        let widest = widths.iter().copied().max().unwrap_or(0);
        let cell = widest + SEPARATOR;
        let fits = cell * 3 + indentation < LINE;
        if !fits || !(total as f64 / cell as f64 > 5.0 || widest <= 6) {
            return entries;
        }
        // Entries are about 2.5 times as high as wide, and a block of them looks best about square.
        let bias = (cell as f64 - total as f64 / entries.len() as f64).sqrt();
        let biased = (cell as f64 - 3.0 - bias).max(1.0);
        let square = ((2.5 * biased * count as f64).sqrt() / biased).round() as usize;
        let columns = square
            .min((LINE - indentation) / cell)
            .min(LEVELS_ON_A_LINE * 4)
            .min(15);
        if columns <= 1 {
            return entries;
        }
        let column_widths: Vec<usize> = (0..columns)
            .map(|column| {
                widths
                    .iter()
                    .skip(column)
                    .step_by(columns)
                    .copied()
                    .max()
                    .unwrap_or(0)
                    + SEPARATOR
            })
            .collect();
        let mut lines: Vec<String> = entries[..count]
            .chunks(columns)
            .map(|row| self.row(row, &column_widths))
            .collect();
        lines.extend(entries.into_iter().skip(count));
        lines
    }

    fn row(self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, entry) in row.iter().enumerate() {
            let is_last = column + 1 == row.len();
            let text = if is_last {
                entry.clone()
            } else {
                format!("{entry}, ")
            };
            let space = widths[column] - if is_last { 2 } else { 0 };
            let padding = " ".repeat(space.saturating_sub(width(&text)));
            if self.numeric {
                line.push_str(&padding);
                line.push_str(&text);
            } else {
                line.push_str(&text);
                if !is_last {
                    line.push_str(&padding);
                }
            }
        }
        line
    }
}

/// The width of a text in UTF-16 units, which is what Node counts.
fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}
