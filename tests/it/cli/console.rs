//! What a person sees in a terminal, and that nobody else does.

use super::{Files, assert_ended, ran};
use crate::support::{Answers, Program, Talk, warmcell};

/// A terminal in the way of kitty, one in that of iTerm2, one that takes sixels, and one that draws nothing.
const KITTY: Answers = &[
    (
        "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
        "\x1b_Gi=31;OK\x1b\\",
    ),
    ("\x1b[>q", "\x1bP>|kitty(0.32.0)\x1b\\"),
    ("\x1b[16t", "\x1b[6;20;10t"),
    ("\x1b[c", "\x1b[?62;c"),
];
const ITERM: Answers = &[
    ("\x1b[>q", "\x1bP>|iTerm2 3.5.0\x1b\\"),
    ("\x1b[c", "\x1b[?62;4c"),
];
const SIXEL: Answers = &[("\x1b[c", "\x1b[?62;4;22c")];
const NONE: Answers = &[("\x1b[c", "\x1b[?62;22c")];

/// An image of two by one pixels, one red and one blue.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR42mP4zwAE/wEHAAH/PX2MSQAAAABJRU5ErkJggg==";

/// The prompt at a terminal, without colours and with a history of its own.
fn prompt(answers: Answers, language: &str) -> (Talk, tempfile::TempDir) {
    let state = tempfile::tempdir().expect("a folder");
    let mut command = warmcell(["repl", "--language", language]);
    command
        .env("XDG_STATE_HOME", state.path())
        .env("TMPDIR", state.path())
        .env("NO_COLOR", "1");
    (Talk::start_at(command, answers), state)
}

/// What shows an object with these forms.
fn shows(forms: &str) -> String {
    format!(
        "type('Shown', (), {{'_repr_mimebundle_': lambda self, include=None, exclude=None: {forms}}})()"
    )
}

fn leave(mut talk: Talk) {
    talk.until(">>> ");
    talk.press("\x04");
    assert_eq!(talk.finish(), 0);
}

#[test]
fn values_are_laid_out_and_records_are_a_table() {
    let (mut talk, _state) = prompt(NONE, "python");
    talk.enter(">>> ", "{'b': [1, 2.5], 'a': None}");
    talk.until("\n{\"b\": [1, 2.5], \"a\": null}\r\n");
    talk.enter(">>> ", "list(range(1000))");
    talk.until("\n  … 948 items more\r\n  998, 999\r\n]\r\n");
    talk.enter(
        ">>> ",
        "[{'name': n, 'score': i} for i, n in enumerate('ab')]",
    );
    talk.until("│ name │ score │\r\n├──────┼───────┤\r\n│ a    │     0 │\r\n│ b    │     1 │\r\n└──────┴───────┘\r\n");
    talk.enter(">>> ", ":vars");
    talk.until("\nthe session holds no names yet\r\n");
    talk.enter(">>> ", "x, rows = 'text', [1, 2]");
    talk.enter(">>> ", ":vars");
    talk.until("│ name │ type │ preview │\r\n├──────┼──────┼─────────┤\r\n│ x    │ str  │ 'text'  │\r\n│ rows │ list │ [1, 2]  │\r\n└──────┴──────┴─────────┘\r\n");
    leave(talk);
}

#[test]
fn markup_is_readable() {
    let (mut talk, _state) = prompt(NONE, "python");
    let markdown =
        shows("{'text/markdown': '# Title\\n\\n- *one*\\n- two', 'text/plain': 'plain'}");
    talk.enter(">>> ", &markdown);
    talk.until("\nTitle\r\n\r\n• one\r\n• two\r\n");
    let frame = shows(
        "{'text/html': '<style>x</style><table><thead><tr><th></th><th>a</th></tr></thead><tbody><tr><th>0</th><td>1.5</td></tr></tbody></table><p>1 rows × 1 columns</p>', 'text/plain': 'plain'}",
    );
    talk.enter(">>> ", &frame);
    talk.until(
        "│   │   a │\r\n├───┼─────┤\r\n│ 0 │ 1.5 │\r\n└───┴─────┘\r\n1 rows × 1 columns\r\n",
    );
    // A page without a table says less than the text.
    let page = shows("{'text/html': '<b>bold</b>', 'text/plain': 'plain text'}");
    talk.enter(">>> ", &page);
    talk.until("\nplain text\r\n");
    leave(talk);
}

