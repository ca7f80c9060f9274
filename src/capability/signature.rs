//! [`Signature`]: the parameters of an action, and how what a cell gives is bound to them before anything is sent.
//!
//! Languages have positions and names, a host has one JSON object. A signature is a JSON Schema of that object; the order of
//! its parameters is that of `required`, then that of the other `properties` as they stand in the text.

#[cfg(test)]
mod tests;
#[cfg(feature = "schemars")]
mod typed;

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::outcome::Json;

/// The parameters of an action.
///
/// # Examples
///
/// ```
/// use warmcell::Signature;
///
/// let built = Signature::new()
///     .required("path", "string", "which file")
///     .optional("lines", "integer", "how many of its lines");
/// let read = Signature::from_schema(
///     r#"{"type": "object", "required": ["path"],
///         "properties": {"lines": {"type": "integer"}, "path": {"type": "string"}}}"#,
/// )?;
/// assert_eq!(built.names(), ["path", "lines"]);
/// assert_eq!(read.names(), ["path", "lines"]);
/// # Ok::<(), warmcell::InvalidSignature>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    parameters: Vec<Parameter>,
    /// Names that are not among them are taken as well.
    is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    name: String,
    is_required: bool,
    /// The sorts of JSON it takes; any where none is named.
    sorts: Vec<Sort>,
    /// The texts it takes, where its schema lists nothing but texts.
    choices: Vec<String>,
    description: String,
    /// Its own schema, for whoever shows the signature.
    schema: Json,
}

/// What is to be said of a parameter.
#[derive(Debug, PartialEq)]
pub(super) struct Described<'a> {
    pub(super) name: &'a str,
    pub(super) is_required: bool,
    /// The sorts of JSON that it takes, as JSON Schema names them.
    pub(super) sorts: Vec<&'static str>,
    /// The texts that it takes, where its schema lists them.
    pub(super) choices: &'a [String],
    pub(super) description: &'a str,
}

/// The sorts of JSON values that a schema's `type` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sort {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

/// A schema that is none of an action's parameters.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSignature(String);

impl Signature {
    /// Without parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same signature with another parameter, which must be given. `sort` is what JSON Schema calls `type`, and empty for
    /// any.
    pub fn required(self, name: &str, sort: &str, description: &str) -> Self {
        self.with(name, sort, description, true)
    }

    /// The same signature with another parameter, which may be left out.
    pub fn optional(self, name: &str, sort: &str, description: &str) -> Self {
        self.with(name, sort, description, false)
    }

    fn with(mut self, name: &str, sort: &str, description: &str, is_required: bool) -> Self {
        let mut schema = serde_json::Map::new();
        if !sort.is_empty() {
            schema.insert("type".to_owned(), sort.into());
        }
        schema.insert("description".to_owned(), description.into());
        self.parameters.push(Parameter {
            name: name.to_owned(),
            is_required,
            sorts: Sort::read(sort).into_iter().collect(),
            choices: Vec::new(),
            description: description.to_owned(),
            schema: Json::from_converter(serde_json::Value::Object(schema).to_string()),
        });
        self
    }

    /// Reads a JSON Schema of an object.
    ///
    /// # Errors
    ///
    /// When the text is no JSON, or its `type` is not `object`.
    pub fn from_schema(schema: &str) -> Result<Self, InvalidSignature> {
        let invalid = |text: String| InvalidSignature(text);
        let read: Schema = serde_json::from_str(schema)
            .map_err(|error| invalid(format!("not a JSON Schema of an object: {error}")))?;
        if read.sort.is_some_and(|sort| sort != "object") {
            return Err(invalid(
                "the JSON Schema of parameters must be of `type` \"object\"".to_owned(),
            ));
        }
        let is_silent = read.properties.0.is_empty() && read.required.is_empty();
        let mut parameters = Vec::new();
        for name in &read.required {
            let schema = read.properties.0.iter().find(|(known, _)| known == name);
            let schema = schema.map_or("{}", |(_, schema)| schema.get());
            parameters.push(Parameter::read(name, true, schema).map_err(invalid)?);
        }
        for (name, schema) in &read.properties.0 {
            if !read.required.contains(name) {
                parameters.push(Parameter::read(name, false, schema.get()).map_err(invalid)?);
            }
        }
        Ok(Self {
            parameters,
            // A schema that says nothing of names takes any; one that lists them means those, where it does not say more.
            is_open: match read.additional {
                Some(additional) => additional.get().trim() != "false",
                None => is_silent,
            },
        })
    }

