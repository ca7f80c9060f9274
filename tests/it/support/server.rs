//! [`Server`]: `warmcell serve` with a client that takes no message for granted.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Exited, Program, warmcell};

/// A running server.
pub(crate) struct Server {
    program: Program,
    next_id: u64,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::of(Program::start(warmcell(["serve"])))
    }

    /// One that was started with options.
    pub(crate) fn of(program: Program) -> Self {
        Self {
            program,
            next_id: 0,
        }
    }

    /// Sends bytes as they are, and a newline.
    pub(crate) fn send_line(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.program.stdin();
        stdin.write_all(line.as_ref()).expect("the server reads");
        stdin.write_all(b"\n").expect("the server reads");
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send_line(
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        id
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// The next message as it was written.
    pub(crate) fn line(&mut self) -> String {
        self.program.line()
    }

    /// The next message.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.line();
        let message: Value = serde_json::from_str(&line).expect("every line is JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// The next message, which has to be the answer to that request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let message = self.message();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// The result of a request that is alone on its way.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// The code and message that a request is refused with.
    #[track_caller]
    pub(crate) fn refusal(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params);
        refusal_in(&self.answer(id))
    }

    /// Opens a Python session.
    #[track_caller]
    pub(crate) fn python(&mut self) -> String {
        let opened = self.call("open", json!({ "language": "python" }));
        opened["session"].as_str().expect("a name").to_owned()
    }

    /// Runs a cell.
    #[track_caller]
    pub(crate) fn cell(&mut self, session: &str, code: &str) -> Value {
        self.call("execute", json!({ "session": session, "code": code }))
    }

    /// Closes the input and waits for the end, which must come soon.
    #[track_caller]
    pub(crate) fn finish(self) -> Exited {
        let since = Instant::now();
        let ended = self.program.finish();
        let took = since.elapsed();
        assert!(
            took < Duration::from_secs(5),
            "the server took {took:?} to end"
        );
        ended
    }

    /// The process behind it.
    pub(crate) fn program(&mut self) -> &mut Program {
        &mut self.program
    }
}

/// The code and message of an answer that is a refusal.
#[track_caller]
pub(crate) fn refusal_in(answer: &Value) -> (i64, String) {
    assert!(answer.get("result").is_none(), "{answer}");
    let error = &answer["error"];
    (
        error["code"].as_i64().expect("a code"),
        error["message"].as_str().expect("a message").to_owned(),
    )
}
