//! `console.table`.

use unicode_width::UnicodeWidthStr;

use super::format;
use crate::engine::javascript::inspect::{Detail, inspect};
use crate::engine::javascript::realm::{Class, KeyName, Kind, Realm};
use crate::engine::javascript::sources::Sources;

/// How many rows and columns a table has at most.
const MAX_ROWS: usize = 1_000;
const MAX_COLUMNS: usize = 100;

/// The first argument as a table; what is no object is printed as a line.
pub(super) fn table<R: Realm>(realm: &mut R, sources: &Sources, arguments: &[R::Value]) -> String {
    let Some(data) = arguments.first() else {
        return String::new();
    };
    let rows = match realm.kind(data) {
        Kind::Object(Class::Map(_) | Class::Set(_)) => entries(realm, data),
        Kind::Object(Class::Proxy | Class::Function) => {
            return format::line(realm, sources, arguments);
        }
        Kind::Object(_) => properties(realm, data, MAX_ROWS),
        _ => return format::line(realm, sources, arguments),
    };
    let wanted = arguments.get(1).map(|columns| texts(realm, columns));
    let index = match realm.kind(data) {
        Kind::Object(Class::Map(_) | Class::Set(_)) => "(iteration index)",
        _ => "(index)",
    };
    let mut head = vec![index.to_owned()];
    head.extend(wanted.iter().flatten().cloned());
    let mut lines: Vec<Vec<Option<String>>> = Vec::new();
    let mut has_values = false;
    let mut values = Vec::new();
    for (name, row) in rows {
        let mut line = vec![Some(name)];
        line.resize(head.len(), None);
        let cells = match realm.kind(&row) {
            Kind::Object(Class::Proxy | Class::Function) => None,
            Kind::Object(_) => Some(properties(realm, &row, MAX_COLUMNS)),
            _ => None,
        };
        match cells {
            Some(cells) => {
                for (column, value) in cells {
                    if wanted
                        .as_ref()
                        .is_some_and(|wanted| !wanted.contains(&column))
                    {
                        continue;
                    }
                    let place = head
                        .iter()
                        .skip(1)
                        .position(|known| *known == column)
                        .map(|place| place + 1);
                    let place = place.unwrap_or_else(|| {
                        head.push(column);
                        head.len() - 1
                    });
                    line.resize(line.len().max(place + 1), None);
                    line[place] = Some(cell(realm, sources, &value));
                }
                values.push(None);
            }
            None => {
                has_values = true;
                values.push(Some(cell(realm, sources, &row)));
            }
        }
        lines.push(line);
    }
    if has_values {
        head.push("Values".to_owned());
        for (line, value) in lines.iter_mut().zip(values) {
            line.resize(head.len() - 1, None);
            line.push(value);
        }
    }
    draw(&head, &lines)
}

fn entries<R: Realm>(realm: &mut R, collection: &R::Value) -> Vec<(String, R::Value)> {
    let mut rows = Vec::new();
    for (index, (key, value)) in realm.entries(collection, MAX_ROWS).into_iter().enumerate() {
        let row = match value {
            Some(value) => {
                realm.object(vec![("Key".to_owned(), key), ("Values".to_owned(), value)])
            }
            None => key,
        };
        rows.push((index.to_string(), row));
    }
    rows
}

fn properties<R: Realm>(realm: &mut R, object: &R::Value, limit: usize) -> Vec<(String, R::Value)> {
    let mut found = Vec::new();
    for key in realm.keys(object) {
        if found.len() == limit {
            break;
        }
        if let KeyName::String(name) = realm.key_name(&key)
            && let Some(property) = realm.property(object, &key)
            && property.enumerable
            && let Some(value) = property.into_value()
        {
            found.push((name.into_lossy(), value));
        }
    }
    found
}

fn texts<R: Realm>(realm: &mut R, array: &R::Value) -> Vec<String> {
    let mut texts = Vec::new();
    for (_, value) in properties(realm, array, MAX_COLUMNS) {
        if let Kind::String(text) = realm.kind(&value) {
            texts.push(text.into_lossy());
        }
    }
    texts
}

/// A value on one line.
fn cell<R: Realm>(realm: &mut R, sources: &Sources, value: &R::Value) -> String {
    let detail = Detail {
        depth: 0,
        bytes: 1_000,
        string: 1_000,
    };
    inspect(realm, sources, value, detail).replace('\n', " ")
}

fn draw(head: &[String], lines: &[Vec<Option<String>>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|name| name.width()).collect();
    for line in lines {
        for (column, text) in line.iter().enumerate() {
            widths[column] = widths[column].max(text.as_deref().map_or(0, UnicodeWidthStr::width));
        }
    }
    let rule = |left: &str, middle: &str, right: &str| {
        let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        format!("{left}{}{right}", bars.join(middle))
    };
    let row = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells
            .zip(&widths)
            .map(|(text, width)| padded(text, *width))
            .collect();
        format!("│{}│", cells.join("│"))
    };
    let mut text = rule("┌", "┬", "┐");
    text.push('\n');
    text.push_str(&row(&mut head.iter().map(String::as_str)));
    text.push('\n');
    text.push_str(&rule("├", "┼", "┤"));
    for line in lines {
        let missing = std::iter::repeat_n("", head.len().saturating_sub(line.len()));
        text.push('\n');
        text.push_str(&row(&mut line
            .iter()
            .map(|cell| cell.as_deref().unwrap_or(""))
            .chain(missing)));
    }
    text.push('\n');
    text.push_str(&rule("└", "┴", "┘"));
    text
}

fn padded(text: &str, space: usize) -> String {
    let free = space.saturating_sub(text.width());
    format!(" {text}{} ", " ".repeat(free))
}