    /// The names of the parameters, in order.
    pub fn names(&self) -> Vec<&str> {
        let parameters = self.parameters.iter();
        parameters.map(|parameter| &*parameter.name).collect()
    }

    /// What is to be said of each parameter.
    pub(super) fn parameters(&self) -> impl Iterator<Item = Described<'_>> {
        self.parameters.iter().map(Parameter::described)
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether an object in the place of this position stands for named arguments: where a parameter there takes objects,
    /// only if it names parameters that have no argument yet, and nothing else.
    fn is_for_names(&self, position: usize, names: &[(String, &RawValue)]) -> bool {
        let takes_objects = self.parameters.get(position).is_some_and(|parameter| {
            parameter.sorts.is_empty() || parameter.sorts.contains(&Sort::Object)
        });
        let (given, left) = self
            .parameters
            .split_at(position.min(self.parameters.len()));
        let is_of = |parameters: &[Parameter], name: &str| {
            parameters.iter().any(|parameter| parameter.name == name)
        };
        if takes_objects {
            return !names.is_empty() && names.iter().all(|(name, _)| is_of(left, name));
        }
        names
            .iter()
            .all(|(name, _)| self.is_open || is_of(given, name) || is_of(left, name))
    }
}

/// What a cell gives, as JSON texts.
pub(crate) struct Binding<'a> {
    /// An array.
    pub(crate) positional: &'a str,
    /// An object.
    pub(crate) named: &'a str,
    /// The language has no named arguments: an object at the end stands for them.
    pub(crate) last_may_name: bool,
}

impl Signature {
    /// Makes one object of what a cell gives; or says what is wrong with it, beginning after the function's name.
    pub(crate) fn bind(&self, given: &Binding<'_>) -> Result<Json, String> {
        let unreadable =
            |error: serde_json::Error| format!("got arguments that are no JSON: {error}");
        let mut positional: Vec<&RawValue> =
            serde_json::from_str(given.positional).map_err(unreadable)?;
        let mut named: Ordered<&RawValue> =
            serde_json::from_str(given.named).map_err(unreadable)?;
        if given.last_may_name
            && let Some(last) = positional.last()
            && let Ok(names) = serde_json::from_str::<Ordered<&RawValue>>(last.get())
            && self.is_for_names(positional.len() - 1, &names.0)
        {
            named = names;
            positional.pop();
        }
        if positional.len() > self.parameters.len() {
            let (most, count) = (self.parameters.len(), positional.len());
            return Err(match most {
                0 => format!("takes no arguments, and {count} were given"),
                _ => format!("takes at most {most} arguments, and {count} were given"),
            });
        }
        let mut object = String::from("{");
        for (index, parameter) in self.parameters.iter().enumerate() {
            let by_name = named.take(&parameter.name);
            let value = match (positional.get(index), by_name) {
                (Some(_), Some(_)) => return Err(format!("got `{}` twice", parameter.name)),
                (Some(value), None) => *value,
                (None, Some(value)) => value,
                (None, None) if parameter.is_required => {
                    return Err(format!("needs the argument `{}`", parameter.name));
                }
                (None, None) => continue,
            };
            parameter.check(value.get())?;
            push(&mut object, &parameter.name, value.get());
        }
        for (name, value) in &named.0 {
            if !self.is_open {
                let known = self.names();
                return Err(match known.is_empty() {
                    true => format!("has no parameter `{name}`: it takes none"),
                    false => format!("has no parameter `{name}`, but {}", listed(&known)),
                });
            }
            push(&mut object, name, value.get());
        }
        object.push('}');
        Ok(Json::from_converter(object))
    }
}

