//! The page of `--html`: whole, self-contained, and safe whatever the cells showed.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;

use super::{Files, ran};
use crate::support::{Exited, Program, warmcell};

/// Runs cells with `exec`, and reads the page.
fn page_of(cells: &[&str]) -> (Exited, String) {
    let files = Files::new();
    let page = files.path().join("report.html");
    let mut arguments = vec![OsStr::new("exec"), OsStr::new("--html"), page.as_ref()];
    arguments.extend(cells.iter().map(OsStr::new));
    let ended = ran(arguments);
    let text = fs::read_to_string(&page).expect("a page");
    let names: Vec<_> = fs::read_dir(files.path()).expect("a folder").collect();
    assert_eq!(names.len(), 1, "nothing else is left: {names:?}");
    (ended, text)
}

/// A tag of the page, with its attributes in their order.
#[derive(Debug, PartialEq, Eq)]
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Reads the page strictly: what the reports write, and nothing else that a browser might forgive. Gives the opening tags and
/// the text outside of them.
fn read(page: &str) -> (Vec<Tag>, String) {
    let (mut tags, mut text, mut open) = (Vec::new(), String::new(), Vec::new());
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once('<') {
        text.push_str(&unescaped(before));
        let (tag, behind) = whole_tag(behind);
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "in {}", &page[..200]);
            continue;
        }
        let tag = read_tag(tag);
        if tag.name == "style" {
            let (_, behind) = rest.split_once("</style>").expect("an end of the style");
            rest = behind;
        } else if !matches!(tag.name.as_str(), "!doctype" | "meta" | "img" | "hr" | "br") {
            open.push(tag.name.clone());
        }
        tags.push(tag);
    }
    text.push_str(&unescaped(rest));
    assert_eq!(open, [""; 0], "everything is closed");
    (tags, text)
}

/// Splits behind the `>` of a tag, which may stand inside the quotes of an attribute.
fn whole_tag(text: &str) -> (&str, &str) {
    let mut is_quoted = false;
    for (position, character) in text.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            '>' if !is_quoted => return (&text[..position], &text[position + 1..]),
            _ => {}
        }
    }
    panic!("a tag does not end: {}", &text[..text.len().min(100)]);
}

