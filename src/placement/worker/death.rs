//! How a worker process came to its end, and the words for it.

use super::child::DISCONNECTED;
use crate::outcome::FailureKind;

/// Why a worker is no more.
pub(super) struct Death {
    /// As half a sentence: `the worker process was killed by SIGSEGV`.
    pub(super) text: String,
    /// It was killed since its cell would not end.
    pub(super) by_us: bool,
    /// What the cell used too much of.
    pub(super) kind: FailureKind,
}

impl Death {
    pub(super) fn of(kind: FailureKind, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            by_us: false,
            kind,
        }
    }
}

/// What a process's end was, as half a sentence.
pub(super) fn describe(status: i32) -> String {
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == DISCONNECTED {
        return "lost its connection to the host: the program closed descriptors that are not its own".to_owned();
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return format!("was killed by {}", signal_name(signal));
    }
    format!("ended with status {}", libc::WEXITSTATUS(status))
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGALRM => "SIGALRM",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGPROF => "SIGPROF",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
