//! [`Client`]: `warmcell mcp` behind a client that is not ours, the protocol's own Python SDK.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Exited, Program, STATE_HOME, mcp_venv};

/// The two ways in which clients begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    /// With `initialize`, as all did up to 2025.
    Handshake,
    /// Without, as the revision of 2026-07-28.
    Newest,
}

impl Protocol {
    pub(crate) const BOTH: [Self; 2] = [Self::Handshake, Self::Newest];
}

/// A folder for cells to work in.
#[derive(Clone)]
pub(crate) struct Workspace(Rc<TempDir>);

impl Workspace {
    pub(crate) fn new() -> Self {
        Self(Rc::new(tempfile::tempdir().expect("a folder")))
    }

    /// With this `warmcell.toml`.
    pub(crate) fn with_file(text: &str) -> Self {
        let workspace = Self::new();
        std::fs::write(workspace.path().join("warmcell.toml"), text).expect("a file");
        workspace
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("a folder")
    }

    /// A client whose server works here.
    pub(crate) fn client(&self, protocol: Protocol, options: &[&str]) -> Client {
        self.client_at_home(protocol, options, Path::new(STATE_HOME))
    }

    /// The same, whose user has that state directory.
    pub(crate) fn client_at_home(
        &self,
        protocol: Protocol,
        options: &[&str],
        state_home: &Path,
    ) -> Client {
        Client::start(protocol, self.clone(), options, state_home)
    }
}

/// A client with its server.
pub(crate) struct Client {
    program: Program,
    calls: usize,
    #[expect(dead_code, reason = "the folder stays as long as the client")]
    workspace: Workspace,
}

impl Client {
    fn start(
        protocol: Protocol,
        workspace: Workspace,
        options: &[&str],
        state_home: &Path,
    ) -> Self {
        let mode = match protocol {
            Protocol::Handshake => "legacy",
            Protocol::Newest => "auto",
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/client.py");
        let mut command = Command::new(mcp_venv().join("bin/python"));
        command
            .arg(script)
            .args([mode, env!("CARGO_BIN_EXE_warmcell"), "mcp", "--workspace"])
            .arg(workspace.path())
            .args(options)
            .env("XDG_STATE_HOME", state_home)
            .env_remove("VIRTUAL_ENV");
        let mut client = Self {
            program: Program::start(command),
            calls: 0,
            workspace,
        };
        let hello = client.message();
        assert_eq!(hello["server"]["name"], "warmcell", "{hello}");
        assert_eq!(hello["server"]["version"], env!("CARGO_PKG_VERSION"));
        client
    }

    fn order(&mut self, order: Value) {
        let stdin = self.program.stdin();
        writeln!(stdin, "{order}").expect("the client reads");
    }

    /// What the client tells next.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.program.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.order(json!({ "do": "list" }));
        let tools = self.message()["tools"].take();
        serde_json::from_value(tools).expect("a list of tools")
    }

    /// Starts a call, and returns the name under which its result comes.
    pub(crate) fn begin(&mut self, tool: &str, arguments: Value) -> String {
        self.begin_with(tool, arguments, json!({}))
    }

    /// Starts a call with `progress` or a `timeout` of the client's.
    pub(crate) fn begin_with(&mut self, tool: &str, arguments: Value, more: Value) -> String {
        self.calls += 1;
        let name = format!("call {}", self.calls);
        let mut order = json!({ "do": "call", "as": name, "tool": tool, "arguments": arguments });
        let fields = order.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        self.order(order);
        name
    }

    pub(crate) fn cancel(&mut self, call: &str) {
        self.order(json!({ "do": "cancel", "as": call }));
    }

    /// The next message, which has to be about that call.
    #[track_caller]
    pub(crate) fn about(&mut self, call: &str) -> Value {
        let message = self.message();
        assert_eq!(message["as"], call, "{message}");
        message
    }

    /// The result of a call that is alone on its way.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let call = self.begin(tool, arguments);
        let mut message = self.about(&call);
        assert!(message["result"].is_object(), "{message}");
        message["result"].take()
    }

    /// The text of a cell's result, and whether it is an error.
    #[track_caller]
    pub(crate) fn run(&mut self, arguments: Value) -> (bool, String) {
        read(&self.call("run_code", arguments))
    }

    /// The text of a cell that has to be ok, without its first line.
    #[track_caller]
    pub(crate) fn ok(&mut self, code: &str) -> String {
        let (is_error, text) = self.run(json!({ "code": code }));
        assert!(!is_error, "{text}");
        let (first, rest) = text.split_once('\n').expect("a first line");
        assert!(first.contains(": ok in "), "{text}");
        rest.to_owned()
    }

    /// Closes the client, and with it the server's input.
    pub(crate) fn finish(self) -> Exited {
        let ended = self.program.finish();
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        ended
    }
}

/// All text of a result, and whether it is an error.
pub(crate) fn read(result: &Value) -> (bool, String) {
    let content = result["content"].as_array().expect("content");
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    (result["isError"] == true, texts.join("\n"))
}
