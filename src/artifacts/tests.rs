use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn artifacts(folder: &Path, budget: u64) -> Arc<Artifacts> {
    let cells = Arc::new(AtomicU64::new(7));
    Artifacts::open(folder, budget, cells).expect("artifacts")
}

fn only_folder(parent: &Path) -> PathBuf {
    let mut entries = fs::read_dir(parent).expect("a folder");
    let entry = entries.next().expect("an entry").expect("an entry");
    assert!(entries.next().is_none());
    entry.path()
}

#[test]
fn files_are_named_by_session_and_cell_and_are_the_users_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = artifacts(&folder.path().join("a/b"), 100);
    let one = artifacts.keep("value", "json", b"[1]").expect("a file");
    let two = artifacts.keep("value", "json", b"[2]").expect("a file");
    let session = only_folder(&folder.path().join("a/b"));
    assert_eq!(Path::new(&one), session.join("cell-0007-value.json"));
    assert_eq!(Path::new(&two), session.join("cell-0007-value-2.json"));
    assert_eq!(fs::read(&one).expect("a file"), b"[1]");
    let mode = |path: &Path| fs::metadata(path).expect("an entry").permissions().mode() & 0o777;
    assert_eq!((mode(&session), mode(Path::new(&one))), (0o700, 0o600));
    assert_eq!(mode(&folder.path().join("a/b")), 0o700);
    assert_eq!(artifacts.take_trouble(), None);
}

#[test]
fn the_budget_holds_and_is_told_when_it_is_used_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = artifacts(folder.path(), 10);
    assert!(artifacts.keep("value", "json", &[0; 8]).is_some());
    assert_eq!(artifacts.keep("stdout", "txt", &[0; 3]), None);
    assert_eq!(artifacts.keep("stderr", "txt", &[0; 3]), None);
    assert_eq!(
        artifacts.take_trouble().as_deref(),
        Some(
            "the stdout of cell 7 could not be kept as an artifact: the session's artifacts would have more than 10 bytes (`artifactBytes`) (and it is not the only one)"
        )
    );
    assert_eq!(artifacts.take_trouble(), None);
    assert!(artifacts.keep("stdout", "txt", &[0; 2]).is_some());
}

#[test]
fn a_spill_is_whole_or_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = artifacts(folder.path(), 300_000);
    let mut spill = artifacts.begin("stdout", "txt").expect("a file");
    let mut whole = Vec::new();
    for size in [1, 70_000, 10, 65_536, 3] {
        let piece = vec![b'a' + (size % 7) as u8; size];
        spill.write(&piece);
        whole.extend_from_slice(&piece);
    }
    spill.take_back(65_000);
    whole.truncate(whole.len() - 65_000);
    spill.write(b"end");
    whole.extend_from_slice(b"end");
    let path = spill.finish().expect("a file");
    assert_eq!(fs::read(path).expect("a file"), whole);

    let mut dropped = artifacts.begin("stderr", "txt").expect("a file");
    dropped.write(b"never asked for");
    drop(dropped);
    let mut over = artifacts.begin("stderr", "txt").expect("a file");
    over.write(&vec![0; 300_000]);
    over.write(b"more");
    assert_eq!(over.finish(), None);
    let session = only_folder(folder.path());
    only_folder(&session);
    assert!(artifacts.take_trouble().is_some());
    // What was given up gave its room back.
    assert!(artifacts.keep("value", "json", &[0; 150_000]).is_some());
}

