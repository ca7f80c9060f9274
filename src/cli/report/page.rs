//! From cells to the page: its templates, and what goes into them.

use std::fmt::Write;

use warmcell::{Cut, Failure, Language};

use super::{Engine, Ran, display};
use crate::cli::console::{Table, bytes, counted, harmless, table_of};
use crate::cli::syntax::{self, Role};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const CELL: &str = include_str!("cell.html");

/// The whole page.
pub(super) fn page(engines: &[Engine], cells: &[Ran]) -> String {
    let failed = cells.iter().filter(|cell| !cell.outcome.ok).count();
    let duration = cells.iter().map(|cell| cell.outcome.duration_ms).sum();
    let summary = format!(
        "{}, {}, {}",
        counted(cells.len(), "cell"),
        if failed == 0 {
            "all ok".to_owned()
        } else {
            format!("{failed} failed")
        },
        time(duration),
    );
    let engines: Vec<String> = engines.iter().map(engine).collect();
    let cells: Vec<String> = cells
        .iter()
        .enumerate()
        .map(|(place, ran)| cell(place + 1, ran))
        .collect();
    fill(
        PAGE,
        &[
            ("title", "Cells and what came of them"),
            ("style", STYLE.trim_end()),
            ("warmcell", env!("CARGO_PKG_VERSION")),
            ("summary", &summary),
            ("engines", &engines.join("\n")),
            ("cells", &cells.join("\n")),
        ],
    )
}

fn engine(engine: &Engine) -> String {
    let language = engine.language.as_str();
    // Python's engine bears its name.
    let on = if engine.name == language {
        String::new()
    } else {
        format!(" on {}", escaped(&engine.name))
    };
    format!("<li>{language}{on} {}</li>", escaped(&engine.version))
}

fn cell(place: usize, ran: &Ran) -> String {
    let outcome = &ran.outcome;
    let name = match &ran.file {
        Some(file) => format!("Cell {place}: {}", escaped(file)),
        None => format!("Cell {place}"),
    };
    let status = outcome
        .error
        .as_ref()
        .map_or("ok", |failure| failure.kind.as_str());
    let facts = format!(
        "<span class=\"status\">{status}</span> · {} · {}",
        ran.language.as_str(),
        time(outcome.duration_ms)
    );
    fill(
        CELL,
        &[
            ("class", if outcome.ok { "ok" } else { "failed" }),
            ("place", &place.to_string()),
            ("name", &name),
            ("facts", &facts),
            ("source", &source(ran.language, &ran.source)),
            ("parts", &parts(place, ran)),
        ],
    )
}

/// What came of a cell.
fn parts(place: usize, ran: &Ran) -> String {
    let outcome = &ran.outcome;
    let cut = &outcome.truncated;
    let mut parts = String::new();
    stream(
        &mut parts,
        "Standard output",
        &outcome.stdout,
        cut.stdout.as_ref(),
    );
    stream(
        &mut parts,
        "Standard error",
        &outcome.stderr,
        cut.stderr.as_ref(),
    );
    for (index, entry) in outcome.display.iter().enumerate() {
        let name = format!("Display {} of cell {place}", index + 1);
        parts.push_str(&display::figure(&name, entry));
    }
    if cut.displays_left_out > 0 {
        let said = counted(cut.displays_left_out as usize, "more display");
        let _ = writeln!(parts, "<p class=\"left-out\">{said} left out</p>");
    }
    if let Some(value) = &outcome.value {
        let _ = writeln!(parts, "<h3>Value</h3>\n{}", self::value(value.as_str()));
    }
    if let Some(failure) = &outcome.error {
        parts.push_str(&error(failure));
    }
    if let Some(notice) = &outcome.notice {
        let _ = writeln!(parts, "<p class=\"notice\">{}</p>", escaped(notice));
    }
    let late = &outcome.background;
    let (out, err) = (&cut.background_stdout, &cut.background_stderr);
    stream(
        &mut parts,
        "Late standard output of earlier cells",
        &late.stdout,
        out.as_ref(),
    );
    stream(
        &mut parts,
        "Late standard error of earlier cells",
        &late.stderr,
        err.as_ref(),
    );
    parts
}

fn stream(parts: &mut String, title: &str, text: &str, cut: Option<&Cut>) {
    if text.is_empty() && cut.is_none() {
        return;
    }
    let _ = writeln!(parts, "<h3>{title}</h3>\n{}", preformatted("output", text));
    if let Some(cut) = cut {
        let said = counted(cut.bytes_left_out as usize, "byte");
        let file = cut
            .file
            .as_deref()
            .map(|file| format!("; all of it is in {}", escaped(file)));
        let file = file.unwrap_or_default();
        let _ = writeln!(
            parts,
            "<p class=\"left-out\">{said} left out of its middle{file}</p>"
        );
    }
}