#[test]
fn a_terminal_that_draws_images_gets_them() {
    let image = shows(&format!(
        "{{'image/png': '{PNG}', 'text/plain': 'the plot'}}"
    ));
    let (mut talk, _state) = prompt(KITTY, "python");
    talk.enter(">>> ", &image);
    let command = talk.command("a=T");
    assert!(command.starts_with("\x1b_Ga=T,f=100,q=2,i="), "{command:?}");
    assert!(
        command.ends_with(&format!(",m=0;{PNG}\x1b\\")),
        "{command:?}"
    );
    leave(talk);
    let (mut talk, _state) = prompt(ITERM, "python");
    talk.enter(">>> ", &image);
    assert_eq!(
        talk.command("File="),
        format!("\x1b]1337;File=inline=1;size=70;width=auto;preserveAspectRatio=1:{PNG}\x07")
    );
    leave(talk);
    let (mut talk, _state) = prompt(SIXEL, "python");
    talk.enter(">>> ", &image);
    assert_eq!(
        talk.command("\x1bP"),
        "\x1bPq\"1;1;2;1#0;2;100;0;0#1;2;0;0;100#0@?$#1?@$-\x1b\\"
    );
    leave(talk);
}

#[test]
fn an_image_that_cannot_be_drawn_is_told_with_its_file() {
    let image = shows(&format!(
        "{{'image/png': '{PNG}', 'text/plain': 'the plot'}}"
    ));
    let (mut talk, state) = prompt(NONE, "python");
    talk.enter(">>> ", &image);
    talk.until("the plot\r\n[image/png, 2 x 1, 70 bytes: ");
    talk.until("/1.png]\r\n");
    let seen = talk.seen();
    let path = &seen[seen.rfind(": ").expect("a path") + 2..seen.len() - 3];
    let bytes = std::fs::read(path).expect("the file");
    assert!(
        path.starts_with(&state.path().display().to_string()),
        "{path}"
    );
    assert!(bytes.starts_with(b"\x89PNG"));
    let path = path.to_owned();
    leave(talk);
    // The files are the prompt's.
    assert!(!std::path::Path::new(&path).exists(), "{path}");
}

/// In a pipe nothing is asked and nothing is drawn.
#[test]
fn data_in_a_pipe_is_exact() {
    let image = shows(&format!(
        "{{'image/png': '{PNG}', 'text/plain': 'the plot'}}"
    ));
    let markdown = shows("{'text/markdown': '# Title', 'text/plain': 'a title'}");
    let ended = ran([
        "exec",
        "[{'a': 1.50, 'b': 2}, {'a': 3, 'b': 4}]",
        &image,
        &markdown,
        "return list(range(100))",
    ]);
    let numbers: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_ended(
        &ended,
        0,
        &format!(
            "[{{\"a\":1.5,\"b\":2}},{{\"a\":3,\"b\":4}}]\nthe plot\na title\n[{}]\n",
            numbers.join(",")
        ),
        "",
    );
    let files = Files::new();
    let script = files.file("script.py", format!("print('printed')\n{image}"));
    assert_ended(
        &ran([std::ffi::OsStr::new("run"), script.as_ref()]),
        0,
        "printed\n",
        "",
    );
}

