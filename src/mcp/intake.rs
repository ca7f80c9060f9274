//! What comes in before rmcp reads it: a line that cannot be read becomes a request that says so, under its own id.
//!
//! rmcp passes over what is no JSON, too deep or too long without a word, and whoever sent it waits for ever. So a thread reads the
//! input, looks at each line, and hands it on through a pipe; [`UNREADABLE`] is the method under which the server answers.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::thread;

use serde_json::{Value, json};

/// The method of a request that stands for a line which cannot be read; `reason` is its parameter.
pub(super) const UNREADABLE: &str = "warmcell/unreadable";

/// The longest line that is taken, in bytes.
pub(super) const LINE_BYTES: usize = 64 << 20;

/// How much of a line that is too long is looked at for its id.
const BEGINNING: usize = 4096;

/// Reads `input` on a thread of its own. What comes out ends when the input does.
pub(super) fn start(input: impl Read + Send + 'static) -> io::Result<File> {
    let (out, pipe) = io::pipe()?;
    thread::Builder::new()
        .name("warmcell-reader".to_owned())
        .spawn(move || {
            // Either the input fails, which is its end, or nobody reads what comes out any more.
            let _ = hand_on(BufReader::with_capacity(1 << 16, input), pipe);
        })?;
    Ok(File::from(OwnedFd::from(out)))
}

fn hand_on(mut input: impl BufRead, mut pipe: PipeWriter) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = LINE_BYTES as u64;
        if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let is_whole = line.ends_with(b"\n");
        if !is_whole && line.len() == LINE_BYTES {
            input.skip_until(b'\n')?;
            let reason = format!("the line has more than {LINE_BYTES} bytes, and was skipped");
            line.truncate(BEGINNING);
            if let Some(instead) = unreadable(&line, &reason) {
                pipe.write_all(&instead)?;
            }
            continue;
        }
        if let Some(checked) = checked(&line) {
            pipe.write_all(&checked)?;
        }
    }
}

/// The line, or what goes on in its place; nothing where nobody could be answered.
fn checked(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    match serde_json::from_slice::<Value>(line) {
        Ok(_) => Some(Cow::Borrowed(line)),
        Err(_) if line.trim_ascii().is_empty() => None,
        Err(error) => unreadable(line, &format!("the line is not JSON: {error}")).map(Cow::Owned),
    }
}

fn unreadable(line: &[u8], reason: &str) -> Option<Vec<u8>> {
    let Some(id) = id_of(line) else {
        // Standard error may be gone; there is nobody to tell then.
        let _ = writeln!(io::stderr(), "warmcell mcp: ignored a message: {reason}");
        return None;
    };
    let request =
        json!({ "jsonrpc": "2.0", "id": id, "method": UNREADABLE, "params": { "reason": reason } });
    Some(format!("{request}\n").into_bytes())
}

/// The `id` of a message that may be broken elsewhere: the first member of that name that is not inside of another member.
fn id_of(line: &[u8]) -> Option<Value> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => {
                let end = at + string_length(&line[at..])?;
                let after = line[end..].trim_ascii_start();
                if depth == 1 && &line[at..end] == b"\"id\"" && after.starts_with(b":") {
                    return read_id(after[1..].trim_ascii_start());
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    None
}

fn read_id(text: &[u8]) -> Option<Value> {
    let length = match text.first()? {
        b'"' => string_length(text)?,
        _ => text
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'-')
            .count(),
    };
    let id: Value = serde_json::from_slice(&text[..length]).ok()?;
    (id.is_string() || id.is_i64()).then_some(id)
}

/// How long the string is that begins here, with its quotes.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_broken_message_is_found() {
        for (line, id) in [
            (r#"{"id":7,"params":{"code":"\ud83d"}}"#, Some(json!(7))),
            (
                r#"{"params":{"id":1,"a":"}{\""}, "id" : "x", NaN}"#,
                Some(json!("x")),
            ),
            (r#"{"params":{"id":1}}"#, None),
            (r#"{"id":1.5"#, Some(json!(1))),
            (r#"{"id":"#, None),
            (r#"[{"id":1}]"#, None),
            ("}}}", None),
            (r#""id":1"#, None),
        ] {
            assert_eq!(id_of(line.as_bytes()), id, "{line}");
        }
    }

    #[test]
    fn what_can_be_read_goes_on_untouched() {
        let line = br#"{"id":1,"method":"ping"}"#;
        assert_eq!(checked(line).as_deref(), Some(&line[..]));
        assert_eq!(checked(b"\n"), None);
        let deep = format!(
            r#"{{"id":1,"params":{}{}}}"#,
            "[".repeat(300),
            "]".repeat(300)
        );
        let instead = checked(deep.as_bytes()).unwrap();
        assert!(String::from_utf8_lossy(&instead).contains(UNREADABLE));
    }
}
