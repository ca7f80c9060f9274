//! [`Table`]: rows and columns drawn with lines, as many as fit, with what was left out said.

use super::colour::{Palette, Tone};
use super::text::{counted, cut, on_one_line, width};

/// How many rows are drawn of a table with more; the others come from its middle.
const HEAD: usize = 20;
const TAIL: usize = 5;

/// How wide a column may be, tried one after the other until all columns fit.
const WIDEST: [usize; 7] = [100, 60, 40, 30, 24, 18, 12];

/// What is drawn as a table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Table {
    pub(in crate::cli) header: Vec<String>,
    /// The rows that are drawn, each as long as the header or shorter.
    pub(in crate::cli) rows: Vec<Vec<String>>,
    /// How many rows are left out, and behind how many.
    left_out: usize,
    head: usize,
}

impl Table {
    /// A table of so many rows, of which only those that are drawn are asked for.
    pub(in crate::cli) fn of_rows(
        header: Vec<String>,
        count: usize,
        mut row: impl FnMut(usize) -> Vec<String>,
    ) -> Self {
        let is_whole = count <= HEAD + TAIL + 1;
        let head = if is_whole { count } else { HEAD };
        let tail = if is_whole { 0 } else { TAIL };
        Self {
            header,
            rows: (0..head).chain(count - tail..count).map(&mut row).collect(),
            left_out: count - head - tail,
            head,
        }
    }

    /// Draws it, each line ended. What the texts hold cannot move the cursor.
    pub(in crate::cli) fn draw(&self, columns: usize, palette: Palette) -> String {
        let texts = |row: &Vec<String>| row.iter().map(|text| on_one_line(text)).collect();
        let header: Vec<String> = texts(&self.header);
        let rows: Vec<Vec<String>> = self.rows.iter().map(texts).collect();
        let natural: Vec<usize> = (0..header.len())
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                let widths = cells.chain([&header[column]]).map(|text| width(text));
                widths.max().unwrap_or(0).max(1)
            })
            .collect();
        let (widths, shown) = fit(&natural, columns);
        let layout = Layout {
            is_number: (0..shown).map(|column| is_number(&rows, column)).collect(),
            has_more: shown < header.len(),
            widths,
            palette,
        };
        let mut drawn = layout.border('┌', '┬', '┐');
        if header.iter().any(|name| !name.is_empty()) {
            drawn.push_str(&layout.row(&header, Some(Tone::Strong)));
            drawn.push_str(&layout.border('├', '┼', '┤'));
        }
        for (index, row) in rows.iter().enumerate() {
            if self.left_out > 0 && index == self.head {
                drawn.push_str(&layout.row(&vec!["⋮".to_owned(); shown], Some(Tone::Aside)));
            }
            drawn.push_str(&layout.row(row, None));
        }
        drawn.push_str(&layout.border('└', '┴', '┘'));
        if let Some(said) = self.said(header.len() - shown) {
            drawn.push_str(&palette.paint(Tone::Aside, &said));
            drawn.push('\n');
        }
        drawn
    }

    /// The rows behind which others are left out, and how many those are.
    pub(in crate::cli) fn gap(&self) -> Option<(usize, usize)> {
        (self.left_out > 0).then_some((self.head, self.left_out))
    }

    /// What was left out, in words.
    fn said(&self, columns_left_out: usize) -> Option<String> {
        let of = |all: usize, thing: &str, left_out: usize| {
            (left_out > 0).then(|| format!("{}, {left_out} of them left out", counted(all, thing)))
        };
        let rows = of(self.rows.len() + self.left_out, "row", self.left_out);
        let columns = of(self.header.len(), "column", columns_left_out);
        rows.into_iter()
            .chain(columns)
            .reduce(|rows, columns| format!("{rows}; {columns}"))
    }
}

/// How wide each column is drawn, and how many are.
fn fit(natural: &[usize], room: usize) -> (Vec<usize>, usize) {
    // A border before each column, a space on either side of its text, and the last border.
    let taken = |widths: &[usize]| widths.iter().map(|width| width + 3).sum::<usize>() + 1;
    let mut widths: Vec<usize> = Vec::new();
    for widest in WIDEST {
        widths = natural.iter().map(|width| *width.min(&widest)).collect();
        if taken(&widths) <= room {
            return (widths, natural.len());
        }
    }
    // One more column says that there are more.
    let mut shown = widths.len();
    while shown > 1 && taken(&widths[..shown]) + 4 > room {
        shown -= 1;
    }
    widths.truncate(shown);
    (widths, shown)
}

