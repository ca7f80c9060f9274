//! [`Node`]: JSON text taken apart, without a change to any of its pieces. The text is valid: an engine or serde wrote it.

/// How deep the layout goes; what lies deeper stands on one line.
const DEPTH: usize = 50;

/// A value by its text.
pub(super) enum Node<'a> {
    /// Anything without members; what lies too deep is one as well.
    Leaf(&'a str),
    Array(Vec<Node<'a>>),
    Object(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    pub(super) fn read(json: &'a str) -> Self {
        let mut reader = Reader { rest: json.trim() };
        reader.node(0)
    }

    /// Writes the value on one line. Fails once it is longer than `most`, with what fits.
    pub(super) fn write_line(&self, text: &mut String, most: usize) -> Result<(), ()> {
        match self {
            Self::Leaf(leaf) => text.push_str(leaf),
            Self::Array(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index > 0 { ", " } else { "" });
                    item.write_line(text, most)?;
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    text.push_str(if index > 0 { ", " } else { "" });
                    text.push_str(name);
                    text.push_str(": ");
                    value.write_line(text, most)?;
                }
                text.push('}');
            }
        }
        // A character is four bytes at most, and at least as wide as a quarter of them.
        if text.len() > most * 4 {
            Err(())
        } else {
            Ok(())
        }
    }
}

/// Reads nodes off a valid text.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn node(&mut self, depth: usize) -> Node<'a> {
        match self.rest.as_bytes().first() {
            Some(b'[') if depth < DEPTH => {
                let mut items = Vec::new();
                while self.next_member(b']') {
                    items.push(self.node(depth + 1));
                }
                Node::Array(items)
            }
            Some(b'{') if depth < DEPTH => {
                let mut members = Vec::new();
                while self.next_member(b'}') {
                    let name = self.take(string_length(self.rest));
                    self.skip(b":");
                    members.push((name, self.node(depth + 1)));
                }
                Node::Object(members)
            }
            Some(b'[' | b'{') => Node::Leaf(self.take(container_length(self.rest))),
            Some(b'"') => Node::Leaf(self.take(string_length(self.rest))),
            _ => {
                let is_end = |byte: u8| byte.is_ascii_whitespace() || b",]}".contains(&byte);
                let length = self.rest.bytes().position(is_end);
                Node::Leaf(self.take(length.unwrap_or(self.rest.len())))
            }
        }
    }

    /// Goes to the next member of a container, or behind its end.
    fn next_member(&mut self, end: u8) -> bool {
        self.skip(b"[{,");
        match self.rest.as_bytes().first() {
            Some(byte) if *byte == end => {
                self.take(1);
                false
            }
            first => first.is_some(),
        }
    }

    /// Takes one of these marks, if it comes next, and the space around it.
    fn skip(&mut self, marks: &[u8]) {
        self.rest = self.rest.trim_start();
        if self
            .rest
            .bytes()
            .next()
            .is_some_and(|byte| marks.contains(&byte))
        {
            self.take(1);
        }
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = true;
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

fn container_length(text: &str) -> usize {
    let (mut position, mut depth) = (0, 0_usize);
    while position < text.len() {
        position += match text.as_bytes()[position] {
            b'"' => string_length(&text[position..]),
            byte => {
                match byte {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
                1
            }
        };
        if depth == 0 {
            break;
        }
    }
    position
}
