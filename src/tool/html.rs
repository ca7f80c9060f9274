//! [`to_markdown`]: HTML in the form that a model reads best, and for the fewest tokens.
//!
//! A program can show anything as HTML. The converter walks the tree by recursion and is not made for attacks, so that it
//! gets neither large texts nor deep ones; whatever it does not take is shown as it is.

/// The longest text that is converted: more than a result may show, as a rule.
#[cfg(feature = "html")]
const MOST_BYTES: usize = 128 << 10;

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
    if html.len() > MOST_BYTES {
        return None;
    }
    std::panic::catch_unwind(|| convert(html)).ok().flatten()
}

#[cfg(feature = "html")]
fn convert(html: &str) -> Option<String> {
    let converter = htmd::HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "head", "template"])
        .build();
    let tree = converter.html_to_tree(html).ok()?;
    if depth(&tree) > DEEPEST {
        return None;
    }
    let markdown = converter.tree_to_markdown(&tree);
    (!markdown.trim().is_empty()).then(|| markdown + "\n")
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
        let many = |piece: &str| piece.repeat(MOST_BYTES / piece.len());
        let numbered = |before: &str, after: &str| -> String {
            let all: String = (0..6000).map(|n| format!("{before}{n}{after}")).collect();
            all[..all.len().min(MOST_BYTES)].to_owned()
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
            numbered("<a href='", "'>x</a>"),
            numbered("<img src=", ">"),
            "<div>".repeat(120) + "deep" + &many("<b>x"),
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
