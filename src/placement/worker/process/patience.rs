//! How long is waited for a worker that is starting: so much of its own time, whatever else the machine does.
//!
//! A clock alone takes a healthy start on a loaded machine for one that hangs: beside fifty busy processes on two processors
//! an interpreter that needs half a second got it in more than twenty. So the time that the worker's threads stood in line
//! for a processor is not counted, as far as the kernel tells it (`/proc/…/schedstat`).

use std::fs;
use std::time::{Duration, Instant};

use super::super::sockets::within;

/// How often its time may be given again: after that it has failed, whatever it waited for.
const MOST: u32 = 6;

/// A time limit for a worker.
pub(super) struct Patience {
    process: i32,
    /// How long it may take of its own time.
    pub(super) allowed: Duration,
    /// When it is looked at next.
    pub(super) until: Instant,
    /// When it has failed whatever it waited for.
    end: Instant,
    /// How long it had stood in line when this was last asked.
    stood: Duration,
}

impl Patience {
    /// From now on, for the worker of this number.
    pub(super) fn new(process: i32, allowed: Duration) -> Self {
        Self {
            process,
            allowed,
            until: within(allowed),
            end: within(allowed * MOST),
            stood: stood_in_line(process),
        }
    }

    /// Whether the time is over. Where the worker stood in line for a good part of it, it has that much more.
    pub(super) fn is_over(&mut self) -> bool {
        if Instant::now() < self.until {
            return false;
        }
        let stood = stood_in_line(self.process);
        let again = stood.saturating_sub(self.stood).min(self.allowed);
        self.stood = stood;
        self.until = within(again).min(self.end);
        again < self.allowed / 20 || Instant::now() >= self.end
    }
}

/// How long the thread of a process that waited most for a processor has waited for one since it began; nothing where the
/// kernel does not tell.
fn stood_in_line(process: i32) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Duration::ZERO;
    };
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    };
    let most = threads.flatten().filter_map(of_thread).max();
    Duration::from_nanos(most.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn one_that_sleeps_has_its_time_and_no_more() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut patience = Patience::new(child.id().cast_signed(), Duration::from_millis(50));
        assert!(!patience.is_over());
        std::thread::sleep(patience.until.saturating_duration_since(Instant::now()));
        assert!(patience.is_over());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn one_that_stands_in_line_has_its_time_again_up_to_an_end() {
        // SAFETY: asks for a number.
        let processor = unsafe { libc::sched_getcpu() }.cast_unsigned() as usize;
        let busy = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            // SAFETY: the closure makes a system call with a set of its own, and nothing else.
            unsafe {
                command.pre_exec(move || {
                    let mut one: libc::cpu_set_t = std::mem::zeroed();
                    libc::CPU_SET(processor, &mut one);
                    match libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one) {
                        0 => Ok(()),
                        _ => Err(std::io::Error::last_os_error()),
                    }
                });
            }
            command.stdin(Stdio::null()).spawn().unwrap()
        };
        let mut children: Vec<_> = (0..6).map(|_| busy()).collect();
        let mut patience =
            Patience::new(children[0].id().cast_signed(), Duration::from_millis(500));
        let began = Instant::now();
        while !patience.is_over() {
            std::thread::sleep(patience.until.saturating_duration_since(Instant::now()));
        }
        let took = began.elapsed();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(took > Duration::from_millis(750), "{took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}
