//! [`Alone`]: a test in a process of its own.
//!
//! The test binary runs itself again with `--exact` and the test's name; the child sees by an environment variable that it
//! is meant, and runs the body in place of starting yet another child. The parent gathers the child's output, holds it to
//! a bound, fails with its output, and sees to it that no process of its group is left.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Names the test whose body the process is to run.
const MEANT: &str = "WARMCELL_TEST_ALONE";

/// What the parent hands to the child.
const ARGUMENT: &str = "WARMCELL_TEST_ARGUMENT";

/// The name of the test function in which it stands, as `--exact` wants it.
macro_rules! test_name {
    () => {{
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let name = name.strip_suffix("::here").unwrap_or(name);
        name.split_once("::").map_or(name, |(_, name)| name)
    }};
}
pub(crate) use test_name;

/// Runs the body of the test in which it stands in a process of its own. Gives the [`Ended`] process in the parent, and
/// `None` in the child, after the body.
macro_rules! in_own_process {
    ($body:expr) => {
        $crate::support::Alone::new($crate::support::test_name!()).run($body)
    };
}
pub(crate) use in_own_process;

/// A test that is to run in a process of its own.
pub(crate) struct Alone {
    test: &'static str,
    bound: Duration,
    variables: Vec<(OsString, Option<OsString>)>,
    cwd: Option<PathBuf>,
}

impl Alone {
    /// The test of this name; see [`test_name`].
    pub(crate) fn new(test: &'static str) -> Self {
        Self {
            test,
            bound: Duration::from_secs(120),
            variables: Vec::new(),
            cwd: None,
        }
    }

    /// The longest that the process may take. Default: a minute.
    pub(crate) fn within(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// Sets an environment variable of the process.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), Some(value.into())));
        self
    }

    /// Takes an environment variable away from the process.
    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.variables.push((name.into(), None));
        self
    }

    /// Where the process starts.
    pub(crate) fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// Something for the body to read with [`Alone::argument`].
    pub(crate) fn with_argument(self, argument: impl Into<OsString>) -> Self {
        self.env(ARGUMENT, argument)
    }

    /// What the parent gave this process.
    pub(crate) fn argument() -> Option<String> {
        std::env::var(ARGUMENT).ok()
    }

    /// Whether this process was made to run the body of the test.
    pub(crate) fn is_meant(test: &str) -> bool {
        std::env::var(MEANT).is_ok_and(|meant| meant == test)
    }

    /// Runs `body` in a process of its own and expects it to pass.
    #[track_caller]
    pub(crate) fn run(self, body: impl FnOnce()) -> Option<Ended> {
        if Self::is_meant(self.test) {
            die_with_parent();
            body();
            return None;
        }
        let ended = self.spawn();
        let passed = ended.status.success() && ended.has_line_with("test result: ok. 1 passed");
        assert!(
            passed,
            "`{}` failed in its own process ({}):\n{}",
            self.test,
            ended.status,
            ended.text()
        );
        assert!(
            ended.left_behind.is_empty(),
            "`{}` left processes behind: {:?}",
            self.test,
            ended.left_behind
        );
        Some(ended)
    }

    fn spawn(&self) -> Ended {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = Command::new(std::env::current_exe().expect("this executable"));
        command
            .args(["--exact", self.test, "--nocapture", "--test-threads=1"])
            .env(MEANT, self.test)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().expect("a pipe's end"))
            .stderr(writer)
            .process_group(0);
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let child = command.spawn().expect("the process starts");
        // The command holds the writing end; the pipe must end with the child.
        drop(command);
        follow(child, reader, self.bound)
    }
}

/// A process that has ended.
pub(crate) struct Ended {
    status: ExitStatus,
    lines: Vec<(Instant, String)>,
    at: Instant,
    left_behind: Vec<String>,
}

impl Ended {
    /// How long the process lived on after it had printed this.
    #[track_caller]
    pub(crate) fn after(&self, line: &str) -> Duration {
        let (printed, _) = self
            .lines
            .iter()
            .find(|(_, text)| text.ends_with(line))
            .unwrap_or_else(|| panic!("no line {line:?} in:\n{}", self.text()));
        self.at - *printed
    }

