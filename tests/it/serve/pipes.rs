//! Clients that read slowly, stop writing, or are gone.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use super::ENDLESS;
use crate::support::{Server, warmcell};

/// A client that does not read holds up nobody but itself, and costs a bounded amount of memory.
#[test]
fn a_slow_reader_is_told_what_it_missed() {
    const LINES: usize = 400_000;
    // Nothing of this is read until the named pipe says that the cell has ended.
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("ended");
    let code = format!(
        "import os\nos.mkfifo({pipe:?})\nfor n in range({LINES}):\n    print('x' * 99)\nopen({pipe:?}, 'w').write('ended')"
    );
    let mut slow = warmcell(["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut input = slow.stdin.take().expect("a pipe");
    let mut output = BufReader::new(slow.stdout.take().expect("a pipe"));
    let mut message = || -> Value {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    };
    writeln!(
        input,
        r#"{{"jsonrpc":"2.0","id":1,"method":"open","params":{{"language":"python"}}}}"#
    )
    .expect("written");
    let session = message()["result"]["session"]
        .as_str()
        .expect("a name")
        .to_owned();
    let request = json!({ "jsonrpc": "2.0", "id": 2, "method": "execute", "params": { "session": session, "code": code, "stream": true } });
    writeln!(input, "{request}").expect("written");
    // The first message shows that the cell has begun, and the pipe that it has ended: it did not wait for us.
    let first = message();
    let mut said = String::new();
    fs::File::open(&pipe)
        .expect("the cell's pipe")
        .read_to_string(&mut said)
        .expect("read");
    assert_eq!(said, "ended");
    let status = fs::read_to_string(format!("/proc/{}/status", slow.id())).expect("a status");
    let resident: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|text| text.trim().strip_suffix(" kB"))
        .and_then(|text| text.parse().ok())
        .expect("a size");
    assert!(
        resident < 200 << 10,
        "{resident} kB, of output that nobody reads"
    );
    let (mut shown, mut missed) = (0, 0);
    let mut next = first;
    while next["method"] == "output" {
        let params = &next["params"];
        shown += params["text"].as_str().map_or(0, str::len);
        missed += params["gap"]["bytes"].as_u64().unwrap_or(0) as usize;
        next = message();
    }
    assert_eq!(next["id"], 2);
    assert!(missed > 0);
    assert_eq!(shown + missed, LINES * 100);
    assert_eq!(next["result"]["truncated"]["stdout"]["bytes"], LINES * 100);
    drop(input);
    assert_eq!(slow.wait().expect("an end").code(), Some(0));
}

#[test]
fn the_end_of_input_ends_everything() {
    for code in [
        ENDLESS,
        // It ignores being stopped.
        "print('begun', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
        // Nothing can stop it.
        "print('begun', flush=True)\nsum(range(10**13))",
        // It leaves threads behind.
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nprint('begun', flush=True)\nwhile True: pass",
    ] {
        let mut server = Server::start();
        let session = server.python();
        server.send(
            "execute",
            json!({ "session": session, "code": code, "stream": true }),
        );
        assert_eq!(server.message()["params"]["text"], "begun\n");
        let ended = server.finish();
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let last = ended.stdout.lines().last().expect("an answer");
        assert!(last.contains("\"kind\":\"cancelled\""), "{last}");
    }
}

#[test]
fn a_request_without_a_newline_at_the_end_of_input_is_served() {
    let mut server = Server::start();
    server
        .program()
        .stdin()
        .write_all(br#"{"jsonrpc":"2.0","id":5,"method":"initialize"}"#)
        .expect("written");
    let ended = server.finish();
    assert!(
        ended
            .stdout
            .starts_with(r#"{"jsonrpc":"2.0","id":5,"result":{"#),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.status, 0);
}

#[test]
fn a_client_that_is_gone_is_no_error() {
    let mut server = warmcell(["serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a server");
    drop(server.stdout.take());
    let mut input = server.stdin.take().expect("a pipe");
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize"}}"#).expect("written");
    // The input stays open: it is the answer that finds nobody.
    let mut said = String::new();
    server
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut said)
        .expect("read");
    assert_eq!(server.wait().expect("an end").code(), Some(0), "{said}");
    assert_eq!(said, "");
    drop(input);
}
