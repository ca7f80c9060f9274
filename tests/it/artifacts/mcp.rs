//! What the MCP server keeps for its user: where, for how long, and what a model is told of it.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{Protocol, Workspace, read};

#[test]
fn what_a_model_does_not_see_is_in_the_state_directory() {
    let state = tempfile::tempdir().unwrap();
    let artifacts = state.path().join("warmcell/artifacts");
    // What a session left that ended long ago.
    let old = artifacts.join("session-1-1-1");
    fs::create_dir_all(&old).unwrap();
    fs::write(old.join("cell-0001-stdout.txt"), "old").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(30 * 24 * 60 * 60);
    File::open(&old).unwrap().set_modified(long_ago).unwrap();
    let young = artifacts.join("session-2-2-2");
    fs::create_dir(&young).unwrap();
    let workspace = Workspace::new();
    let mut client = workspace.client_at_home(Protocol::Newest, &[], state.path());
    assert!(!old.exists() && young.exists());

    let (is_error, text) =
        client.run(json!({ "code": "for i in range(300_000): print('line', i)" }));
    assert!(!is_error, "{text}");
    assert!(text.len() <= 16 << 10);
    let cut = text.lines().nth(1).expect("a second line");
    let file = cut.split('`').nth(1).expect("a path");
    assert!(file.starts_with(artifacts.to_str().unwrap()), "{cut}");
    let whole: String = (0..300_000).map(|i| format!("line {i}\n")).collect();
    assert!(fs::read_to_string(file).unwrap() == whole);
    // Whole in the outcome, and yet more than a model is shown.
    let (_, text) = client.run(json!({ "code": "return 'y' * 100_000" }));
    let file = text.split('`').nth(3).expect("a path");
    assert_eq!(fs::read_to_string(file).unwrap().len(), 100_002, "{text}");
    client.finish();
}

#[test]
fn nothing_is_kept_that_is_not_to_be() {
    let state = tempfile::tempdir().unwrap();
    let mut client =
        Workspace::new().client_at_home(Protocol::Newest, &["--no-artifacts"], state.path());
    let (_, text) = client.run(json!({ "code": "return 'y' * 100_000" }));
    assert!(
        text.contains("cut: value") && !text.contains("the whole is in"),
        "{text}"
    );
    client.finish();
    assert!(!state.path().join("warmcell").exists());

    // A state directory that cannot be used is told once, and hinders nothing.
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut client = Workspace::new().client_at_home(Protocol::Newest, &[], file.path());
    let (is_error, text) = client.run(json!({ "code": "1" }));
    assert!(
        !is_error && text.contains("notice: what is too large for a result is not kept: `"),
        "{text}"
    );
    let (_, text) = client.run(json!({ "code": "1" }));
    assert!(!text.contains("notice"), "{text}");
    client.finish();
}

/// A picture that is too large for a result is in it, smaller.
#[test]
fn a_scaled_picture_is_attached() {
    let state = tempfile::tempdir().unwrap();
    let options = ["--image-bytes", "50000"];
    let mut client = Workspace::new().client_at_home(Protocol::Newest, &options, state.path());
    client.ok(super::images::PICTURES);
    let result = client.call("run_code", json!({ "code": "Picture(png(300, 200))" }));
    let (is_error, text) = read(&result);
    assert!(!is_error, "{text}");
    assert!(text.contains("scaled from 300 x 200 pixels, "), "{text}");
    assert!(text.contains(", attached, in `"), "{text}");
    let image = &result["content"][1];
    assert_eq!(
        (&image["type"], &image["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    assert!(image["data"].as_str().unwrap().len() <= 50_000);
    client.finish();
}
