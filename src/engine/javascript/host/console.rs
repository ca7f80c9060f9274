//! `console`, as Node has it: what its methods print, and their state between calls.

mod format;
mod table;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::engine::javascript::inspect::{Detail, inspect};
use crate::engine::javascript::realm::{ErrorClass, Kind, Realm};
use crate::engine::javascript::sources::Sources;
use crate::output::Stream;

/// How many counters and timers are kept.
const MAX_LABELS: usize = 1_000;
/// How deep groups indent.
const MAX_GROUPS: usize = 32;

/// The methods that do something of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::javascript) enum Method {
    Log,
    Warn,
    Trace,
    Assert,
    Table,
    Dir,
    Group,
    GroupEnd,
    Count,
    CountReset,
    Time,
    TimeLog,
    TimeEnd,
    Clear,
}

impl Method {
    pub(super) const ALL: [(&'static str, Self); 19] = [
        ("log", Self::Log),
        ("info", Self::Log),
        ("debug", Self::Log),
        ("warn", Self::Warn),
        ("error", Self::Warn),
        ("trace", Self::Trace),
        ("assert", Self::Assert),
        ("table", Self::Table),
        ("dir", Self::Dir),
        ("dirxml", Self::Log),
        ("group", Self::Group),
        ("groupCollapsed", Self::Group),
        ("groupEnd", Self::GroupEnd),
        ("count", Self::Count),
        ("countReset", Self::CountReset),
        ("time", Self::Time),
        ("timeLog", Self::TimeLog),
        ("timeEnd", Self::TimeEnd),
        ("clear", Self::Clear),
    ];
}

/// What `console` remembers.
#[derive(Debug, Default)]
pub(super) struct Console {
    groups: usize,
    counts: HashMap<String, u64>,
    timers: HashMap<String, Instant>,
}

type Printed = Option<(Stream, String)>;

impl Console {
    /// A new cell begins at the margin: a group that an earlier one left open says nothing about it.
    pub(super) fn begin(&mut self) {
        self.groups = 0;
    }

    /// Runs a method: what is to be printed, with its line end.
    pub(super) fn run<R: Realm>(
        &mut self,
        realm: &mut R,
        sources: &Sources,
        method: Method,
        arguments: &[R::Value],
    ) -> Printed {
        let (stream, text) = match method {
            Method::Log => (Stream::Stdout, format::line(realm, sources, arguments)),
            Method::Warn => (Stream::Stderr, format::line(realm, sources, arguments)),
            Method::Trace => (Stream::Stderr, trace(realm, sources, arguments)),
            Method::Assert => (Stream::Stderr, assertion(realm, sources, arguments)?),
            Method::Table => (Stream::Stdout, table::table(realm, sources, arguments)),
            Method::Dir => (Stream::Stdout, dir(realm, sources, arguments)),
            Method::Group => {
                let printed = (!arguments.is_empty()).then(|| {
                    (
                        Stream::Stdout,
                        self.indented(&format::line(realm, sources, arguments)),
                    )
                });
                self.groups = usize::min(self.groups + 1, MAX_GROUPS);
                return printed;
            }
            Method::GroupEnd => {
                self.groups = self.groups.saturating_sub(1);
                return None;
            }
            Method::Count => (Stream::Stdout, self.count(&label(realm, arguments))),
            Method::CountReset => {
                let label = label(realm, arguments);
                match self.counts.remove(&label) {
                    Some(_) => return None,
                    None => (
                        Stream::Stderr,
                        format!("Warning: Count for '{label}' does not exist"),
                    ),
                }
            }
            Method::Time => {
                let label = label(realm, arguments);
                if self.timers.contains_key(&label) {
                    (
                        Stream::Stderr,
                        format!("Warning: Label '{label}' already exists for console.time()"),
                    )
                } else {
                    if self.timers.len() < MAX_LABELS {
                        self.timers.insert(label, Instant::now());
                    }
                    return None;
                }
            }
            Method::TimeLog | Method::TimeEnd => self.elapsed(realm, sources, method, arguments),
            Method::Clear => return None,
        };
        Some((stream, self.indented(&text)))
    }

    /// The text with the margin of its groups, and its line end.
    fn indented(&self, text: &str) -> String {
        if self.groups == 0 {
            return format!("{text}\n");
        }
        let margin = "  ".repeat(self.groups);
        format!("{margin}{}\n", text.replace('\n', &format!("\n{margin}")))
    }

    fn count(&mut self, label: &str) -> String {
        if self.counts.len() >= MAX_LABELS && !self.counts.contains_key(label) {
            self.counts.clear();
        }
        let count = self.counts.entry(label.to_owned()).or_insert(0);
        *count += 1;
        format!("{label}: {count}")
    }