fn read_tag(tag: &str) -> Tag {
    let (name, mut rest) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        rest = &rest[end..];
        let value = match rest.strip_prefix("=\"") {
            Some(quoted) => {
                let (value, behind) = quoted.split_once('"').expect("a closing quote");
                rest = behind;
                unescaped(value)
            }
            None => String::new(),
        };
        attributes.push((name, value));
    }
    Tag {
        name: name.trim_end_matches('/').to_owned(),
        attributes,
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// The tags that a report may have, whatever the cells did.
const TAGS: [&str; 36] = [
    "!doctype", "html", "head", "meta", "title", "style", "body", "header", "main", "footer",
    "section", "h1", "h2", "h3", "p", "span", "pre", "code", "ul", "li", "figure", "img", "iframe",
    "details", "summary", "div", "em", "strong", "a", "table", "br", "thead", "tbody", "tr", "th",
    "td",
];

/// Checks that nothing in the page can act: no script, no handler, no address outside of it.
#[track_caller]
fn assert_harmless(tags: &[Tag]) {
    for tag in tags {
        assert!(TAGS.contains(&tag.name.as_str()), "{tag:?}");
        for (name, value) in &tag.attributes {
            assert!(!name.starts_with("on"), "{tag:?}");
            let is_address = matches!(name.as_str(), "src" | "href" | "srcset" | "action");
            let is_link = tag.name == "a" && (value == "#" || value.starts_with("https://"));
            assert!(
                !is_address || is_link || value.starts_with("data:image/"),
                "{tag:?}"
            );
        }
        if tag.name == "iframe" {
            assert_eq!(tag.attribute("sandbox"), Some(""), "{tag:?}");
            assert!(
                tag.attribute("title")
                    .is_some_and(|title| !title.is_empty()),
                "{tag:?}"
            );
        }
        if tag.name == "img" {
            assert!(
                tag.attribute("alt").is_some_and(|alt| !alt.is_empty()),
                "{tag:?}"
            );
        }
    }
    let policies = tags
        .iter()
        .filter(|tag| tag.attribute("http-equiv") == Some("Content-Security-Policy"));
    let policies: Vec<_> = policies
        .map(|tag| tag.attribute("content").unwrap_or_default())
        .collect();
    assert_eq!(policies.len(), 1);
    assert!(
        policies[0].starts_with("default-src 'none'; "),
        "{policies:?}"
    );
    assert!(!policies[0].contains("script"), "{policies:?}");
}

/// What shows an object with these forms.
fn shows(forms: &str) -> String {
    format!(
        "type('Shown', (), {{'_repr_mimebundle_': lambda self, include=None, exclude=None: {forms}}})()"
    )
}

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADUlEQVR42mP4zwAE/wEHAAH/PX2MSQAAAABJRU5ErkJggg==";

#[test]
fn everything_that_came_of_the_cells_is_there() {
    let (ended, page) = page_of(&[
        "import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\nreturn {'key': [1, None, 'text']}",
        &shows(&format!(
            "{{'image/png': '{PNG}', 'text/plain': 'two pixels'}}"
        )),
        &shows("{'text/html': '<table><tr><td>cell</td></tr></table>', 'text/plain': 'as text'}"),
        &shows("{'text/markdown': '**bold** <b>not</b>'}"),
        &shows("{'image/svg+xml': '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'}"),
        &shows("{'application/json': {'deep': [1]}}"),
        "def f():\n    return 1 / 0\nf()",
        "never",
    ]);
    assert_eq!(ended.status, 1);
    let (tags, text) = read(&page);
    assert_harmless(&tags);
    for part in [
        "7 cells, 1 failed, ",
        "to stdout\n",
        "to stderr\n",
        "{\"key\": [1, null, \"text\"]}",
        "bold <b>not</b>",
        "{\"deep\": [1]}",
        "as text",
        "ZeroDivisionError: division by zero",
        "File \"<cell 7>\", line 2, in f",
        "exception",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("never"), "{text}");
    let version = ran(["exec", "import platform; return platform.python_version()"]);
    let version = version.stdout.trim().trim_matches('"').to_owned();
    assert!(text.contains(&format!("python {version}")), "{text}");
    let named = |name: &str| {
        tags.iter()
            .filter(|tag| tag.name == name)
            .collect::<Vec<_>>()
    };
    assert_eq!(named("section").len(), 7);
    assert_eq!(named("h1").len(), 1);
    assert_eq!(named("h2").len(), 7);
    let images = named("img");
    assert_eq!(
        images[0].attribute("src"),
        Some(format!("data:image/png;base64,{PNG}").as_str())
    );
    assert_eq!(images[0].attribute("alt"), Some("two pixels"));
    assert!(
        images[1]
            .attribute("src")
            .is_some_and(|src| src.starts_with("data:image/svg+xml;base64,"))
    );
    let frames = named("iframe");
    assert_eq!(frames.len(), 1);
    let inside = frames[0].attribute("srcdoc").expect("a page");
    assert!(
        inside.ends_with("<table><tr><td>cell</td></tr></table>"),
        "{inside}"
    );
    // Keywords and strings have their colours, in both schemes.
    assert!(page.contains("<span class=\"k\">import</span>"), "{page}");
    assert!(
        page.contains("@media (prefers-color-scheme: dark)"),
        "{page}"
    );
    assert!(page.contains("name=\"viewport\""), "{page}");
}

#[test]
fn nothing_that_cells_show_gets_out_of_its_place() {
    let attack = "</script></style></title></pre></iframe></textarea>--><!--<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)> {{cells}} \\x1b]0;x\\x07\\x00\\ud800";
    let text = format!("attack = '''{attack}'''.encode('utf-8', 'replace').decode()");
    let cells = [
        text.as_str(),
        "print(attack)",
        "import sys; print(attack, file=sys.stderr)",
        "return [attack, {attack: attack}]",
        &shows("{'text/plain': attack}"),
        &shows("{'text/html': attack, 'text/plain': attack}"),
        &shows(
            "{'text/markdown': attack + '\\n\\n[x](javascript:alert(1)) ![y](https://example.org/y.png)\\n\\n' + attack}",
        ),
        &shows("{'image/png': attack, 'text/plain': attack}"),
        &shows("{'image/svg+xml': attack, 'text/plain': attack}"),
        &shows("{'application/json': {attack: [attack]}}"),
        &shows("{'text/latex': attack}"),
        &shows("{attack: attack}"),
        "raise type(attack.replace('\\0', ''), (Exception,), {})(attack)",
    ];
    let (ended, page) = page_of(&cells);
    assert_eq!(ended.status, 1);
    let (tags, text) = read(&page);
    assert_harmless(&tags);
    let named = |name: &str| tags.iter().filter(|tag| tag.name == name).count();
    assert_eq!(named("section"), 13);
    assert_eq!(named("iframe"), 1);
    // Shown as what it is: text.
    assert!(
        text.matches("<script>alert(1)</script>").count() > 10,
        "{text}"
    );
    assert!(
        !page.contains(['\x1b', '\0']),
        "control characters are made visible"
    );
}

#[test]
fn records_are_a_table() {
    let (_, page) = page_of(&[
        "return [{'name': 'Ann <b>', 'score': 1}, {'name': 'Bob'}]",
        "return [{'row': row} for row in range(1000)]",
    ]);
    let (tags, text) = read(&page);
    assert_harmless(&tags);
    for part in [
        "<tr><th>name</th><th>score</th></tr>\n</thead>\n<tbody>\n<tr><td>Ann &lt;b&gt;</td><td>1</td></tr>\n<tr><td>Bob</td><td></td></tr>\n</tbody>",
        "<tr><td>19</td></tr>\n<tr><td colspan=\"1\">… 975 rows more</td></tr>\n<tr><td>995</td></tr>",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    // All of it is there as JSON.
    assert!(text.contains("{\"row\":500}"), "{text}");
}

#[test]
fn megabytes_are_no_trouble() {
    let (ended, page) = page_of(&[
        "print('x<' * 400_000)",
        "return ['<&>' * 10] * 100_000",
        &shows("{'text/html': '<p>' * 300_000}"),
    ]);
    assert_eq!(ended.status, 0);
    let (tags, _) = read(&page);
    assert_harmless(&tags);
    assert!(page.len() > 5_000_000, "{}", page.len());
    let count = |name: &str| tags.iter().filter(|tag| tag.name == name).count();
    assert_eq!(count("details"), 1, "a long value waits behind its summary");
    assert_eq!(count("iframe"), 1, "markup stands in a frame");
}

#[test]
fn run_names_its_files_and_replaces_an_older_page() {
    let files = Files::new();
    let first = files.file("a<b>.py", "x = 1");
    let second = files.file("second.ts", "const y: number = 2; y");
    let page = files.file("report.html", "an older page");
    let ended = ran([
        OsStr::new("run"),
        "--html".as_ref(),
        page.as_ref(),
        first.as_ref(),
        second.as_ref(),
    ]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let text = fs::read_to_string(&page).expect("a page");
    let (tags, text) = read(&text);
    assert_harmless(&tags);
    assert!(
        text.contains(&format!("Cell 1: {}", first.display())),
        "{text}"
    );
    assert!(text.contains("2 cells, all ok, "), "{text}");
    assert!(text.contains("typescript on "), "{text}");
}

/// Runs a cell and has its page written there.
fn written(place: &Path) -> Exited {
    ran([
        OsStr::new("exec"),
        "1 + 1".as_ref(),
        "--html".as_ref(),
        place.as_ref(),
    ])
}

#[test]
fn a_page_goes_through_what_is_no_regular_file() {
    let files = Files::new();
    let fifo = files.path().join("fifo");
    let name = CString::new(fifo.as_os_str().as_bytes()).expect("a path");
    // SAFETY: the path ends in a null byte and lives during the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let link = files.path().join("link");
    symlink("fifo", &link).expect("a link");
    for place in [&fifo, &link] {
        // Both ends, so that neither a reader nor a writer waits for the other.
        let mut reader = File::options()
            .read(true)
            .write(true)
            .open(&fifo)
            .expect("the fifo");
        let ended = written(place);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
        let mut begin = [0; 15];
        reader.read_exact(&mut begin).expect("a page");
        assert_eq!(&begin, b"<!doctype html>");
    }
    let kind = fs::symlink_metadata(&fifo).expect("the fifo").file_type();
    assert!(kind.is_fifo());
    assert!(link.is_symlink());
}

#[test]
fn a_link_stays_and_leads_to_the_page() {
    let files = Files::new();
    fs::create_dir(files.path().join("pages")).expect("a folder");
    let old = files.file("pages/old.html", "an older page");
    let new = files.path().join("pages/new.html");
    for (name, target) in [("to-old", &old), ("to-new", &new)] {
        let link = files.path().join(name);
        symlink(target.strip_prefix(files.path()).expect("a part"), &link).expect("a link");
        assert_eq!(written(&link).status, 0);
        assert!(link.is_symlink());
        let page = fs::read_to_string(target).expect("a page");
        assert!(page.starts_with("<!doctype html>"), "{page}");
    }
    let names = fs::read_dir(files.path().join("pages")).expect("a folder");
    assert_eq!(names.count(), 2, "nothing else is left");
}

#[test]
fn a_page_does_not_overwrite_what_is_run() {
    let files = Files::new();
    let source = files.file("source.py", "print('ran')");
    let (link, twin) = (files.path().join("link.html"), files.path().join("twin"));
    symlink("source.py", &link).expect("a link");
    fs::hard_link(&source, &twin).expect("a second name");
    for place in [&source, &link, &twin] {
        let ended = ran([
            OsStr::new("run"),
            source.as_ref(),
            "--html".as_ref(),
            place.as_ref(),
        ]);
        let said = format!(
            "error: `--html` is `{}`, which would overwrite `{}`\nhint: name another file for the page\n",
            place.display(),
            source.display()
        );
        assert_eq!(
            (ended.status, ended.stdout, ended.stderr),
            (2, String::new(), said)
        );
    }
    assert_eq!(fs::read(&source).expect("the source"), b"print('ran')");
}

#[test]
fn a_place_that_is_none_is_named_before_anything_runs() {
    let files = Files::new();
    for (place, said) in [
        (files.path().to_owned(), "which is a folder"),
        (
            files.path().join("no/such.html"),
            "whose folder does not exist",
        ),
    ] {
        let ended = ran([
            OsStr::new("exec"),
            "print('ran')".as_ref(),
            "--html".as_ref(),
            place.as_ref(),
        ]);
        let said = format!("error: `--html` is `{}`, {said}\n", place.display());
        assert_eq!(
            (ended.status, ended.stdout, ended.stderr),
            (2, String::new(), said)
        );
    }
    // A page that cannot be written is an error, and the cells' output is there all the same.
    let place = Path::new("/proc/report.html");
    let ended = ran([
        OsStr::new("exec"),
        "print('ran')".as_ref(),
        "--html".as_ref(),
        place.as_ref(),
    ]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, "ran\n"));
    let said = "error: cannot write `/proc/report.html`: ";
    assert!(ended.stderr.starts_with(said), "{}", ended.stderr);
}

#[test]
fn a_page_is_there_when_the_command_is_asked_to_end() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let files = Files::new();
        let page = files.path().join("report.html");
        let mut program = Program::start(warmcell([
            OsStr::new("exec"),
            "--html".as_ref(),
            page.as_ref(),
            "x = 1".as_ref(),
            "import time; print('begun', flush=True); time.sleep(600)".as_ref(),
        ]));
        assert_eq!(program.line(), "begun\n");
        program.signal(signal);
        assert_eq!(program.finish().status, 128 + signal);
        let (tags, text) = read(&fs::read_to_string(&page).expect("a page"));
        assert_harmless(&tags);
        assert!(text.contains("the cell was cancelled"), "{text}");
    }
}