/// Whether a column holds numbers, as far as it is drawn.
fn is_number(rows: &[Vec<String>], column: usize) -> bool {
    let mut texts = rows
        .iter()
        .filter_map(|row| row.get(column))
        .map(|text| text.trim())
        .filter(|text| !matches!(*text, "" | "null" | "NaN" | "..." | "…"))
        .peekable();
    texts.peek().is_some()
        && texts.all(|text| {
            text.replace([',', '_'], "")
                .trim_end_matches('%')
                .parse::<f64>()
                .is_ok()
        })
}

struct Layout {
    widths: Vec<usize>,
    is_number: Vec<bool>,
    has_more: bool,
    palette: Palette,
}

impl Layout {
    fn border(&self, left: char, middle: char, right: char) -> String {
        let more = self.has_more.then_some(1);
        let lines: Vec<String> = self
            .widths
            .iter()
            .copied()
            .chain(more)
            .map(|width| "─".repeat(width + 2))
            .collect();
        let line = lines.join(&middle.to_string());
        let line = self
            .palette
            .paint(Tone::Aside, &format!("{left}{line}{right}"));
        format!("{line}\n")
    }

    fn row(&self, texts: &[String], tone: Option<Tone>) -> String {
        let line = self.palette.paint(Tone::Aside, "│");
        let mut drawn = String::new();
        for (column, widest) in self.widths.iter().enumerate() {
            let text = cut(texts.get(column).map_or("", String::as_str), *widest);
            let padding = " ".repeat(widest.saturating_sub(width(&text)));
            let text = tone.map_or(text.clone(), |tone| self.palette.paint(tone, &text));
            let cell = if self.is_number[column] {
                format!("{padding}{text}")
            } else {
                format!("{text}{padding}")
            };
            drawn.push_str(&format!("{line} {cell} "));
        }
        if self.has_more {
            drawn.push_str(&format!("{line} {} ", self.palette.paint(Tone::Aside, "…")));
        }
        drawn.push_str(&line);
        drawn.push('\n');
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Palette = Palette { is_coloured: false };

    fn table(header: &[&str], rows: &[&[&str]]) -> Table {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Table::of_rows(owned(header), rows.len(), |row| owned(rows[row]))
    }

    #[test]
    fn columns_line_up() {
        let table = table(
            &["name", "score"],
            &[&["Ann", "91"], &["漢字", "7.5"], &["a\nb\x1b[2J"]],
        );
        assert_eq!(
            table.draw(80, PLAIN),
            "\
┌─────────┬───────┐
│ name    │ score │
├─────────┼───────┤
│ Ann     │    91 │
│ 漢字    │   7.5 │
│ a⏎b␛[2J │       │
└─────────┴───────┘
"
        );
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let header: Vec<String> = (0..30).map(|column| format!("column {column}")).collect();
        let table = Table::of_rows(header, 1000, |row| {
            (0..30).map(|column| (row * column).to_string()).collect()
        });
        let drawn = table.draw(50, PLAIN);
        let lines: Vec<&str> = drawn.lines().collect();
        // Borders, header, rows, the row of dots, and the words.
        assert_eq!(lines.len(), 3 + 1 + 25 + 1 + 1);
        assert!(
            lines.iter().take(30).all(|line| width(line) <= 50),
            "{drawn}"
        );
        assert_eq!(
            lines[30],
            "1,000 rows, 975 of them left out; 30 columns, 26 of them left out"
        );
    }

    #[test]
    fn a_wide_column_is_cut() {
        let long = "x".repeat(500);
        let drawn = table(&["a", "b"], &[&[&long, "1"]]).draw(60, PLAIN);
        assert!(drawn.lines().all(|line| width(line) <= 60), "{drawn}");
        assert!(drawn.contains('…'), "{drawn}");
    }
}