#[test]
fn what_a_cell_plants_is_neither_written_nor_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").expect("a file");
    let parent = folder.path().join("artifacts");
    let artifacts = artifacts(&parent, 1000);
    let first = artifacts.keep("stdout", "txt", b"first").expect("a file");
    let session = only_folder(&parent);

    symlink(&secret, session.join("cell-0007-value.json")).expect("a link");
    let value = artifacts.keep("value", "json", b"mine").expect("a file");
    assert!(value.ends_with("cell-0007-value-2.json"));
    assert_eq!(fs::read(&secret).expect("a file"), b"secret");

    let read = |path: &str| artifacts.read(path, ArtifactPart::bytes());
    assert_eq!(read(&first).expect("a part").text.as_deref(), Some("first"));
    assert_eq!(
        read("cell-0007-stdout.txt")
            .expect("a part")
            .text
            .as_deref(),
        Some("first")
    );
    for path in [
        "../../secret",
        "cell-0007-value.json",
        secret.to_str().expect("text"),
        "",
        "/etc/passwd",
    ] {
        assert!(read(path).is_err(), "{path}");
    }
    let gone = "the artifact `cell-0007-stdout.txt` is not what it was when it was written";
    fs::remove_file(&first).expect("removed");
    symlink(&secret, &first).expect("a link");
    assert_eq!(read(&first).expect_err("a link").to_string(), gone);
    let another = folder.path().join("another");
    fs::write(&another, "another").expect("a file");
    fs::rename(&another, &first).expect("moved");
    assert_eq!(read(&first).expect_err("another file").to_string(), gone);
    fs::remove_file(&first).expect("removed");
    let name = std::ffi::CString::new(first.as_str()).expect("a path");
    // SAFETY: makes a pipe at a path of ours.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert_eq!(read(&first).expect_err("a pipe").to_string(), gone);

    // The whole folder in another's place: what is written lies in the one that was made.
    let moved = folder.path().join("moved");
    fs::rename(&session, &moved).expect("moved");
    symlink(folder.path(), &session).expect("a link");
    assert!(artifacts.keep("late", "txt", b"late").is_some());
    assert!(moved.join("cell-0007-late.txt").exists());
    assert!(!folder.path().join("cell-0007-late.txt").exists());
}

#[test]
fn a_folder_that_goes_away_is_trouble_and_nothing_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let parent = folder.path().join("artifacts");
    let artifacts = artifacts(&parent, 1000);
    fs::remove_dir(&parent).expect("removed");
    assert_eq!(artifacts.keep("value", "json", b"[1]"), None);
    assert!(artifacts.begin("stdout", "txt").is_none());
    let trouble = artifacts.take_trouble().expect("trouble");
    assert!(
        trouble.starts_with("the value of cell 7 could not be kept as an artifact: no such file"),
        "{trouble}"
    );
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    let refused = Artifacts::open(&file, 1, Arc::default()).expect_err("a file");
    assert!(
        refused.to_string().starts_with("`artifacts` is `"),
        "{refused}"
    );
}

