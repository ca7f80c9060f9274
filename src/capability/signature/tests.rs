//! What a signature reads, binds and refuses.

use super::*;

fn read() -> Signature {
    Signature::new()
        .required("path", "string", "")
        .optional("lines", "integer", "")
        .optional("options", "object", "")
}

fn bound(signature: &Signature, positional: &str, named: &str) -> Result<String, String> {
    let given = Binding {
        positional,
        named,
        last_may_name: false,
    };
    signature.bind(&given).map(|json| json.to_string())
}

#[test]
fn positions_and_names_become_one_object() {
    for (positional, named, object) in [
        (r#"["a"]"#, "{}", r#"{"path":"a"}"#),
        (r#"["a", 3]"#, "{}", r#"{"path":"a","lines":3}"#),
        (
            r#"["a"]"#,
            r#"{"lines": 3.0}"#,
            r#"{"path":"a","lines":3.0}"#,
        ),
        (
            "[]",
            r#"{"lines": null, "path": "b"}"#,
            r#"{"path":"b","lines":null}"#,
        ),
    ] {
        assert_eq!(bound(&read(), positional, named).as_deref(), Ok(object));
    }
}

#[test]
fn what_does_not_fit_names_the_parameter() {
    for (positional, named, message) in [
        ("[]", "{}", "needs the argument `path`"),
        (
            r#"["a", 1, {}, 4]"#,
            "{}",
            "takes at most 3 arguments, and 4 were given",
        ),
        (r#"["a"]"#, r#"{"path": "b"}"#, "got `path` twice"),
        (
            r#"["a"]"#,
            r#"{"x": 1}"#,
            "has no parameter `x`, but `path`, `lines`, `options`",
        ),
        ("[1]", "{}", "takes a string as `path`, not an integer"),
        (
            r#"["a", 1.5]"#,
            "{}",
            "takes an integer as `lines`, not a number",
        ),
    ] {
        assert_eq!(bound(&read(), positional, named), Err(message.to_owned()));
    }
    assert_eq!(
        bound(&Signature::new(), "[1]", "{}"),
        Err("takes no arguments, and 1 were given".to_owned())
    );
}

#[test]
fn listed_texts_are_the_only_ones() {
    let schema = r#"{"type": "object", "properties": {"mode": {"enum": ["fast", "slow"]}, "unit": {"enum": ["m", 1]}}}"#;
    let signature = Signature::from_schema(schema).unwrap();
    for (named, problem) in [
        (r#"{"mode": "fast"}"#, None),
        (r#"{"mode": "sl\u006fw"}"#, None),
        (r#"{"mode": null}"#, None),
        (r#"{"unit": "km"}"#, None),
        (
            r#"{"mode": "turbo"}"#,
            Some("takes one of `fast`, `slow` as `mode`, not \"turbo\""),
        ),
        (
            r#"{"mode": 5}"#,
            Some("takes one of `fast`, `slow` as `mode`, not 5"),
        ),
    ] {
        assert_eq!(bound(&signature, "[]", named).err().as_deref(), problem);
    }
}

#[test]
fn an_object_at_the_end_names_arguments_where_the_language_has_no_names() {
    let names = |positional: &str| {
        let given = Binding {
            positional,
            named: "{}",
            last_may_name: true,
        };
        read().bind(&given).map(|json| json.to_string())
    };
    let object = r#"{"path":"a","lines":3}"#;
    assert_eq!(
        names(r#"[{"path": "a", "lines": 3}]"#).as_deref(),
        Ok(object)
    );
    assert_eq!(names(r#"["a", {"lines": 3}]"#).as_deref(), Ok(object));
    assert_eq!(
        names(r#"["a", 3, {"lines":3}]"#).as_deref(),
        Ok(r#"{"path":"a","lines":3,"options":{"lines":3}}"#)
    );
    let both = Ok(r#"{"path":"a","lines":3,"options":{"deep":1}}"#);
    assert_eq!(names(r#"["a", 3, {"deep":1}]"#).as_deref(), both);
    assert_eq!(
        names(r#"["a", 3, {"options":{"deep":1}}]"#).as_deref(),
        both
    );
    assert_eq!(
        names(r#"[{"nope": 1}]"#),
        Err("takes a string as `path`, not an object".to_owned())
    );
}

#[test]
fn a_schema_is_read_in_its_order() {
    let schema = r#"{"type": "object", "properties": {"b": {"type": ["integer", "null"]}, "a": true}, "additionalProperties": true}"#;
    let signature = Signature::from_schema(schema).unwrap();
    assert_eq!(signature.names(), ["b", "a"]);
    assert_eq!(
        bound(&signature, "[1]", r#"{"z": []}"#).as_deref(),
        Ok(r#"{"b":1,"z":[]}"#)
    );
    for open in ["{}", r#"{"type": "object"}"#] {
        let signature = Signature::from_schema(open).unwrap();
        assert_eq!(
            bound(&signature, "[]", r#"{"z":1}"#).as_deref(),
            Ok(r#"{"z":1}"#)
        );
    }
    assert!(Signature::from_schema(r#"{"type": "string"}"#).is_err());
    assert!(Signature::from_schema("[]").is_err());
}
