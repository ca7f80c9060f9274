//! [`Budgets`]: from what a cell showed to what its outcome carries of it.
//!
//! Every form of an entry has a budget, and all entries together have one, of which each gets what it needs as long as that
//! is no more than an even share. An image over its budget is scaled, plain text is cut, anything else is left out; the
//! entry's metadata says which, with exact sizes. Where there is a place for artifacts, images and whatever is large lie
//! there whole.
//!
//! This is the work of whoever settles a cell, with no lock held.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::images::{self, Scaled, Unscaled};
use super::{Ledger, share};
use crate::artifacts::{Artifacts, LARGE_BYTES};
use crate::limits::Limits;
use crate::outcome::{Display, Note, Original, Shown};

const PLAIN: &str = "text/plain";

/// How many forms an entry may have, and how long the name of one may be.
const MOST_FORMS: usize = 32;
const MIME_BYTES: usize = 128;

/// What a program may say of an entry besides, as JSON.
const METADATA_BYTES: usize = 16 << 10;

/// How long the name may be by which a program updates an entry.
const ID_BYTES: usize = 256;

/// In less, neither a text nor an image says anything.
const LEAST_BYTES: usize = 512;

/// How long the images of one outcome may take: then no more of them is begun.
const SCALING: Duration = Duration::from_millis(1500);

/// What the entries of an outcome may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budgets {
    /// An image, as base64.
    image: usize,
    /// Plain text, which is cut.
    text: usize,
    /// All forms of all entries.
    all: usize,
}

impl Budgets {
    pub(super) fn of(limits: &Limits) -> Self {
        Self {
            image: limits.image_bytes,
            text: limits.output_bytes,
            all: limits.display_bytes,
        }
    }

    /// Makes the entries fit.
    pub(super) fn fit(&self, entries: Vec<Display>, artifacts: Option<&Artifacts>) -> Vec<Display> {
        let wanted: Vec<usize> = entries.iter().map(|entry| self.wanted(entry)).collect();
        let rooms = share(&wanted, self.all);
        let mut fitting = Fitting {
            budgets: *self,
            artifacts,
            images: 0,
            scales_until: None,
        };
        // What an entry leaves of its share is there for those after it: most forms go whole or not at all.
        let mut spare = 0;
        let numbered = entries.into_iter().zip(rooms).zip(1..);
        numbered
            .map(|((shown, room), number)| {
                let (entry, left) = fitting.entry(shown, number, room + spare);
                spare = left;
                entry
            })
            .collect()
    }

    /// What an entry takes if all are given room.
    fn wanted(&self, entry: &Display) -> usize {
        let forms = entry.data.iter().map(|(mime, content)| {
            let budget = match images::extension(mime) {
                Some(_) => self.image,
                None => self.of_text(mime),
            };
            mime.len() + size(content).min(budget)
        });
        let metadata = entry.metadata.as_ref().map_or(0, size_of_map);
        let id = entry.id.as_ref().map_or(0, String::len);
        forms.sum::<usize>() + metadata.min(METADATA_BYTES) + id.min(ID_BYTES)
    }

    /// What a form may take that is no image. HTML and JSON are not cut, so the room for all is theirs.
    fn of_text(&self, mime: &str) -> usize {
        match mime {
            PLAIN => self.text,
            _ => self.all,
        }
    }
}

/// The entries of one outcome, one after the other.
struct Fitting<'a> {
    budgets: Budgets,
    artifacts: Option<&'a Artifacts>,
    /// How many images there were.
    images: usize,
    scales_until: Option<Instant>,
}

/// What became of a form.
struct Fitted {
    /// A copy of an image may be of another type.
    mime: String,
    content: Option<Value>,
    note: Option<Note>,
    file: Option<String>,
}

