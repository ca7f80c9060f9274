//! A line of `console.log`: format specifiers in the first argument, the others after it.

use crate::engine::javascript::inspect::{Detail, inspect, number_text, primitive_text};
use crate::engine::javascript::realm::{Class, Kind, Realm};
use crate::engine::javascript::sources::Sources;
use crate::engine::javascript::values::{Measure, to_json};

/// The arguments as one text.
pub(super) fn line<R: Realm>(realm: &mut R, sources: &Sources, arguments: &[R::Value]) -> String {
    let mut rest = arguments;
    let mut text = String::new();
    if let [first, others @ ..] = arguments
        && let Kind::String(format) = realm.kind(first)
    {
        let format = format.into_lossy();
        rest = others;
        if others.is_empty() || !format.contains('%') {
            text = format;
        } else {
            substitute(realm, sources, &format, &mut rest, &mut text);
        }
        if !rest.is_empty() {
            text.push(' ');
        }
    }
    for (index, value) in rest.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(&shown(realm, sources, value));
    }
    text
}

/// A string as it is, anything else inspected.
fn shown<R: Realm>(realm: &mut R, sources: &Sources, value: &R::Value) -> String {
    match realm.kind(value) {
        Kind::String(text) => text.into_lossy(),
        Kind::Object(_) => inspect(realm, sources, value, Detail::CONSOLE),
        primitive => primitive_text(&primitive),
    }
}

fn substitute<R: Realm>(
    realm: &mut R,
    sources: &Sources,
    format: &str,
    rest: &mut &[R::Value],
    text: &mut String,
) {
    let mut parts = format.split('%');
    text.push_str(parts.next().unwrap_or(""));
    let mut is_escaped = false;
    for part in parts {
        if std::mem::take(&mut is_escaped) {
            text.push_str(part);
            continue;
        }
        let Some(specifier) = part.chars().next() else {
            // `%%`: the next part follows the second sign.
            text.push('%');
            is_escaped = true;
            continue;
        };
        let known = "sdifjoOc".contains(specifier);
        let Some((value, others)) = rest.split_first().filter(|_| known) else {
            text.push('%');
            text.push_str(part);
            continue;
        };
        *rest = others;
        text.push_str(&specified(realm, sources, specifier, value));
        text.push_str(&part[1..]);
    }
}

fn specified<R: Realm>(
    realm: &mut R,
    sources: &Sources,
    specifier: char,
    value: &R::Value,
) -> String {
    let kind = realm.kind(value);
    let of_depth = |depth| Detail {
        depth,
        ..Detail::CONSOLE
    };
    match specifier {
        's' => match kind {
            Kind::Object(Class::Function) => match realm.function_source(value) {
                // The engines break the lines of a native function.
                Some(source) if source.contains("[native code]") => {
                    source.split_whitespace().collect::<Vec<_>>().join(" ")
                }
                Some(source) if source != "class" => source,
                _ => inspect(realm, sources, value, of_depth(0)),
            },
            Kind::Object(_) => inspect(realm, sources, value, of_depth(0)),
            primitive => primitive_text(&primitive),
        },
        'd' | 'i' | 'f' => match kind {
            Kind::BigInt(digits) if specifier != 'f' => format!("{digits}n"),
            kind => number_text(number(&kind, specifier)),
        },
        'j' => to_json(realm, value, Measure::of(1 << 20), &|| false)
            .unwrap_or_else(|_| "undefined".to_owned()),
        'o' => inspect(realm, sources, value, of_depth(4)),
        'O' => inspect(realm, sources, value, of_depth(2)),
        _ => String::new(),
    }
}

/// A value as the number that `%d`, `%i` or `%f` makes of it.
fn number(kind: &Kind, specifier: char) -> f64 {
    let number = match kind {
        Kind::Number(number) => *number,
        Kind::Boolean(value) if specifier == 'd' => f64::from(u8::from(*value)),
        Kind::Null if specifier == 'd' => 0.0,
        Kind::String(text) => {
            let text = text.clone().into_lossy();
            let text = text.trim();
            match specifier {
                'd' => whole_number(text),
                'i' if text.starts_with("0x") || text.starts_with("0X") => whole_number(text),
                _ => leading_number(text),
            }
        }
        _ => f64::NAN,
    };
    if specifier == 'i' {
        number.trunc()
    } else {
        number
    }
}

/// The number that a text is as a whole.
fn whole_number(text: &str) -> f64 {
    if text.is_empty() {
        return 0.0;
    }
    for (prefixes, radix) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        if let Some(digits) = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)) {
            let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
            return match is_number {
                true => {
                    u64::from_str_radix(digits, radix).map_or(f64::INFINITY, |number| number as f64)
                }
                false => f64::NAN,
            };
        }
    }
    match text.trim_start_matches(['+', '-']) {
        // Rust has more words for numbers.
        "Infinity" => text.parse().unwrap_or(f64::NAN),
        digits if digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

/// The number that a text begins with.
fn leading_number(text: &str) -> f64 {
    let end = text
        .char_indices()
        .take_while(|(index, character)| {
            character.is_ascii_digit()
                || *character == '.'
                || (*index == 0 && matches!(character, '-' | '+'))
        })
        .last()
        .map_or(0, |(index, _)| index + 1);
    text[..end].parse().unwrap_or(f64::NAN)
}
