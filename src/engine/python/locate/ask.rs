//! Asks an interpreter which Python it is, by running it: a shim, a symlink or a wrapper script cannot be read off the disk.
//!
//! The child has a deadline and a process group of its own. The calling thread owns the child and waits on a channel, never
//! on the child's output; one helper thread owns the reading end and ends when the group is dead.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long an interpreter may take; a cold start from a network disk takes a second or two.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// What comes before the answer in the output of `ask.py`.
const MARK: &[u8] = b"warmcell-python\0";

/// More than this an interpreter has no reason to print.
const MOST_OUTPUT: u64 = 64 * 1024;

/// What an interpreter says about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// `sys.implementation.name`, such as `cpython`.
    pub(super) implementation: String,
    /// Major and minor version; a free-threaded build has a `t` behind them, as in `3.13t`.
    pub(super) version: String,
    /// `sys.base_prefix`: the installation it belongs to.
    pub(super) prefix: PathBuf,
    /// `sys.executable`: behind a pyenv shim, the real one.
    pub(super) executable: PathBuf,
}

/// Runs `executable` in `cwd`, which decides what a pyenv shim leads to; an error is the reason in words.
///
/// `-I -S` keep the caller's `PYTHON*` variables and every `.pth` file and `sitecustomize` out.
pub(super) fn ask(executable: &Path, cwd: &Path, deadline: Duration) -> Result<Answer, String> {
    let (mut child, output) =
        start(executable, cwd).map_err(|error| format!("it cannot be run: {error}"))?;
    let (send, receive) = mpsc::channel();
    let reading = thread::Builder::new()
        .name("warmcell-ask".into())
        .spawn(move || {
            let mut text = Vec::new();
            // What was read before an error is judged like any other text; the receiver may be gone, after the deadline.
            let _ = output.take(MOST_OUTPUT).read_to_end(&mut text);
            let _ = send.send(text);
        });
    let text = match &reading {
        Ok(_) => receive.recv_timeout(deadline).ok(),
        Err(_) => None,
    };
    end(&mut child);
    reading.map_err(|error| format!("no thread to read its answer: {error}"))?;
    let text =
        text.ok_or_else(|| format!("it gave no answer within {} s", deadline.as_secs_f32()))?;
    understand(&text, executable)
}

/// Starts the interpreter with both its outputs on one pipe.
fn start(executable: &Path, cwd: &Path) -> io::Result<(Child, io::PipeReader)> {
    let (output, input) = io::pipe()?;
    let child = Command::new(executable)
        .args(["-I", "-S", "-c", include_str!("ask.py")])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input)
        .process_group(0)
        .spawn()?;
    Ok((child, output))
}

/// Kills what is left of the child's group and reaps the child.
fn end(child: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: a system call without memory; the group is the child's own, and its id is not given to another before the
        // child is reaped, which happens below (a host that ignores SIGCHLD leaves an empty group, and no id comes back at
        // once).
        unsafe { libc::killpg(group, libc::SIGKILL) };
    }
    // It fails only when the child was reaped by a host that ignores SIGCHLD: then there is nothing left to do.
    let _ = child.wait();
}

fn understand(text: &[u8], executable: &Path) -> Result<Answer, String> {
    let mut lines = text.split(|&byte| byte == b'\n');
    let Some(answer) = lines.find_map(|line| line.strip_prefix(MARK)) else {
        return Err(match last_words(text) {
            Some(words) => format!("it answers `{words}`"),
            None => "it answers nothing".into(),
        });
    };
    let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
    let &[implementation, version, prefix, own_path] = fields.as_slice() else {
        return Err("it answers in parts".into());
    };
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    // An interpreter that cannot tell where it is says so with an empty text.
    let own_path = Some(path(own_path)).filter(|path| path.is_absolute());
    Ok(Answer {
        implementation: String::from_utf8_lossy(implementation).into_owned(),
        version: String::from_utf8_lossy(version).into_owned(),
        prefix: path(prefix),
        executable: own_path.unwrap_or_else(|| executable.to_owned()),
    })
}

/// The last line that holds anything: where programs put what went wrong.
fn last_words(text: &[u8]) -> Option<String> {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(text);
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(line.chars().take(LONGEST).collect())
}
