//! A child that the program has forked, when it comes to the end of the cell: it is no session, and goes no further.

use super::streams;
use crate::engine::Completion;
use crate::outcome::FailureKind;
use crate::output::Stream;

/// Ends the process, as a script would end: what failed is printed, and an exit has its status.
pub(super) fn end(completion: &Completion) -> ! {
    let status = match &completion.failure {
        None => 0,
        Some(failure) if failure.kind == FailureKind::Exit => {
            match failure.message.parse::<i32>() {
                Ok(status) => status,
                Err(_) => {
                    streams::print_in_child(
                        Stream::Stderr,
                        format!("{}\n", failure.message).as_bytes(),
                    );
                    1
                }
            }
        }
        Some(failure) => {
            let text = failure.traceback.as_deref().unwrap_or(&failure.message);
            streams::print_in_child(Stream::Stderr, text.as_bytes());
            1
        }
    };
    // SAFETY: ends the process without touching what it shares with its parent.
    unsafe { libc::_exit(status) }
}
