//! [`to_markdown`]: HTML in the form that a model reads best, and for the fewest tokens.
//!
//! A program can show anything as HTML. The parser takes a time that grows with the square of the depth, and repeats open
//! formatting elements in every paragraph, three of a kind and any number with attributes of their own; the converter walks
//! the tree by recursion. So they get neither many tags nor deep trees, and no attributes of formatting elements. What they
//! do not get is shown as it is.

/// The longest text that is converted: more than a result may show, as a rule.
#[cfg(feature = "html")]
const MOST_BYTES: usize = 128 << 10;

/// How many tags it may have, those that end an element included.
#[cfg(feature = "html")]
const MOST_TAGS: usize = 4096;

/// How deep elements may stand in each other. Each level takes a few frames of the stack, which may be a small one.
#[cfg(feature = "html")]
const DEEPEST: usize = 128;

#[cfg(not(feature = "html"))]
pub(super) fn to_markdown(_html: &str) -> Option<String> {
    None
}

/// The same content as Markdown; none where that cannot be had at a bounded cost.
#[cfg(feature = "html")]
pub(super) fn to_markdown(html: &str) -> Option<String> {
    let tags = memchr::memchr_iter(b'<', html.as_bytes()).count();
    if html.len() > MOST_BYTES || tags > MOST_TAGS {
        return None;
    }
    std::panic::catch_unwind(|| convert(html)).ok().flatten()
}

#[cfg(feature = "html")]
fn convert(html: &str) -> Option<String> {
    let converter = htmd::HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "head", "template"])
        .build();
    let tree = converter.html_to_tree(&without_attributes(html)).ok()?;
    if depth(&tree) > DEEPEST {
        return None;
    }
    let markdown = converter.tree_to_markdown(&tree);
    (!markdown.trim().is_empty()).then(|| markdown + "\n")
}

/// The elements that HTML's standard calls formatting ones, but for `a`, of which no two are open at once.
#[cfg(feature = "html")]
const FORMATTING: [&str; 13] = [
    "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// The same text, in which no formatting element has attributes.
#[cfg(feature = "html")]
fn without_attributes(html: &str) -> String {
    let mut written = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        let name = tag.split(|letter: char| !letter.is_ascii_alphanumeric());
        let name = name.into_iter().next().unwrap_or_default();
        let attributes = &tag[name.len()..];
        let is_formatting = FORMATTING
            .iter()
            .any(|formatting| formatting.eq_ignore_ascii_case(name));
        written.push_str(before);
        written.push('<');
        rest = tag;
        if is_formatting
            && attributes.starts_with(|next: char| next == '/' || next.is_ascii_whitespace())
        {
            written.push_str(name);
            written.push('>');
            rest = attributes.split_once('>').map_or("", |(_, rest)| rest);
        }
    }
    written.push_str(rest);
    written
}

/// How deep the tree is, or more than the deepest that is taken.
#[cfg(feature = "html")]
fn depth(tree: &std::rc::Rc<htmd::Node>) -> usize {
    let mut deepest = 0;
    let mut left = vec![(tree.clone(), 1)];
    while let Some((node, depth)) = left.pop() {
        deepest = deepest.max(depth);
        if deepest > DEEPEST {
            break;
        }
        let children = node.children.borrow();
        left.extend(children.iter().map(|child| (child.clone(), depth + 1)));
    }
    deepest
}

#[cfg(all(test, feature = "html"))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_table_is_one_and_no_script_is_text() {
        let html = "<style>td { color: red }</style><script>alert(1)</script>\
                    <h2>Rows</h2><table><thead><tr><th>name</th><th>score</th></tr></thead>\
                    <tbody><tr><td>Ann</td><td>91</td></tr></tbody></table><p>all <b>of</b> them</p>";
        let markdown = to_markdown(html).expect("markdown");
        let lines: Vec<&str> = markdown.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[0], "## Rows");
        assert_eq!(lines[1].replace(' ', ""), "|name|score|");
        assert_eq!(lines[3].replace(' ', ""), "|Ann|91|");
        assert_eq!(lines[4], "all **of** them");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn formatting_is_kept_and_its_attributes_are_not() {
        assert_eq!(
            without_attributes(
                "1 < 2 <b class='x'>b</b> <I\tid=\"a>b\">i</I><br /><u/><img src=x><bx y><b"
            ),
            "1 < 2 <b>b</b> <I>b\">i</I><br /><u><img src=x><bx y><b"
        );
    }

    #[test]
    fn html_without_text_stays_html() {
        for html in [
            "",
            "<div></div>",
            "<script>1</script>",
            "<svg><path/></svg>",
        ] {
            assert_eq!(to_markdown(html), None, "{html}");
        }
    }

    #[test]
    fn hostile_html_costs_a_bounded_time_on_a_small_stack() {
        let many = |piece: &str| {
            let tags = piece.matches('<').count().max(1);
            piece.repeat((MOST_BYTES / piece.len()).min(MOST_TAGS / tags))
        };
        let numbered = |before: &str, after: &str| -> String {
            let tags = before.matches('<').count() + after.matches('<').count();
            let pieces = (0..MOST_TAGS / tags).map(|n| format!("{before}{n}{after}"));
            pieces.collect()
        };
        let hostile = [
            many("<div>"),
            many("<b>"),
            many("<b>a</b>"),
            many("<i></b>"),
            many("<table>"),
            many("<table><td>"),
            many("<p><b><i>"),
            many("<a href=x>"),
            many("<ul><li>x"),
            many("<pre><code>"),
            many("<blockquote>x"),
            many("</p>"),
            many("&amp;"),
            many("&"),
            many("<"),
            many("*_`["),
            many("<!--"),
            many("<svg><foreignObject>"),
            many("<select><option>"),
            many("<td>x</td>"),
            many("<br>\n"),
            many("\n "),
            many("<?php ?>"),
            many("<table><tr><td>x</td></tr></table>"),
            numbered("<p><b a=", ">x"),
            numbered("<p><b/a=", ">x"),
            numbered("<b a=", "><table><td></b></table><p>x"),
            numbered("<a href='", "'><p>x"),
            many("<p><b><i><u><s><em><tt><small><big><code><font>x"),
            "<b><i><u><s><em><tt><small><big><code><font>".repeat(3) + &"<p>x".repeat(4000),
            numbered("<img src=", ">"),
            "<div>".repeat(120) + "deep" + &"<b>x".repeat(2000),
            "<b>x".repeat(MOST_TAGS + 1),
            "x".repeat(MOST_BYTES + 1),
        ];
        let small = std::thread::Builder::new().stack_size(1 << 20);
        let running = small.spawn(move || {
            for html in hostile {
                let begun = Instant::now();
                let markdown = to_markdown(&html);
                let took = begun.elapsed();
                let start: String = html.chars().take(20).collect();
                assert!(took < Duration::from_secs(5), "{start}: {took:?}");
                assert!(
                    markdown.is_none_or(|text| text.len() < 40 * MOST_BYTES),
                    "{start}"
                );
            }
        });
        running.expect("a thread").join().expect("no overflow");
    }
}
