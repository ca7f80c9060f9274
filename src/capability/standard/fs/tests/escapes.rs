//! Nothing outside of the workspace is reached, whatever a path says and whatever links lie around.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::capabilities;
use crate::capability::{Capability, CapabilityErrorKind};

/// What lies outside, and no answer may hold.
const CANARY: &str = "canary-in-the-cold";

/// How many of the calls change nothing.
const READING: usize = 6;

/// `ws` is the workspace; `ws-evil` and `outside` lie beside it.
struct Place {
    folder: TempDir,
    files: Capability,
    search: Capability,
}

impl Place {
    fn new(links: &[(String, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["ws/a/b", "ws/c", "outside/a/b", "ws-evil/a"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in ["ws/a/f", "ws/a/b/f", "ws/c/f"] {
            fs::write(root.join(path), "inside").unwrap();
        }
        for path in [
            "outside/f",
            "outside/a/f",
            "outside/a/b/f",
            "ws-evil/f",
            "ws-evil/a/f",
            "f",
        ] {
            fs::write(root.join(path), CANARY).unwrap();
        }
        for (name, target) in links {
            let target = target.replace("{root}", root.to_str().unwrap());
            // One that would be in the place of something else, or below a link, is not there.
            let _ = symlink(target, root.join("ws").join(name));
        }
        let workspace = root.join("ws");
        Self {
            files: capabilities::fs(&workspace).unwrap(),
            search: capabilities::search(&workspace).unwrap(),
            folder,
        }
    }

    /// Everything beside the workspace: what it is, and what is in it.
    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        let mut pending = vec![self.folder.path().to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path == self.folder.path().join("ws") {
                    continue;
                }
                let metadata = fs::symlink_metadata(&path).unwrap();
                let content = match metadata.is_dir() {
                    true => String::new(),
                    false => fs::read_to_string(&path).unwrap(),
                };
                if metadata.is_dir() {
                    pending.push(path.clone());
                }
                seen.insert(path, format!("{:?} {content}", metadata.file_type()));
            }
        }
        seen
    }

    /// Whether a path leads into the folder of the test, as the system sees it: to the workspace or beside it.
    fn is_of_this_test(&self, path: &str) -> bool {
        let root = self.folder.path().canonicalize().unwrap();
        let whole = root.join("ws").join(path);
        let above = |path: &Path| path.parent().map(Path::to_owned);
        match whole.canonicalize() {
            Ok(real) => real != root && real.starts_with(&root),
            // Nothing is there: what could be made goes where the folder above it is.
            Err(_) => above(&whole)
                .and_then(|above| above.canonicalize().ok())
                .is_none_or(|above| above.starts_with(&root)),
        }
    }

    /// All that can be done with a path; gives the answers.
    fn everything(&self, path: &str, other: &str) -> Vec<String> {
        let root = self.folder.path().to_str().unwrap();
        let path = path.replace("{root}", root);
        let other = other.replace("{root}", root);
        let calls: [(&str, Value); 12] = [
            ("read", json!({"path": path})),
            ("read", json!({"path": path, "encoding": "base64"})),
            ("list", json!({"path": path})),
            ("stat", json!({"path": path})),
            ("glob", json!({"pattern": path})),
            ("glob", json!({"pattern": format!("{path}/**")})),
            ("append", json!({"path": path, "content": "w"})),
            ("write", json!({"path": path, "content": "w"})),
            ("mkdir", json!({"path": format!("{path}/made")})),
            ("move", json!({"from": path, "to": other})),
            ("remove", json!({"path": other})),
            ("remove", json!({"path": path, "recursive": true})),
        ];
        // Were something broken, a test should take its own folder along, and no other.
        let changes = if self.is_of_this_test(&path) && self.is_of_this_test(&other) {
            calls.len()
        } else {
            READING
        };
        let searched = json!({"pattern": "canary|inside", "path": path});
        let mut answers = vec![said(&self.search, "search", &searched)];
        answers.extend(
            calls[..changes]
                .iter()
                .map(|(action, given)| said(&self.files, action, given)),
        );
        answers
    }
}

fn said(capability: &Capability, action: &str, arguments: &Value) -> String {
    match capability.call_blocking(action, arguments) {
        Ok(answer) => answer.to_string(),
        Err(error) => error.message,
    }
}

fn component() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "f", "l0", "l1", "l2"]).prop_map(str::to_owned),
        3 => Just("..".to_owned()),
        1 => prop::sample::select(vec![".", "", "...", "ws", "outside", "ws-evil", "~", "*", " ", "é", "-", "%2e%2e", "..\\", "\\..", "\u{2024}\u{2024}"])
            .prop_map(str::to_owned),
    ]
}

