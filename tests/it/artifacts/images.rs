//! Images over their budget: a smaller copy in the outcome, the original in a file, and nothing that hostile ones can do.

use std::fs;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::ImageFormat;
use serde_json::{Value, json};
use warmcell::{Display, Language, Limits, Outcome, Session};

use super::{PLACEMENTS, in_place, names, rendered};
use crate::support::{Cells, Judge, timed, turn};

/// Makes PNG files without a package: above it is red, below it is blue, and noise, in one row of so many, keeps them from
/// being small.
pub(super) const PICTURES: &str = "
import os, struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
def png(width, height, claims=None, every=1):
    noise = int.from_bytes(b'\\x1f' * 3 * width)
    def row(y):
        colour = int.from_bytes((b'\\xc0\\0\\0' if y < height / 2 else b'\\0\\0\\xc0') * width)
        random = int.from_bytes(os.urandom(3 * width)) & noise if y % every == 0 else 0
        return b'\\0' + (random | colour).to_bytes(3 * width)
    rows = zlib.compress(b''.join(map(row, range(height))), 1)
    header = struct.pack('>IIBBBBB', *(claims or (width, height)), 8, 2, 0, 0, 0)
    return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header) + chunk(b'IDAT', rows) + chunk(b'IEND', b'')
class Picture:
    def __init__(self, data): self.data = data
    def __repr__(self): return '<Picture>'
    def _repr_png_(self): return self.data
";

fn image_of(display: &Display) -> Vec<u8> {
    let data = display.data["image/png"].as_str().expect("an image");
    STANDARD.decode(data).expect("base64")
}

fn note(outcome: &Outcome) -> &Value {
    let metadata = outcome.display[0].metadata.as_ref().expect("metadata");
    &metadata["image/png"]
}

/// One screenshot blew 200k tokens: indexable-inc/index#933.
#[test]
fn a_large_picture_is_scaled_and_its_original_kept() {
    let turn = turn();
    for placement in PLACEMENTS {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits::default().with_image_bytes(512 << 10);
        let builder = Session::builder(Language::Python)
            .artifacts(folder.path())
            .limits(limits);
        let session = turn.open(in_place(builder, placement));
        session.cell(PICTURES).succeeded();
        session.cell("data = png(4000, 3000, every=16)").succeeded();
        let (took, outcome) = timed(|| session.cell("Picture(data)"));
        outcome.succeeded();
        assert!(took < Duration::from_secs(20), "{took:?}");
        let display = &outcome.display[0];
        assert_eq!(display.data["text/plain"], "<Picture>");
        let encoded = display.data["image/png"].as_str().unwrap().len();
        assert!(encoded <= 512 << 10, "{encoded}");
        assert!(encoded > 100 << 10, "smaller than it need be: {encoded}");
        let copy = image::load_from_memory(&image_of(display))
            .unwrap()
            .into_rgb8();
        let (width, height) = copy.dimensions();
        assert_eq!((width as f64 / height as f64 * 30.0).round(), 40.0);
        let red = copy.get_pixel(width / 2, height / 4).0;
        let blue = copy.get_pixel(width / 2, height * 3 / 4).0;
        assert!(red[0] > 190 && red[1] < 40 && red[2] < 40, "{red:?}");
        assert!(blue[2] > 190 && blue[1] < 40 && blue[0] < 40, "{blue:?}");

        let file = display.file.clone().expect("a file");
        assert!(file.ends_with("/cell-0003-figure-1.png"), "{file}");
        let original = fs::read(&file).unwrap();
        session
            .cell(&format!("data == open({file:?}, 'rb').read()"))
            .returned(json!(true));
        let said = json!({ "shown": "scaled", "original": {
            "bytes": original.len(), "width": 4000, "height": 3000, "file": file,
        } });
        assert_eq!(note(&outcome), &said);
        let copy = image_of(display).len();
        let text = rendered(outcome);
        let line = format!(
            "display 1: image/png ({copy} bytes, scaled from 4000 x 3000 pixels, {} bytes), text/plain (9 bytes), in `{file}`\n",
            original.len()
        );
        assert!(text.contains(&line), "{text}");
    }
}

/// One that is within its budget is a file besides, as it was.
#[test]
fn a_small_picture_stays_as_it_is() {
    let turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let builder = Session::builder(Language::Python).artifacts(folder.path());
    let session = turn.open(builder);
    session.cell(PICTURES).succeeded();
    let outcome = session.cell("Picture(png(40, 30))");
    let display = &outcome.display[0];
    assert_eq!(display.metadata, None);
    let original = fs::read(display.file.as_ref().unwrap()).unwrap();
    assert_eq!(original, image_of(display));
    assert_eq!(image::guess_format(&original).unwrap(), ImageFormat::Png);
    // A figure of an earlier cell never comes back: vndee/llm-sandbox#104.
    let outcome = session.cell("print('no figure')");
    assert!(outcome.display.is_empty());
    assert_eq!(names(folder.path()), ["cell-0002-figure-1.png"]);
}

#[test]
fn hostile_pictures_are_left_out_and_said() {
    let turn = turn();
    let limits = Limits::default().with_image_bytes(20_000);
    let session = turn.open(Session::builder(Language::Python).limits(limits));
    session.cell(PICTURES).succeeded();
    session.cell("whole = png(200, 150)").succeeded();
    for (expression, size, problem) in [
        (
            "whole[:len(whole) // 2]",
            json!([200, 150]),
            "it cannot be read as an image",
        ),
        (
            "png(200, 150, (20000, 20000))",
            json!([20000, 20000]),
            "it has more than 40000000 pixels, and was not scaled",
        ),
        (
            "b'GIF89a' + struct.pack('<HH', 300, 200) + os.urandom(60000)",
            Value::Null,
            "it cannot be read as an image",
        ),
        (
            "os.urandom(60000)",
            Value::Null,
            "it cannot be read as an image",
        ),
        (
            "whole[:40] + os.urandom(60000)",
            Value::Null,
            "it cannot be read as an image",
        ),
    ] {
        session.cell(&format!("data = {expression}")).succeeded();
        let (took, outcome) = timed(|| session.cell("Picture(data)"));
        outcome.succeeded();
        assert!(took < Duration::from_secs(5), "{expression}: {took:?}");
        assert!(
            !outcome.display[0].data.contains_key("image/png"),
            "{expression}"
        );
        let said = note(&outcome);
        let dimensions = json!([said["original"]["width"], said["original"]["height"]]);
        let bytes = session.cell("len(data)").value.unwrap().as_str().to_owned();
        assert_eq!(said["original"]["bytes"].to_string(), bytes, "{expression}");
        assert_eq!(said["shown"], "none", "{expression}");
        if !size.is_null() {
            assert_eq!(dimensions, size, "{expression}");
        }
        assert_eq!(said["problem"], problem, "{expression}");
    }
    // What it is, is told by its content: a bundle may call it anything.
    let outcome = session.cell("class Other:\n    def _repr_jpeg_(self): return whole\nOther()");
    let display = &outcome.display[0];
    let copy = image::load_from_memory(&image_of(display)).unwrap();
    assert!(copy.width() < 200);
    let metadata = display.metadata.as_ref().unwrap();
    assert_eq!(metadata["image/png"]["original"]["mimeType"], "image/jpeg");
    session.cell("print('alive')").printed("alive\n");
}