impl Fitting<'_> {
    /// Gives the room that it leaves, too.
    fn entry(&mut self, mut entry: Display, number: usize, room: usize) -> (Display, usize) {
        entry.forget_notes();
        let mut left = room;
        let left_out = |bytes: usize| {
            let original = Original {
                bytes: bytes as u64,
                ..Original::default()
            };
            Note::new(Shown::None, original)
        };
        let metadata = entry.metadata.as_ref().map_or(0, size_of_map);
        if metadata > METADATA_BYTES.min(left) {
            entry.metadata = None;
            entry.set_note("metadata", &left_out(metadata));
        } else {
            left -= metadata;
        }
        let id = entry.id.as_ref().map_or(0, String::len);
        if id > ID_BYTES.min(left) {
            entry.id = None;
            entry.set_note("displayId", &left_out(id));
        } else {
            left -= id;
        }
        let mut forms: Vec<(String, Value)> = std::mem::take(&mut entry.data).into_iter().collect();
        let all = forms.len();
        forms.retain(|(mime, _)| mime.len() <= MIME_BYTES);
        // The small ones first: they are there for readers that cannot take the others.
        forms.sort_by_cached_key(|(_, content)| size(content));
        forms.truncate(MOST_FORMS);
        let unnamed = all - forms.len();
        if unnamed > 0 {
            let metadata = entry.metadata.get_or_insert_default();
            metadata.insert("formsLeftOut".to_owned(), unnamed.into());
        }
        let mut files: [Option<String>; 2] = [None, None];
        for (mime, content) in forms {
            let is_image = images::extension(&mime).is_some();
            let fitted = self.form(mime, content, number, left);
            if let Some(note) = &fitted.note {
                entry.set_note(&fitted.mime, note);
            }
            if let Some(file) = fitted.file {
                files[usize::from(!is_image)].get_or_insert(file);
            }
            if let Some(content) = fitted.content {
                left = left.saturating_sub(fitted.mime.len() + size(&content));
                entry.data.insert(fitted.mime, content);
            }
        }
        entry.file = files.into_iter().flatten().next();
        (entry, left)
    }

    fn form(&mut self, mime: String, content: Value, number: usize, left: usize) -> Fitted {
        let left = left.saturating_sub(mime.len());
        match (images::extension(&mime), content) {
            (Some(extension), Value::String(data)) => self.image(mime, extension, data, left),
            (_, content) => self.text(mime, content, number, left),
        }
    }

    /// An image is a file in any case, where there is a place: it is more to a person than its base64.
    fn image(&mut self, mime: String, extension: &str, data: String, left: usize) -> Fitted {
        let budget = self.budgets.image.min(left);
        let fits = data.len() <= budget;
        let decoded = match fits && self.artifacts.is_none() {
            true => None,
            false => decode(&data),
        };
        self.images += 1;
        let file = self.artifacts.and_then(|artifacts| {
            artifacts.keep(
                &format!("figure-{}", self.images),
                extension,
                decoded.as_ref()?,
            )
        });
        if fits {
            return Fitted {
                mime,
                content: Some(Value::String(data)),
                note: None,
                file,
            };
        }
        let bytes = decoded.as_ref().map_or(data.len(), Vec::len) as u64;
        let original = |size: Option<(u32, u32)>| Original {
            bytes,
            width: size.map(|(width, _)| width),
            height: size.map(|(_, height)| height),
            file: file.clone(),
            ..Original::default()
        };
        match self.scale(decoded.as_deref(), budget) {
            Ok(scaled) => {
                let mut original = original(Some(scaled.original));
                original.mime_type = (mime != scaled.mime).then_some(mime);
                Fitted {
                    mime: scaled.mime.to_owned(),
                    content: Some(Value::String(STANDARD.encode(&scaled.bytes))),
                    note: Some(Note::new(Shown::Scaled, original)),
                    file,
                }
            }
            Err(unscaled) => {
                let mut note = Note::new(Shown::None, original(unscaled.original));
                note.problem = Some(unscaled.problem);
                Fitted {
                    mime,
                    content: None,
                    note: Some(note),
                    file,
                }
            }
        }
    }

    fn scale(&mut self, image: Option<&[u8]>, budget: usize) -> Result<Scaled, Unscaled> {
        let refused = |problem: &str| {
            Err(Unscaled {
                original: None,
                problem: problem.to_owned(),
            })
        };
        let Some(image) = image else {
            return refused("it is not base64");
        };
        if budget < LEAST_BYTES {
            return refused("there is no room for it");
        }
        let until = self
            .scales_until
            .get_or_insert_with(|| Instant::now() + SCALING);
        if Instant::now() >= *until {
            return refused("there was no time to scale it");
        }
        images::scale(image, budget / 4 * 3)
    }

    fn text(&mut self, mime: String, content: Value, number: usize, left: usize) -> Fitted {
        let bytes = size(&content);
        let budget = self.budgets.of_text(&mime).min(left);
        let fits = bytes <= budget;
        let file = match self.artifacts {
            Some(artifacts) if !fits || bytes >= LARGE_BYTES => {
                let name = format!("display-{number}");
                match &content {
                    Value::String(text) => artifacts.keep(&name, extension(&mime), text.as_bytes()),
                    other => artifacts.keep(&name, "json", other.to_string().as_bytes()),
                }
            }
            _ => None,
        };
        let mut original = Original {
            bytes: bytes as u64,
            file: file.clone(),
            ..Original::default()
        };
        let (content, note) = match content {
            content if fits => (Some(content), None),
            Value::String(text) if mime == PLAIN && budget >= LEAST_BYTES => {
                let mut ledger = Ledger::new(budget);
                ledger.push(text.as_bytes());
                let (text, cut) = ledger.take();
                let note = cut.map(|cut| {
                    original.lines = Some(cut.lines);
                    let mut note = Note::new(Shown::Cut, original);
                    note.bytes_left_out = Some(cut.bytes_left_out);
                    note.lines_left_out = Some(cut.lines_left_out);
                    note
                });
                (Some(Value::String(text)), note)
            }
            _ => (None, Some(Note::new(Shown::None, original))),
        };
        Fitted {
            mime,
            content,
            note,
            file,
        }
    }
}