fn error(failure: &Failure) -> String {
    let mut part = String::from("<h3>Error</h3>\n");
    let message = match &failure.name {
        Some(name) => format!("{name}: {}", failure.message),
        None => failure.message.clone(),
    };
    let _ = writeln!(
        part,
        "<p class=\"message\">{}</p>",
        escaped(&harmless(&message))
    );
    if let Some(traceback) = &failure.traceback {
        part.push_str(&preformatted("error", traceback));
        part.push('\n');
    }
    if let Some(hint) = &failure.hint {
        let _ = writeln!(part, "<p class=\"hint\">hint: {}</p>", escaped(hint));
    }
    part
}

/// Text as it was written, which can be scrolled by keyboard.
pub(super) fn preformatted(class: &str, text: &str) -> String {
    let text = escaped(&harmless(text));
    // A line that begins a `pre` would be dropped if it were empty.
    format!("<pre class=\"{class}\" tabindex=\"0\">\n{text}</pre>")
}

/// A value: records as a table, with the JSON behind a summary.
fn value(text: &str) -> String {
    match table_of(text) {
        Some(table) => {
            let json = preformatted("value", text);
            let table = rows(&table);
            format!("{table}\n<details>\n<summary>as JSON</summary>\n{json}\n</details>")
        }
        None => json(text),
    }
}

fn rows(table: &Table) -> String {
    let row = |tag: &str, texts: &[String]| {
        let cells = (0..table.header.len()).map(|column| {
            let text = texts.get(column).map_or("", String::as_str);
            format!("<{tag}>{}</{tag}>", escaped(&harmless(text)))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let mut body = String::new();
    for (index, texts) in table.rows.iter().enumerate() {
        if let Some((head, left_out)) = table.gap()
            && index == head
        {
            let said = counted(left_out, "row");
            let columns = table.header.len();
            let _ = writeln!(
                body,
                "<tr><td colspan=\"{columns}\">… {said} more</td></tr>"
            );
        }
        body.push_str(&row("td", texts));
    }
    let header = row("th", &table.header);
    format!(
        "<div class=\"prose\">\n<table>\n<thead>\n{header}</thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>"
    )
}

/// How much JSON is shown without being asked for, in bytes.
const SHORT: usize = 20_000;

/// JSON in colour, or behind a summary when it is long.
pub(super) fn json(text: &str) -> String {
    if text.len() > SHORT {
        let size = bytes(text.len());
        let text = preformatted("value", text);
        return format!("<details>\n<summary>JSON, {size}</summary>\n{text}\n</details>");
    }
    let laid_out = crate::cli::console::lay_out_plainly(text);
    let pieces = spans(&syntax::json(&laid_out));
    format!("<pre class=\"value\" tabindex=\"0\"><code>{pieces}</code></pre>")
}

fn source(language: Language, source: &str) -> String {
    spans(&syntax::pieces(language, source.trim_end()))
}

fn spans(pieces: &[(Role, &str)]) -> String {
    let mut text = String::new();
    for (role, piece) in pieces {
        let piece = escaped(&harmless(piece));
        let _ = match class(*role) {
            Some(class) => write!(text, "<span class=\"{class}\">{piece}</span>"),
            None => write!(text, "{piece}"),
        };
    }
    text
}

fn class(role: Role) -> Option<&'static str> {
    match role {
        Role::Plain => None,
        Role::Keyword => Some("k"),
        Role::Text => Some("t"),
        Role::Number => Some("n"),
        Role::Comment => Some("c"),
        Role::Key => Some("m"),
    }
}

/// Text as it may stand between tags and in the quotes of an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

fn time(milliseconds: f64) -> String {
    match milliseconds {
        ..1.0 => format!("{:.0} µs", milliseconds * 1e3),
        ..1000.0 => format!("{milliseconds:.1} ms"),
        ..60_000.0 => format!("{:.1} s", milliseconds / 1e3),
        _ => format!("{:.1} min", milliseconds / 6e4),
    }
}

/// Puts values in the places of a template. What a value holds is never taken for a place.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        filled.push_str(before);
        let (name, behind) = behind.split_once("}}").unwrap_or((behind, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        filled.push_str(value.map_or("", |(_, value)| value));
        rest = behind;
    }
    filled.push_str(rest);
    filled
}