#[test]
fn parts_lead_from_one_to_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = artifacts(folder.path(), 4 << 20);
    let text: String = (0..2500).map(|n| format!("línea {n}\n")).collect();
    let path = artifacts
        .keep("stdout", "txt", text.as_bytes())
        .expect("a file");
    for (first, unit) in [
        (ArtifactPart::lines(), "lines"),
        (ArtifactPart::lines().most(7), "few lines"),
        (ArtifactPart::bytes().most(1001), "bytes"),
    ] {
        let mut whole = String::new();
        let mut part = first;
        loop {
            let read = artifacts.read(&path, part).expect("a part");
            assert_eq!(read.bytes, text.len() as u64, "{unit}");
            whole.push_str(&read.text.expect("text"));
            match read.next_offset {
                Some(offset) => part = part.from(offset),
                None => break,
            }
        }
        assert_eq!(whole, text, "{unit}");
    }
    let beyond = artifacts.read(&path, ArtifactPart::lines().from(9999));
    let beyond = beyond.expect("a part");
    assert_eq!(
        (beyond.text.as_deref(), beyond.next_offset),
        (Some(""), None)
    );
    let beyond = artifacts.read(&path, ArtifactPart::bytes().from(u64::MAX));
    assert_eq!(beyond.expect("a part").next_offset, None);

    let image = artifacts
        .keep("figure-1", "png", b"\x89PNG")
        .expect("a file");
    let read = artifacts
        .read(&image, ArtifactPart::bytes())
        .expect("a part");
    assert_eq!(read.base64.as_deref(), Some("iVBORw=="));
    let refused = artifacts.read(&image, ArtifactPart::lines());
    assert!(
        refused
            .expect_err("no text")
            .to_string()
            .contains("by `byte`")
    );

    let long = format!("one\n{}\ntwo", "x".repeat(2 << 20));
    let long = artifacts
        .keep("value", "json", long.as_bytes())
        .expect("a file");
    let first = artifacts
        .read(&long, ArtifactPart::lines())
        .expect("a part");
    assert_eq!(
        (first.text.as_deref(), first.next_offset),
        (Some("one\n"), Some(1))
    );
    let refused = artifacts.read(&long, ArtifactPart::lines().from(1));
    assert!(refused.is_err());
    let last = artifacts
        .read(&long, ArtifactPart::lines().from(2))
        .expect("a part");
    assert_eq!(
        (last.text.as_deref(), last.next_offset),
        (Some("two"), None)
    );
    for part in [
        ArtifactPart::bytes().most(0),
        ArtifactPart::lines().most(u64::MAX),
    ] {
        let refused = artifacts.read(&long, part).expect_err("a limit");
        assert!(matches!(
            refused,
            RuntimeError::InvalidLimit { limit: "limit", .. }
        ));
    }
}

#[test]
fn cleaning_takes_the_oldest_and_spares_those_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = |bytes: usize| {
        let artifacts = artifacts(folder.path(), 1 << 20);
        let path = artifacts.keep("value", "json", &vec![b'1'; bytes]);
        (artifacts, PathBuf::from(path.expect("a file")))
    };
    let age = |path: &Path, seconds: u64| {
        let time = SystemTime::now() - std::time::Duration::from_secs(seconds);
        let folder = fs::File::open(path.parent().expect("a folder")).expect("a folder");
        folder.set_modified(time).expect("a time");
    };
    let (live, in_use) = session(10);
    let (ended, old) = session(20);
    let (_, older) = session(30);
    let (_, young) = session(40);
    drop(ended);
    fs::create_dir(folder.path().join("not-ours")).expect("a folder");
    symlink(folder.path(), folder.path().join("session-link")).expect("a link");
    for (path, seconds) in [(&in_use, 900), (&older, 800), (&old, 300), (&young, 5)] {
        age(path, seconds);
    }
    let day = std::time::Duration::from_secs(86_400);
    let clean = |age, bytes| clean_artifacts(folder.path(), age, bytes).expect("cleaned");
    assert_eq!(clean(day, 1000), 0);
    // The one in use counts, and stays.
    assert_eq!(clean(day, 75), 30);
    assert!(!older.exists() && old.exists() && in_use.exists());
    assert_eq!(clean(std::time::Duration::from_secs(60), 1000), 20);
    assert!(!old.exists() && young.exists() && in_use.exists());
    drop(live);
    assert_eq!(clean(day, 0), 50);
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["not-ours", "session-link"]);
}

#[test]
fn a_full_disk_is_trouble_and_nothing_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let artifacts = artifacts(folder.path(), 1 << 20);
    let full = || Created {
        name: "full".to_owned(),
        path: "full".to_owned(),
        file: fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("a device"),
    };
    for bytes in [10, 100_000] {
        let mut spill = Spill::new(artifacts.clone(), "stdout", full());
        spill.write(&vec![b'x'; bytes]);
        spill.write(b"more");
        assert_eq!(spill.finish(), None);
        assert_eq!(
            artifacts.take_trouble().as_deref(),
            Some("the stdout of cell 7 could not be kept as an artifact: no space left on device")
        );
    }
    // Nothing of it counts.
    assert!(
        artifacts
            .keep("value", "json", &vec![b'1'; 1 << 20])
            .is_some()
    );
}