    /// What follows this at the start of a line.
    #[cfg(feature = "cli")]
    #[track_caller]
    pub(crate) fn said(&self, start: &str) -> &str {
        let said = self
            .lines
            .iter()
            .find_map(|(_, line)| line.strip_prefix(start));
        said.unwrap_or_else(|| panic!("no line begins with {start:?} in:\n{}", self.text()))
    }

    fn has_line_with(&self, part: &str) -> bool {
        self.lines.iter().any(|(_, line)| line.contains(part))
    }

    fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.as_str()).collect();
        lines.join("\n")
    }
}

/// What a child's end and its output tell the parent.
enum News {
    Line(Instant, String),
    Exit(Instant, ExitStatus),
}

/// Follows the child to its end; one that takes too long is killed with all its group.
fn follow(child: Child, output: PipeReader, bound: Duration) -> Ended {
    let group = child.id();
    let deadline = Instant::now() + bound;
    let news = gather(child, output);
    let (mut lines, mut killed) = (Vec::new(), false);
    let (at, status) = loop {
        match news.recv_timeout(left(deadline, killed)) {
            Ok(News::Line(at, line)) => lines.push((at, line)),
            Ok(News::Exit(at, status)) => break (at, status),
            Err(RecvTimeoutError::Timeout) => {
                assert!(!killed, "the child was killed, and yet it does not end");
                lines.push((Instant::now(), format!("[killed: over {bound:?}]")));
                kill_group(group);
                killed = true;
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("its end comes first"),
        }
    };
    let left_behind = stragglers(group);
    kill_group(group);
    lines.extend(news.iter().filter_map(|news| match news {
        News::Line(at, line) => Some((at, line)),
        _ => None,
    }));
    Ended {
        status,
        lines,
        at,
        left_behind,
    }
}

/// A killed process has a few seconds to be gone.
fn left(deadline: Instant, killed: bool) -> Duration {
    if killed {
        return Duration::from_secs(10);
    }
    deadline.saturating_duration_since(Instant::now())
}

/// Two threads wait for the child's lines and for its end; both end with it and what it left behind.
fn gather(mut child: Child, output: PipeReader) -> Receiver<News> {
    let (sender, news) = mpsc::channel();
    let lines = sender.clone();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let text = String::from_utf8_lossy(&line).into_owned();
            let _ = lines.send(News::Line(Instant::now(), text));
        }
    });
    thread::spawn(move || {
        let status = child.wait().expect("the child's status");
        let _ = sender.send(News::Exit(Instant::now(), status));
    });
    news
}

/// What is left of a group a little after its first process has ended: helpers that see its end by a closed pipe may be
/// on their way out until then.
fn stragglers(group: u32) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let members = members(group);
        if members.is_empty() || Instant::now() > deadline {
            return members;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The living processes of a group, each with its command line.
fn members(group: u32) -> Vec<String> {
    let folders = std::fs::read_dir("/proc").expect("/proc");
    folders
        .filter_map(|folder| {
            let folder = folder.ok()?.path();
            let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
            // `pid (name) state parent group ...`; the name may hold anything.
            let (name, rest) = stat.rsplit_once(") ")?;
            let mut fields = rest.split(' ');
            let (state, _, of) = (fields.next()?, fields.next()?, fields.next()?);
            let lives = !matches!(state, "Z" | "X");
            (lives && of == group.to_string()).then(|| name.replace(" (", " "))
        })
        .collect()
}

fn kill_group(group: u32) {
    // SAFETY: no memory is involved. The group is that of a child we started; it is empty or still that child's, since its
    // members keep the number taken.
    unsafe { libc::kill(-(group as i32), libc::SIGKILL) };
}

/// A test run that is stopped leaves no child behind.
fn die_with_parent() {
    // SAFETY: takes an integer and changes nothing but the signal this process gets when its parent dies.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
