//! A [`Signature`] from a Rust type, through its JSON Schema.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::{InvalidSignature, Signature};

impl Signature {
    /// The parameters that the fields of a struct are; [`Call::arguments`](crate::Call::arguments) gives it back.
    ///
    /// Doc comments of fields are the descriptions. What must be given comes in the order of the fields, then what may be left
    /// out (an `Option`, or a field with a default) by name.
    ///
    /// # Errors
    ///
    /// When `T` is no struct with named fields, nor a map.
    ///
    /// # Examples
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use warmcell::{Action, Signature};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Find {
    ///     /// what to look for
    ///     text: String,
    ///     /// how many at most
    ///     most: Option<u32>,
    /// }
    ///
    /// let signature = Signature::of::<Find>()?;
    /// assert_eq!(signature.names(), ["text", "most"]);
    /// let find = Action::new("find", signature, |call| {
    ///     let find: Find = call.arguments()?;
    ///     Ok(find.most.unwrap_or(10))
    /// });
    /// # let _ = find;
    /// # Ok::<(), warmcell::InvalidSignature>(())
    /// ```
    pub fn of<T: JsonSchema>() -> Result<Self, InvalidSignature> {
        // A parameter's schema stands alone: nothing in it may point elsewhere.
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let text = serde_json::to_string(&schema).map_err(|error| {
            InvalidSignature(format!("the type's JSON Schema cannot be written: {error}"))
        })?;
        Self::from_schema(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Binding;
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is asked for")]
    struct Query {
        /// what to look for
        text: String,
        near: Place,
        zone: Option<i64>,
        most: Option<u8>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is asked for")]
    struct Place {
        line: u32,
    }

    #[test]
    fn fields_are_parameters() {
        let signature = Signature::of::<Query>().unwrap();
        let parameters: Vec<_> = signature
            .parameters()
            .map(|it| (it.name, it.is_required, it.sorts, it.description))
            .collect();
        assert_eq!(
            parameters,
            [
                ("text", true, vec!["string"], "what to look for"),
                ("near", true, vec!["object"], ""),
                ("most", false, vec!["integer", "null"], ""),
                ("zone", false, vec!["integer", "null"], ""),
            ]
        );
        let bound = signature.bind(&Binding {
            positional: r#"["a", {"line":1}, null]"#,
            named: r#"{"zone": 7}"#,
            last_may_name: false,
        });
        let object = r#"{"text":"a","near":{"line":1},"most":null,"zone":7}"#;
        assert_eq!(bound.unwrap().as_str(), object);
    }

    #[test]
    fn a_map_takes_any_name_and_what_has_no_names_is_refused() {
        assert!(Signature::of::<BTreeMap<String, i32>>().unwrap().is_open());
        assert!(Signature::of::<(i32, i32)>().is_err());
        assert!(Signature::of::<String>().is_err());
    }
}
