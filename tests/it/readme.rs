//! The README's commands do what it says they do.
//!
//! A block of `sh` that is followed at once by a block of `text` or `json` is a promise: each of its lines that begins with
//! `warmcell ` is run with the built binary, in a folder that holds a copy of `examples/`, and their standard output is
//! compared with the second block. As `json`, each line is a value; the times in it (`durationMs`) are not compared. A block
//! of `sh` that no output follows is only shown. The README's Rust is compiled and run as documentation tests of the crate,
//! apart from the build script, which is compared with the one that a host package here is built with.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

const README: &str = include_str!("../../README.md");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn commands_print_what_the_readme_says() {
    let folder = folder_with_examples();
    let blocks = blocks(README);
    let mut tried = 0;
    for pair in blocks.windows(2) {
        let [shown, output] = pair else { continue };
        if shown.language != "sh" || !output.follows || !["text", "json"].contains(&output.language)
        {
            continue;
        }
        let printed: String = shown
            .text
            .lines()
            .filter(|line| line.starts_with("warmcell "))
            .map(|line| run(line, folder.path()))
            .collect();
        match output.language {
            "json" => assert_eq!(values(&printed), values(&output.text), "{}", shown.text),
            _ => assert_eq!(printed, output.text, "{}", shown.text),
        }
        tried += 1;
    }
    assert!(tried > 0, "the README promises nothing that can be tried");
}

#[test]
fn the_build_script_of_a_host_is_the_one_that_works() {
    let works = std::fs::read_to_string(Path::new(ROOT).join("tests/host/build.rs")).unwrap();
    let shown = blocks(README)
        .into_iter()
        .find(|block| block.text.contains("DEP_WARMCELL_LIBDIR"))
        .expect("the README shows a host's build script");
    assert_eq!(shown.text.trim(), works.trim());
}

fn folder_with_examples() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = folder.path().join("examples");
    std::fs::create_dir(&examples).unwrap();
    for entry in std::fs::read_dir(Path::new(ROOT).join("examples")).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() {
            std::fs::copy(&file, examples.join(file.file_name().unwrap())).unwrap();
        }
    }
    folder
}

/// Runs a line as a shell would, with the built binary in front of everything on `PATH`.
fn run(line: &str, folder: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_warmcell"));
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", line])
        .env(
            "PATH",
            format!("{}:{path}", binary.parent().unwrap().display()),
        )
        .env("NO_COLOR", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{line}: {}\n{stderr}",
        output.status
    );
    String::from_utf8(output.stdout).expect("text")
}

fn values(text: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values
        .map(|value| {
            let mut value = value.unwrap_or_else(|error| panic!("{error}: {text}"));
            if let Some(fields) = value.as_object_mut() {
                fields.remove("durationMs");
            }
            value
        })
        .collect()
}

/// A fenced block of the README.
struct Block {
    /// The first word after the fence.
    language: &'static str,
    text: String,
    /// Whether nothing but blank lines stands between it and the block before.
    follows: bool,
}

fn blocks(text: &'static str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    let mut follows = false;
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            follows &= line.trim().is_empty();
            continue;
        };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block {
            language: info.split([',', ' ']).next().unwrap_or_default(),
            text: body.iter().map(|line| format!("{line}\n")).collect(),
            follows,
        });
        follows = true;
    }
    blocks
}
