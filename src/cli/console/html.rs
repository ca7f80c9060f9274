//! HTML in a terminal, by way of Markdown: what a page says, without what it looks like.

use htmd::HtmlToMarkdown;

/// The HTML as Markdown. None where nothing of it is text.
pub(super) fn to_markdown(html: &str) -> Option<String> {
    let converter = HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "head", "template", "noscript"])
        .build();
    let markdown = converter.convert(html).ok()?;
    (!markdown.trim().is_empty()).then_some(markdown)
}
