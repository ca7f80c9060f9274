//! Which of a display's forms is shown where, and how: the richest that the place can show.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use warmcell::Display;

use super::colour::Tone;
use super::graphics::Picture;
use super::html::{self, Block};
use super::markdown;
use super::text::{bytes, harmless, on_one_line};
use super::value::{self, Look};

/// The images that a terminal may be able to draw.
const PICTURES: [&str; 2] = ["image/png", "image/jpeg"];

/// What a display says where only text can be shown.
pub(super) fn plain(entry: &Display) -> String {
    if let Some(text) = form(entry, "text/plain").or_else(|| form(entry, "text/markdown")) {
        return text.to_owned();
    }
    let types: Vec<&str> = entry.data.keys().map(String::as_str).collect();
    match &entry.file {
        Some(file) => format!("[{}: {file}]", types.join(", ")),
        None => format!("[{}]", types.join(", ")),
    }
}

/// The image of a display, if it has one that can be read.
pub(super) fn picture(entry: &Display) -> Option<(&'static str, Picture)> {
    PICTURES.into_iter().find_map(|mime| {
        let encoded = form(entry, mime)?;
        let packed: String = encoded.split_ascii_whitespace().collect();
        Some((mime, Picture::read(STANDARD.decode(packed).ok()?)?))
    })
}

/// What is shown in place of an image: its text if it has one, what it is, and where it lies. Each line is ended.
pub(super) fn text_of_picture(
    entry: &Display,
    mime: &str,
    picture: &Picture,
    file: Option<&str>,
    look: Look,
) -> String {
    let (width, height) = picture.size();
    let size = bytes(picture.bytes().len());
    let about = format!("{mime}, {width} x {height}, {size}");
    let about = match file {
        Some(file) => format!("[{about}: {}]", on_one_line(file)),
        None => format!("[{about}]"),
    };
    let about = look.palette.paint(Tone::Aside, &about);
    match form(entry, "text/plain") {
        Some(text) => format!("{}\n{about}\n", harmless(text).trim_end()),
        None => format!("{about}\n"),
    }
}

/// A display without an image, drawn. Each line is ended.
pub(super) fn text(entry: &Display, look: Look) -> String {
    let mut text = drawn(entry, look).unwrap_or_else(|| about(entry, look));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if let Some(file) = &entry.file {
        text.push_str(
            &look
                .palette
                .paint(Tone::Aside, &format!("[{}]", on_one_line(file))),
        );
        text.push('\n');
    }
    text
}

fn drawn(entry: &Display, look: Look) -> Option<String> {
    let plain = form(entry, "text/plain");
    if let Some(text) = form(entry, "text/markdown") {
        return Some(markdown::draw(text, look.columns, look.palette));
    }
    let page = form(entry, "text/html");
    let from_page = || drawn_page(&html::read(page?), look);
    // A text that is a drawn table already knows more of it (polars tells the columns' types).
    let is_better_as_page = page.is_some_and(|page| page.contains("<table"))
        && !plain.is_some_and(|text| text.contains(['┌', '╭', '╔']));
    if is_better_as_page && let Some(text) = from_page() {
        return Some(text);
    }
    if let Some(text) = plain {
        return Some(harmless(text));
    }
    if let Some(value) = entry.data.get("application/json") {
        return Some(value::lay_out(&value.to_string(), look));
    }
    from_page().or_else(|| form(entry, "text/latex").map(harmless))
}

/// A page by its tables and its text; none where it has neither.
fn drawn_page(blocks: &[Block], look: Look) -> Option<String> {
    let drawn = blocks.iter().map(|block| match block {
        Block::Text(text) => format!("{}\n", harmless(text)),
        Block::Table(table) => table.draw(look.columns, look.palette),
    });
    (!blocks.is_empty()).then(|| drawn.collect())
}

/// What a display is that cannot be shown.
fn about(entry: &Display, look: Look) -> String {
    let forms: Vec<String> = entry
        .data
        .iter()
        .map(|(mime, content)| {
            let length = content
                .as_str()
                .map_or_else(|| content.to_string().len(), str::len);
            format!("{}, {}", on_one_line(mime), bytes(length))
        })
        .collect();
    look.palette
        .paint(Tone::Aside, &format!("[{}]", forms.join("; ")))
}

fn form<'a>(entry: &'a Display, mime: &str) -> Option<&'a str> {
    entry.data.get(mime).and_then(Value::as_str)
}
