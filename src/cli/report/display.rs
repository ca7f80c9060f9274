//! Displays on the page: each in the richest form that a page can show without trusting it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use warmcell::Display;

use super::markdown;
use super::page::{escaped, json, preformatted};

/// What every frame begins with.
const FRAME: &str = include_str!("frame.html");

/// The images that browsers show, the ones that lose nothing first.
const PICTURES: [&str; 4] = ["image/png", "image/webp", "image/gif", "image/jpeg"];

/// How high a frame is at most before it scrolls, and how much of that a row takes, in pixels: a frame that runs no script
/// cannot tell its height.
const FRAME_HEIGHT: usize = 480;
const ROW_HEIGHT: usize = 30;

/// What a frame has below its rows: its margins, and a line that says how many they are.
const BELOW: usize = 60;

/// A display, under its name.
pub(super) fn figure(name: &str, entry: &Display) -> String {
    let shown = picture(name, entry)
        .or_else(|| drawing(name, entry))
        .or_else(|| frame(name, entry))
        .or_else(|| form(entry, "text/markdown").map(prose))
        .or_else(|| {
            entry
                .data
                .get("application/json")
                .map(|value| json(&value.to_string()))
        })
        .or_else(|| form(entry, "text/latex").map(|text| preformatted("output", text)))
        .or_else(|| form(entry, "text/plain").map(|text| preformatted("output", text)))
        .unwrap_or_else(|| about(entry));
    let file = entry.file.as_deref().map(|file| {
        format!(
            "\n<p class=\"left-out\">all of it is in {}</p>",
            escaped(file)
        )
    });
    let file = file.unwrap_or_default();
    format!("<h3>{name}</h3>\n{shown}{file}\n")
}

fn picture(name: &str, entry: &Display) -> Option<String> {
    PICTURES.into_iter().find_map(|mime| {
        let encoded: String = form(entry, mime)?.split_ascii_whitespace().collect();
        // Only what is base64 may stand in the attribute.
        STANDARD.decode(&encoded).ok()?;
        let width = entry
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get(mime)?.get("width")?.as_u64());
        let width = width
            .map(|width| format!(" width=\"{width}\""))
            .unwrap_or_default();
        Some(image(name, entry, mime, &encoded, &width))
    })
}

/// SVG as an image: there it runs no script and loads nothing.
fn drawing(name: &str, entry: &Display) -> Option<String> {
    let mime = "image/svg+xml";
    let encoded = STANDARD.encode(form(entry, mime)?);
    Some(image(name, entry, mime, &encoded, ""))
}

fn image(name: &str, entry: &Display, mime: &str, encoded: &str, width: &str) -> String {
    let alternative = match form(entry, "text/plain") {
        Some(text) => escaped(text.trim()),
        None => format!("{name}, {mime}"),
    };
    format!(
        "<figure><img src=\"data:{mime};base64,{encoded}\"{width} alt=\"{alternative}\"></figure>"
    )
}

/// The program's own markup, in a frame without scripts and without a way to this page; its text besides.
fn frame(name: &str, entry: &Display) -> Option<String> {
    let html = form(entry, "text/html")?;
    let rows = html
        .matches("<tr")
        .count()
        .max(html.matches("<br").count())
        .max(3);
    let height = (rows * ROW_HEIGHT + BELOW).min(FRAME_HEIGHT);
    let page = escaped(&format!("{FRAME}{html}"));
    let frame = format!(
        "<iframe sandbox srcdoc=\"{page}\" title=\"{name}\" height=\"{height}\" loading=\"lazy\"></iframe>"
    );
    Some(match form(entry, "text/plain") {
        Some(text) => format!(
            "{frame}\n<details>\n<summary>as text</summary>\n{}\n</details>",
            preformatted("output", text)
        ),
        None => frame,
    })
}

fn prose(text: &str) -> String {
    format!("<div class=\"prose\">\n{}</div>", markdown::to_html(text))
}

fn about(entry: &Display) -> String {
    let types: Vec<&str> = entry.data.keys().map(String::as_str).collect();
    preformatted("output", &format!("[{}]", types.join(", ")))
}

fn form<'a>(entry: &'a Display, mime: &str) -> Option<&'a str> {
    entry.data.get(mime).and_then(Value::as_str)
}