fn path() -> impl Strategy<Value = String> {
    let relative = prop::collection::vec(component(), 1..7).prop_map(|parts| parts.join("/"));
    let start = prop_oneof![
        5 => Just(""),
        1 => Just("/"),
        1 => Just("{root}/"),
        1 => Just("{root}/ws/"),
        1 => Just("{root}/ws-evil/"),
        1 => Just("{root}/outside/"),
        1 => Just("../ws-evil/"),
        1 => Just("../outside/"),
        1 => Just("/proc/self/cwd/"),
        1 => Just("/proc/self/root/{root}/outside/"),
    ];
    let anywhere = (start, relative).prop_map(|(start, relative)| format!("{start}{relative}"));
    // Most links lead to where one of these is.
    let ends = prop::sample::select(vec![
        "",
        "/f",
        "/a",
        "/a/f",
        "/a/b/f",
        "/new",
        "/outside/f",
        "/outside/a/f",
        "/../f",
        "/../outside/f",
        "/l0/f",
    ]);
    let by_link =
        (prop::sample::select(LINKS.to_vec()), ends).prop_map(|(link, end)| format!("{link}{end}"));
    prop_oneof![anywhere, by_link]
}

const LINKS: [&str; 8] = ["l0", "l1", "l2", "a/l0", "a/l1", "a/b/l0", "a/b/l2", "c/l1"];

/// Links at any depth, to anything, to each other as well.
fn links() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop::sample::select(LINKS.to_vec());
    let target = prop_oneof![
        1 => path(),
        4 => prop::sample::select(vec![
            "..", "../..", "../outside", "../../outside", "../../../outside", "../ws-evil", "../f", "{root}",
            "{root}/outside", "{root}/outside/a/f", "{root}/outside/new", "{root}/ws", "/proc/self/root{root}", "l1", "l0/..", "a/b/l0", ".", "a", "../c",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec((name.prop_map(str::to_owned), target), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn no_path_leads_out(links in links(), paths in prop::collection::vec((path(), path()), 1..6)) {
        let place = Place::new(&links);
        let before = place.outside();
        let encoded = "Y2FuYXJ5LWluLXRoZS1jb2xk";
        for (path, other) in &paths {
            for answer in place.everything(path, other) {
                prop_assert!(!answer.contains(CANARY), "{path}: {answer}");
                prop_assert!(!answer.contains(encoded), "{path}: {answer}");
            }
            prop_assert_eq!(&place.outside(), &before, "{} {}", path, other);
        }
    }
}

#[test]
fn each_way_out_is_refused_as_not_permitted() {
    let links = [
        ("out", "../outside"),
        ("a/out", "{root}/outside"),
        ("file", "../outside/f"),
        ("up", ".."),
        ("new", "../outside/new"),
        ("chain", "a/out/a"),
    ]
    .map(|(name, target)| (name.to_owned(), target.to_owned()));
    let place = Place::new(&links);
    let before = place.outside();
    let root = place.folder.path().to_str().unwrap();
    for path in [
        "..",
        "../outside/f",
        "a/../../outside/f",
        "/etc/passwd",
        "{root}/ws-evil/f",
        "{root}/ws/../outside/f",
        "../ws-evil/f",
        "out/f",
        "a/out/f",
        "file",
        "up/outside/f",
        "chain/f",
        "new",
    ] {
        let path = path.replace("{root}", root);
        for (action, arguments) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            ("stat", json!({"path": path})),
            ("list", json!({"path": path})),
        ] {
            let error = place.files.call_blocking(action, &arguments).unwrap_err();
            assert_eq!(
                error.kind,
                CapabilityErrorKind::Permission,
                "{action} {path}: {error}"
            );
            assert_eq!(
                error.message,
                format!("`{path}` leads out of the workspace")
            );
        }
    }
    assert_eq!(place.outside(), before);
    // A link itself is in the workspace, and may go.
    let link: &Path = &place.folder.path().join("ws/out");
    place
        .files
        .call_blocking("remove", &json!({"path": "out", "recursive": true}))
        .unwrap();
    assert!(fs::symlink_metadata(link).is_err());
    assert_eq!(place.outside(), before);
}