/// How many bytes there are in an entry.
pub(super) fn size_of_entry(entry: &Display) -> usize {
    let forms = entry
        .data
        .iter()
        .map(|(mime, content)| mime.len() + size(content));
    let metadata = entry.metadata.as_ref().map_or(0, size_of_map);
    forms.sum::<usize>() + metadata + entry.id.as_ref().map_or(0, String::len)
}

/// How many bytes there are in a form: of a text itself, of anything else as JSON.
fn size(content: &Value) -> usize {
    match content {
        Value::String(text) => text.len(),
        other => counted(|counter| serde_json::to_writer(counter, other)),
    }
}

fn size_of_map(map: &Map<String, Value>) -> usize {
    counted(|counter| serde_json::to_writer(counter, map))
}

fn counted(write: impl FnOnce(&mut Counter) -> serde_json::Result<()>) -> usize {
    let mut counter = Counter(0);
    // Nothing that is JSON already fails, and a counter takes everything.
    let _ = write(&mut counter);
    counter.0
}

struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Base64 as programs write it: notebooks break it into lines.
fn decode(data: &str) -> Option<Vec<u8>> {
    if !data.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return STANDARD.decode(data).ok();
    }
    let digits: Vec<u8> = data
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    STANDARD.decode(digits).ok()
}

/// What a file of that type ends with.
fn extension(mime: &str) -> &'static str {
    match mime {
        "text/html" => "html",
        "text/markdown" => "md",
        "text/latex" => "tex",
        "image/svg+xml" => "svg",
        mime if mime.ends_with("json") => "json",
        "text/javascript" | "application/javascript" => "js",
        _ => "txt",
    }
}

#[cfg(test)]
mod tests;