    fn elapsed<R: Realm>(
        &mut self,
        realm: &mut R,
        sources: &Sources,
        method: Method,
        arguments: &[R::Value],
    ) -> (Stream, String) {
        let label = label(realm, arguments);
        let Some(started) = self.timers.get(&label).copied() else {
            let name = if method == Method::TimeEnd {
                "timeEnd"
            } else {
                "timeLog"
            };
            return (
                Stream::Stderr,
                format!("Warning: No such label '{label}' for console.{name}()"),
            );
        };
        let mut text = format!("{label}: {}", duration(started.elapsed()));
        if method == Method::TimeEnd {
            self.timers.remove(&label);
        } else if let Some(rest) = arguments.get(1..).filter(|rest| !rest.is_empty()) {
            text.push(' ');
            text.push_str(&format::line(realm, sources, rest));
        }
        (Stream::Stdout, text)
    }
}

fn label<R: Realm>(realm: &mut R, arguments: &[R::Value]) -> String {
    match arguments.first().map(|label| realm.kind(label)) {
        None | Some(Kind::Undefined) => "default".to_owned(),
        Some(Kind::String(text)) => text.into_lossy(),
        Some(kind) => crate::engine::javascript::inspect::primitive_text(&kind),
    }
}

fn trace<R: Realm>(realm: &mut R, sources: &Sources, arguments: &[R::Value]) -> String {
    let error = realm.error(ErrorClass::Error, "");
    let stack = realm.stack(&error).unwrap_or_default();
    let message = format::line(realm, sources, arguments);
    let mut text = if message.is_empty() {
        "Trace".to_owned()
    } else {
        format!("Trace: {message}")
    };
    for frame in sources.frames(&stack) {
        text.push_str(&format!("\n    at {frame}"));
    }
    text
}

/// What a failed assertion prints; nothing when it holds.
fn assertion<R: Realm>(realm: &mut R, sources: &Sources, arguments: &[R::Value]) -> Option<String> {
    let holds = match arguments.first().map(|condition| realm.kind(condition)) {
        None | Some(Kind::Undefined | Kind::Null) => false,
        Some(Kind::Boolean(value)) => value,
        Some(Kind::Number(number)) => number != 0.0 && !number.is_nan(),
        Some(Kind::BigInt(digits)) => digits != "0",
        Some(Kind::String(text)) => !text.into_lossy().is_empty(),
        Some(Kind::Symbol(_) | Kind::Object(_)) => true,
    };
    if holds {
        return None;
    }
    let rest = arguments.get(1..).unwrap_or_default();
    Some(match rest {
        [] => "Assertion failed".to_owned(),
        rest => format!("Assertion failed: {}", format::line(realm, sources, rest)),
    })
}

fn dir<R: Realm>(realm: &mut R, sources: &Sources, arguments: &[R::Value]) -> String {
    let Some(value) = arguments.first() else {
        return "undefined".to_owned();
    };
    let mut detail = Detail::CONSOLE;
    if let Some(options) = arguments.get(1)
        && let Kind::Object(_) = realm.kind(options)
        && realm.kind(options) != Kind::Object(crate::engine::javascript::realm::Class::Proxy)
    {
        let depth = realm.key("depth");
        if let Some(depth) = realm
            .property(options, &depth)
            .and_then(|property| property.into_value())
        {
            match realm.kind(&depth) {
                Kind::Number(depth) if depth >= 0.0 => detail.depth = depth as usize,
                Kind::Null => detail.depth = usize::MAX,
                _ => {}
            }
        }
    }
    inspect(realm, sources, value, detail)
}

/// A duration as Node prints it: `1.234ms`, `5.678s`, `2:03.456 (m:ss.mmm)`.
fn duration(elapsed: Duration) -> String {
    let milliseconds = elapsed.as_secs_f64() * 1e3;
    if milliseconds < 1e3 {
        let rounded = (milliseconds * 1e3).round() / 1e3;
        return format!("{rounded}ms");
    }
    let seconds = milliseconds / 1e3;
    if seconds < 60.0 {
        return format!("{seconds:.3}s");
    }
    let minutes = (seconds / 60.0) as u64;
    if minutes < 60 {
        return format!("{minutes}:{:06.3} (m:ss.mmm)", seconds % 60.0);
    }
    format!(
        "{}:{:02}:{:02} (h:mm:ss)",
        minutes / 60,
        minutes % 60,
        seconds as u64 % 60
    )
}