#[test]
fn run_shows_results_in_a_terminal() {
    let files = Files::new();
    let script = files.file("script.py", "print('printed')\n[{'a': 1}, {'a': 2}]");
    let mut command = warmcell([std::ffi::OsStr::new("run"), script.as_ref()]);
    command.env("NO_COLOR", "1");
    let mut talk = Talk::start_at(command, NONE);
    // What `exec` and `run` show of a value is all of it.
    talk.until("printed\r\n[{\"a\": 1}, {\"a\": 2}]\r\n");
    assert_eq!(talk.finish(), 0);
}

#[test]
fn colours_are_there_and_change_no_text() {
    let mut command = warmcell(["exec", "{'a': [1, 'b', None]}", "1/0"]);
    command.env("TERM", "xterm-256color");
    let mut talk = Talk::start_at(command, NONE);
    talk.until("{\"a\": [1, \"b\", null]}\r\n");
    talk.until("ZeroDivisionError: division by zero\r\n");
    for colour in [
        "\x1b[34m",
        "\x1b[33m",
        "\x1b[32m",
        "\x1b[35m",
        "\x1b[36m",
        "\x1b[1;31m",
    ] {
        assert_eq!(talk.command(colour), colour);
    }
    assert_eq!(talk.finish(), 1);
}

#[test]
fn a_silent_cell_has_a_spinner_that_is_gone_before_anything_else() {
    let (mut talk, state) = prompt(NONE, "python");
    let fifo = state.path().join("go");
    let path = std::ffi::CString::new(fifo.display().to_string()).expect("a path");
    // SAFETY: the path ends in a null byte and lives during the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    talk.enter(
        ">>> ",
        &format!("open('{}').read() and print('do' + 'ne')", fifo.display()),
    );
    talk.until("1 s");
    talk.until("2 s");
    std::fs::write(&fifo, "go").expect("the cell reads");
    // The line is wiped, and what comes next begins it.
    talk.until("\rdone\r\n");
    leave(talk);
    // No spinner where a person's program has the terminal for itself, and none in a pipe.
    let ended = Program::run(warmcell(["exec", "import time; time.sleep(1.3)"]), "");
    assert_ended(&ended, 0, "", "");
}

/// What a program displays or raises cannot steer the terminal; what it prints may.
#[test]
fn what_is_drawn_cannot_steer_the_terminal() {
    let blink = "\\x1b[777m";
    let (mut talk, _state) = prompt(NONE, "python");
    talk.enter(
        ">>> ",
        &shows(&format!("{{'text/plain': 'a{blink}b\\x07'}}")),
    );
    talk.until("\nab␇\r\n");
    talk.enter(">>> ", &shows(&format!("{{'x/y{blink}z\\n': 'four'}}")));
    talk.until("z\\n' is no MIME type\r\n");
    talk.enter(
        ">>> ",
        &format!("raise type('Er{blink}ror', (Exception,), {{}})('a{blink}b')"),
    );
    talk.until("\nError: ab\r\n");
    talk.enter(">>> ", "'\\x9b2J'");
    talk.until("\n\"\\u009b2J\"\r\n");
    talk.enter(">>> ", "print('\\x1b[7779m' + 'printed')");
    talk.until("\nprinted\r\n");
    assert_eq!(talk.command("777"), "\x1b[7779m");
    leave(talk);
    let command = warmcell(["exec", "import sys; sys.exit('a\\x1b[2Jb')"]);
    let mut talk = Talk::start_at(command, NONE);
    talk.until("ab\r\n");
    assert_eq!(talk.finish(), 1);
}

#[cfg(all(feature = "javascript", feature = "quickjs"))]
#[test]
fn what_javascript_throws_cannot_steer_the_terminal() {
    let (mut talk, _state) = prompt(NONE, "javascript");
    talk.enter(">>> ", "throw new Error('a\\x1b[777mb')");
    talk.until("Error: ab\r\n");
    talk.enter(">>> ", "console.log('\\x1b[7779m' + 'printed')");
    talk.until("\nprinted\r\n");
    assert_eq!(talk.command("777"), "\x1b[7779m");
    leave(talk);
}
