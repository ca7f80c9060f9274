//! Markdown on the page: its own markup alone. HTML in it is shown as text, and links lead where a reader expects.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

use crate::cli::console::harmless;

/// Where a link may lead.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

pub(super) fn to_html(markdown: &str) -> String {
    let markdown = harmless(markdown);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // Whether each image that is open became a link.
    let mut images = Vec::new();
    let events = Parser::new_ext(&markdown, options).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link {
            dest_url, title, ..
        }) => Event::Start(link(dest_url, title)),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let is_link = !dest_url.starts_with("data:image/");
            images.push(is_link);
            Event::Start(if is_link {
                link(dest_url, title)
            } else {
                Tag::Image {
                    link_type,
                    dest_url,
                    title,
                    id,
                }
            })
        }
        Event::End(TagEnd::Image) if images.pop() == Some(true) => Event::End(TagEnd::Link),
        other => other,
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

fn link<'a>(place: CowStr<'a>, title: CowStr<'a>) -> Tag<'a> {
    let is_known = SCHEMES.iter().any(|scheme| {
        let begin = place.get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    });
    Tag::Link {
        link_type: LinkType::Inline,
        dest_url: if is_known {
            place
        } else {
            CowStr::Borrowed("#")
        },
        title,
        id: CowStr::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_the_program_stays_text() {
        assert_eq!(
            to_html("*a* <script>alert(1)</script>"),
            "<p><em>a</em> &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
        );
        assert_eq!(
            to_html("[a](javascript:alert(1)) [b](https://c.d) ![e](https://f.g/h.png)"),
            "<p><a href=\"#\">a</a> <a href=\"https://c.d\">b</a> <a href=\"https://f.g/h.png\">e</a></p>\n"
        );
        assert_eq!(
            to_html("![e](data:image/png;base64,AAAA)"),
            "<p><img src=\"data:image/png;base64,AAAA\" alt=\"e\" /></p>\n"
        );
    }
}
