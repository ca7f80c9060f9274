//! A host's JSON into the session, as a JavaScript value.

use crate::engine::javascript::realm::Realm;
use crate::outcome::Json;

/// A host's JSON as a value of the realm, without recursion that the text could drive too deep: `serde_json` refuses more
/// than 127 levels.
pub(in crate::engine::javascript) fn from_json<R: Realm>(
    realm: &mut R,
    text: &str,
) -> Result<R::Value, String> {
    let parsed: Ordered = serde_json::from_str(text).map_err(|error| explain(&error))?;
    Ok(build(realm, parsed))
}

/// How deep an answer of the host's may nest: everything that walks values stands that much.
const ANSWER_DEPTH: usize = 1_000;

/// The same for what a host function answers, which may be nested deeper.
pub(in crate::engine::javascript) fn from_answer<R: Realm>(
    realm: &mut R,
    json: &Json,
) -> Result<R::Value, String> {
    let levels = json.nesting();
    if levels > ANSWER_DEPTH {
        return Err(format!(
            "it is nested by {levels} levels, and at most {ANSWER_DEPTH} are taken"
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_str(json.as_str());
    deserializer.disable_recursion_limit();
    let parsed = serde::Deserialize::deserialize(&mut deserializer);
    let parsed: Ordered = parsed.map_err(|error| error.to_string())?;
    Ok(build(realm, parsed))
}

fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    // serde_json tells its errors apart by their text alone.
    if message.starts_with("recursion limit exceeded") {
        return format!(
            "the value is nested deeper than 127 levels at line {} column {}\nhint: hand it over flatter, or as a string for \
             `JSON.parse`",
            error.line(),
            error.column()
        );
    }
    format!("the value cannot be taken over: {message}")
}

/// JSON with its keys in their order.
enum Ordered {
    Null,
    Boolean(bool),
    Number(f64),
    String(String),
    Array(Vec<Ordered>),
    Object(Vec<(String, Ordered)>),
}

fn build<R: Realm>(realm: &mut R, value: Ordered) -> R::Value {
    match value {
        Ordered::Null => realm.null(),
        Ordered::Boolean(value) => realm.boolean(value),
        Ordered::Number(number) => realm.number(number),
        Ordered::String(text) => realm.string(&text),
        Ordered::Array(items) => {
            let items = items.into_iter().map(|item| build(realm, item)).collect();
            realm.array(items)
        }
        Ordered::Object(entries) => {
            let entries = entries
                .into_iter()
                .map(|(name, value)| (name, build(realm, value)))
                .collect();
            realm.object(entries)
        }
    }
}

impl<'de> serde::Deserialize<'de> for Ordered {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrderedVisitor)
    }
}

struct OrderedVisitor;

impl<'de> serde::de::Visitor<'de> for OrderedVisitor {
    type Value = Ordered;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Ordered, E> {
        Ok(Ordered::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Ordered, E> {
        Ok(Ordered::Boolean(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Ordered, E> {
        let number = value as f64;
        if number as i64 == value && value != i64::MAX {
            Ok(Ordered::Number(number))
        } else {
            Err(inexact(value))
        }
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Ordered, E> {
        let number = value as f64;
        if number as u64 == value && value != u64::MAX {
            Ok(Ordered::Number(number))
        } else {
            Err(inexact(value))
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<Ordered, E> {
        Ok(Ordered::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Ordered, E> {
        Ok(Ordered::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Ordered, E> {
        Ok(Ordered::String(value))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Ordered, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Ordered::Array(all))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Ordered, A::Error> {
        let mut all = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            all.push(entry);
        }
        Ok(Ordered::Object(all))
    }
}

fn inexact<E: serde::de::Error>(value: impl std::fmt::Display) -> E {
    E::custom(format!(
        "{value} is no JavaScript number: hand it over as a string"
    ))
}