fn push(object: &mut String, name: &str, value: &str) {
    if object.len() > 1 {
        object.push(',');
    }
    object.push_str(&serde_json::Value::from(name).to_string());
    object.push(':');
    object.push_str(value);
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl Parameter {
    fn read(name: &str, is_required: bool, schema: &str) -> Result<Self, String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Read {
            #[serde(rename = "type")]
            sort: serde_json::Value,
            #[serde(rename = "enum")]
            choices: Vec<serde_json::Value>,
            description: String,
        }
        let read: Read = match schema.trim() {
            "true" => Read::default(),
            schema => serde_json::from_str(schema)
                .map_err(|error| format!("the schema of the parameter `{name}`: {error}"))?,
        };
        let sorts = match &read.sort {
            serde_json::Value::String(sort) => Sort::read(sort).into_iter().collect(),
            serde_json::Value::Array(sorts) => sorts
                .iter()
                .filter_map(serde_json::Value::as_str)
                .filter_map(Sort::read)
                .collect(),
            _ => Vec::new(),
        };
        let texts: Option<Vec<String>> = read
            .choices
            .iter()
            .map(|choice| choice.as_str().map(str::to_owned))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            is_required,
            sorts,
            choices: texts.unwrap_or_default(),
            description: read.description,
            schema: Json::new(schema).map_err(|error| error.to_string())?,
        })
    }

    fn described(&self) -> Described<'_> {
        Described {
            name: &self.name,
            is_required: self.is_required,
            sorts: self.sorts.iter().map(|sort| sort.as_str()).collect(),
            choices: &self.choices,
            description: &self.description,
        }
    }

    fn check(&self, value: &str) -> Result<(), String> {
        // One that may be left out may be given as nothing.
        if !self.is_required && value.trim() == "null" {
            return Ok(());
        }
        if self.sorts.is_empty() || self.sorts.iter().any(|sort| sort.takes(value)) {
            return self.check_choice(value);
        }
        let wanted: Vec<&str> = self.sorts.iter().map(|sort| sort.in_words()).collect();
        Err(format!(
            "takes {} as `{}`, not {}",
            wanted.join(" or "),
            self.name,
            Sort::of(value).in_words()
        ))
    }

    fn check_choice(&self, value: &str) -> Result<(), String> {
        const LONGEST: usize = 100;
        if self.choices.is_empty() {
            return Ok(());
        }
        let text = serde_json::from_str::<String>(value).ok();
        if text.is_some_and(|text| self.choices.contains(&text)) {
            return Ok(());
        }
        let choices: Vec<&str> = self.choices.iter().map(String::as_str).collect();
        let shown = &value[..value.floor_char_boundary(LONGEST)];
        Err(format!(
            "takes one of {} as `{}`, not {shown}",
            listed(&choices),
            self.name,
        ))
    }
}

impl Sort {
    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            "null" => Self::Null,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "an object",
            Self::Null => "nothing",
        }
    }

    fn of(value: &str) -> Self {
        match value.trim_start().as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ if value
                .parse::<f64>()
                .is_ok_and(|number| number.fract() == 0.0) =>
            {
                Self::Integer
            }
            _ => Self::Number,
        }
    }

    fn takes(self, value: &str) -> bool {
        let sort = Self::of(value);
        sort == self || (sort, self) == (Self::Integer, Self::Number)
    }
}

/// What is read of a schema of parameters.
#[derive(Deserialize)]
struct Schema {
    #[serde(rename = "type")]
    sort: Option<String>,
    #[serde(default)]
    properties: Ordered<Box<RawValue>>,
    #[serde(default)]
    required: Vec<String>,
    #[serde(rename = "additionalProperties")]
    additional: Option<Box<RawValue>>,
}

/// The members of an object in the order of the text; the last of equal names wins.
#[derive(Debug)]
struct Ordered<V>(Vec<(String, V)>);

impl<V> Default for Ordered<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Ordered<V> {
    fn take(&mut self, name: &str) -> Option<V> {
        let index = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(index).1)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Ordered<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
            type Value = Ordered<V>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<V>, A::Error> {
                let mut members = Ordered::default();
                while let Some((name, value)) = map.next_entry::<String, V>()? {
                    members.take(&name);
                    members.0.push((name, value));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}
