//! Programs that write what the runtime would: forged frames, floods of them, and the ends of its sockets closed. What they say
//! about themselves may be wrong; what becomes of a session is never theirs to say, and nobody else is touched.

use std::time::Instant;

use warmcell::{FailureKind, SessionState};

use super::{SECOND, builder, kind, open, value, wait_for_the_backup};
use crate::support::{Cells, each};

/// Writes frames on every socket of the process.
const FORGE: &str = r#"
import json, os, stat, struct
def frame(header, blob=b''):
    header = json.dumps(header).encode()
    return struct.pack('<II', 4 + len(header) + len(blob), len(header)) + header + blob
def sockets():
    for name in os.listdir('/proc/self/fd'):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode): yield int(name)
        except OSError: pass
def forge(*frames):
    for socket in sockets():
        for frame in frames: os.write(socket, frame)
def ended(epoch): return frame({'ended': {'epoch': epoch, 'has_value': True, 'failure': None, 'interrupted': False, 'notice': None, 'unprotected': None}}, b'"forged"')
x = 1
"#;

#[test]
fn forged_frames_settle_the_cell_and_lose_nothing() {
    let neighbour = open(builder());
    assert!(neighbour.cell("y = 1").ok);
    each(
        [
            // The end of the cell, before it ends, and of cells that were never asked for.
            "x = 2; forge(*(ended(epoch) for epoch in range(20)))",
            // What no cell says.
            "x = 2; forge(frame('done'), frame({'refused': {'text': 'no'}}))",
            "x = 2; forge(frame({'hello': {'protocol': 1, 'build': '0', 'languages': [], 'version': '', 'process': 1}}))",
            "x = 2; forge(frame('backup'))",
            // Frames that are none.
            "x = 2; forge(b'\\xff' * 4096)",
            "x = 2; forge(frame({'kept': 1}))",
            "x = 2; forge(struct.pack('<II', 1 << 31, 4))",
            "x = 2; forge(frame('display', b'no display'))",
        ],
        |code| {
            let session = open(builder());
            assert!(session.cell(FORGE).ok);
            wait_for_the_backup(&session);
            // Settled, whatever it says.
            let outcome = session.cell(code);
            let after = session.cell("return [x, 'forge' in globals()]");
            let probe = match after.ok {
                true => after.clone(),
                false => session.cell("return [x, 'forge' in globals()]"),
            };
            assert!(
                ["[1,true]", "[2,true]"].contains(&value(&probe)),
                "{code}: {outcome:?}, {after:?}, {probe:?}"
            );
            let lost = [&outcome, &after, &probe]
                .iter()
                .any(|outcome| outcome.state == SessionState::Lost);
            assert!(!lost, "{code}: {outcome:?}, {after:?}, {probe:?}");
            assert_eq!(value(&neighbour.cell("return y")), "1");
        },
    );
}

#[test]
fn a_flood_of_frames_ends_with_the_cell() {
    let session = open(builder());
    assert!(session.cell(FORGE).ok);
    wait_for_the_backup(&session);
    let shown = "json.dumps({'data': {'text/plain': 'x' * 1_000_000}}).encode()";
    each(
        [
            // Sockets that nobody reads are full soon, and the flood waits there; the others are drained for as long as it takes.
            "late = frame({'late': {'stream': 'stdout'}}, b'x' * 60_000)\nwhile True: forge(late)"
                .to_owned(),
            format!("shown = frame('display', {shown})\nwhile True: forge(shown)"),
            format!(
                "for socket in sockets(): os.set_blocking(socket, False)\nshown = frame('display', {shown})\nwhile True:\n    try: forge(shown)\n    except BlockingIOError: pass"
            ),
        ],
        |flood| {
            let started = Instant::now();
            let stopped = session.cell_within(SECOND, &format!("x = 2\n{flood}"));
            assert!(
                matches!(
                    kind(&stopped),
                    FailureKind::Timeout | FailureKind::WorkerExit
                ),
                "{:?}",
                stopped.error
            );
            assert!(started.elapsed() < 10 * SECOND);
            assert_ne!(stopped.state, SessionState::Lost, "{:?}", stopped.notice);
        },
    );
    let after = session.cell("return 'forge' in globals()");
    assert_eq!(value(&after), "true");
}

#[test]
fn sockets_that_a_cell_made_not_wait_are_waited_for_all_the_same() {
    let session = open(builder());
    assert!(session.cell(FORGE).ok);
    let code = "x = 1\nfor socket in sockets(): os.set_blocking(socket, False)";
    assert!(session.cell(code).ok);
    wait_for_the_backup(&session);
    let after = session.cell("return [x, len('y' * 3_000_000)]");
    assert_eq!(value(&after), "[1,3000000]");
    assert_eq!(after.state, SessionState::Kept);
    let stopped = session.cell_within(std::time::Duration::from_millis(100), "while True: pass");
    assert_eq!(stopped.state, SessionState::Kept);
}
