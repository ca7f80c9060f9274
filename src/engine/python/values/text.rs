//! JSON strings: text in quotes, with what JSON demands escaped and nothing else.

/// How many bytes are looked at together: the width at which compilers use vector compares for the check below.
const BLOCK: usize = 16;

/// Appends `text` as a JSON string. Characters beyond ASCII pass as they are.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(position) = first_to_escape(rest.as_bytes()) {
        let (clean, escaped) = rest.split_at(position);
        out.push_str(clean);
        push_escape(out, escaped.as_bytes()[0]);
        rest = &escaped[1..];
    }
    out.push_str(rest);
    out.push('"');
}

fn first_to_escape(bytes: &[u8]) -> Option<usize> {
    let mut blocks = bytes.chunks_exact(BLOCK);
    let clean = BLOCK
        * blocks
            .by_ref()
            .take_while(|block| {
                !block
                    .iter()
                    .fold(false, |found, &byte| found | must_escape(byte))
            })
            .count();
    bytes[clean..]
        .iter()
        .position(|&byte| must_escape(byte))
        .map(|position| clean + position)
}

fn must_escape(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

fn push_escape(out: &mut String, byte: u8) {
    let short = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0c => "\\f",
        control => {
            const DIGITS: [char; 16] = [
                '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
            ];
            out.push_str("\\u00");
            out.push(DIGITS[usize::from(control >> 4)]);
            out.push(DIGITS[usize::from(control & 0xf)]);
            return;
        }
    };
    out.push_str(short);
}
