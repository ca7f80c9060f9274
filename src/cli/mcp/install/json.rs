//! JSON files with other people's keys in them: their order and their text stay as they are.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{SERVER, Start};

/// An object whose members keep their order and their text.
#[derive(Default)]
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

impl Members {
    fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(member, _)| member == name);
        found.map(|(_, value)| &**value)
    }

    fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The object as text that stands so deep in a file.
    fn text(&self, depth: usize) -> Result<String, serde_json::Error> {
        let indent = "  ".repeat(depth + 1);
        let mut members = Vec::new();
        for (name, value) in &self.0 {
            let name = serde_json::to_string(name)?;
            members.push(format!("{indent}{name}: {}", value.get()));
        }
        let close = "  ".repeat(depth);
        Ok(format!("{{\n{}\n{close}}}", members.join(",\n")))
    }

    fn raw(&self, depth: usize) -> Result<Box<RawValue>, serde_json::Error> {
        RawValue::from_string(self.text(depth)?)
    }
}

/// The file with this server in it.
pub(super) fn merge(text: &str, start: &Start) -> Result<String, String> {
    let read = |text: &str| -> Result<Members, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("it is not the JSON it should be: {error}"))
    };
    let mut file = match text.trim() {
        "" => Members::default(),
        text => read(text)?,
    };
    let part = |of: &Members, name: &str| {
        of.get(name)
            .map_or(Ok(Members::default()), |raw| read(raw.get()))
    };
    let mut servers = part(&file, "mcpServers")?;
    let mut server = part(&servers, SERVER)?;
    let written = |error: serde_json::Error| error.to_string();
    let raw = |value: serde_json::Value| RawValue::from_string(value.to_string()).map_err(written);
    server.set("type", raw("stdio".into())?);
    server.set("command", raw(start.command.as_str().into())?);
    server.set("args", raw(start.arguments.clone().into())?);
    servers.set(SERVER, server.raw(2).map_err(written)?);
    file.set("mcpServers", servers.raw(1).map_err(written)?);
    Ok(file.text(0).map_err(written)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start {
            command: "/bin/warmcell".to_owned(),
            arguments: vec!["mcp".to_owned()],
        }
    }

    #[test]
    fn what_stands_in_a_json_file_stays() {
        let before = r#"{
  "zebra": [1,   2],
  "mcpServers": { "other": {"command": "x"}, "warmcell": {"command": "old", "env": {"A": "1"}} },
  "apple": 1.50
}"#;
        let after = merge(before, &start()).expect("JSON");
        assert_eq!(
            after,
            r#"{
  "zebra": [1,   2],
  "mcpServers": {
    "other": {"command": "x"},
    "warmcell": {
      "command": "/bin/warmcell",
      "env": {"A": "1"},
      "type": "stdio",
      "args": ["mcp"]
    }
  },
  "apple": 1.50
}
"#
        );
        // A second time nothing changes.
        assert_eq!(merge(&after, &start()).expect("JSON"), after);
    }

    #[test]
    fn a_file_that_is_no_json_object_is_refused() {
        for before in ["// mine\n{}", "[]", "{\"mcpServers\": []}", "{"] {
            assert!(merge(before, &start()).is_err(), "{before}");
        }
    }
}
