//! The source preparation that every language shares: blank cells, and the Markdown fence a model leaves around its code.
//!
//! Nothing here knows a language. What depends on one (indentation, newlines, the byte 0) is the engine's to prepare.

/// Whether there is nothing to run: white space at most.
pub(crate) fn is_blank(code: &str) -> bool {
    code.chars()
        .all(|character| character.is_whitespace() || character == '\u{feff}')
}

/// Takes a Markdown fence off that encloses the whole source; anything else is returned as it came.
///
/// Lines are counted from the first line inside the fence, in tracebacks too: that is the source the session keeps. Text
/// before or after the fence, a fence that is not closed and several fenced blocks are no whole-source fence. What is
/// inside may be blank, so ask [`is_blank`] afterwards.
pub(crate) fn without_fence(code: &str) -> &str {
    let body = code.trim_start();
    if !body.starts_with(['`', '~']) {
        return code;
    }
    inside_fence(body.trim_end()).unwrap_or(code)
}

/// The lines between the opening fence that `block` starts with and the closing one that it ends with.
fn inside_fence(block: &str) -> Option<&str> {
    let (first, rest) = block.split_once('\n')?;
    let opening = Fence::of(first)?;
    let last = rest.rfind('\n').map_or(0, |newline| newline + 1);
    let (inside, closing) = rest.split_at(last);
    if !opening.is_closed_by(closing) {
        return None;
    }
    // A fence that is opened and closed inside (Markdown in a string) belongs to the content; when the outer one is closed
    // before the last line, prose or a second block follows it.
    let mut open = 1_usize;
    for fence in inside.lines().filter_map(Fence::of) {
        if fence.mark != opening.mark || fence.length < opening.length {
            continue;
        }
        if fence.info.is_empty() {
            open -= 1;
        } else {
            open += 1;
        }
        if open == 0 {
            return None;
        }
    }
    (open == 1).then_some(inside)
}

/// A line of three or more backticks or tildes, with what is written behind them.
struct Fence<'line> {
    mark: char,
    length: usize,
    info: &'line str,
}

impl<'line> Fence<'line> {
    fn of(line: &'line str) -> Option<Self> {
        let line = line.trim();
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        (length >= 3 && !info.contains(mark)).then_some(Self {
            mark,
            length,
            info: info.trim(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        Fence::of(line).is_some_and(|closing| {
            closing.mark == self.mark && closing.length >= self.length && closing.info.is_empty()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_is_blank_and_a_comment_is_not() {
        for blank in [
            "",
            " ",
            "  \n\t",
            "\r\n",
            "\u{a0}\u{2028}",
            "\u{feff}",
            "\u{feff}\n",
        ] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for code in ["x", "\n\n  x", "# nothing", "0", "\\"] {
            assert!(!is_blank(code), "{code:?}");
        }
    }

    #[test]
    fn a_fence_around_the_whole_source_comes_off() {
        let cases = [
            ("```python\nx = 20\nx + 1\n```", "x = 20\nx + 1\n"),
            ("```\nx\n```\n", "x\n"),
            ("\n\n  ```py title=\"a b\"\nx\n\n```  \n\n", "x\n\n"),
            ("~~~js\nlet a = `b`\n~~~", "let a = `b`\n"),
            ("````md\n```\nx\n```\n````", "```\nx\n```\n"),
            ("```python\r\nx\r\n```\r\n", "x\r\n"),
            ("```python\n```", ""),
            ("```python\n    x\n    y\n```", "    x\n    y\n"),
            // Markdown inside a string of a fenced cell.
            (
                "```python\ns = '''\n```sh\nls\n```\n'''\n```",
                "s = '''\n```sh\nls\n```\n'''\n",
            ),
            ("```python\ns = 'a'\n~~~\n```", "s = 'a'\n~~~\n"),
        ];
        for (code, inside) in cases {
            assert_eq!(without_fence(code), inside, "{code:?}");
        }
    }

    #[test]
    fn anything_else_is_returned_as_it_came() {
        let cases = [
            "",
            "x",
            "  x\n",
            "```",
            "```python",
            "```python\nx = 1\n",
            "```x```",
            "``\nx\n``",
            "```python x```\ny\n```z",
            "Here it is:\n```python\nx\n```",
            "```python\nx\n```\nThat is all.",
            "```python\nx\n```\nand\n```python\ny\n```",
            "```python\nx\n~~~",
            "````\nx\n```",
            "s = '''\n```\n'''\n",
            "`a\n`",
        ];
        for code in cases {
            assert_eq!(without_fence(code), code);
        }
    }

    proptest! {
        #[test]
        fn what_is_fenced_is_what_comes_out(lines in prop::collection::vec("[ a-z=()'#]{0,12}", 0..8)) {
            let inside: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let fenced = format!("```python\n{inside}```");
            prop_assert_eq!(without_fence(&fenced), inside.as_str());
        }

        #[test]
        fn any_text_is_taken(code in "[`~a\n ]{0,24}") {
            prop_assert!(code.contains(without_fence(&code)));
        }
    }
}
