//! A host's JSON, and the way there and back.

use proptest::prelude::*;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use super::{Integers, Refusal, from_json, python, to_json};

#[test]
fn a_host_s_json_becomes_plain_python() {
    let json = r#"{"b": [1, -2, 1.5, true, null, "é\n\ud83d\ude00"], "a": {}, "big": 18446744073709551615}"#;
    let (text, types) = python(move |py| {
        let value = from_json(py, json)?;
        let types = value
            .get_item("b")?
            .try_iter()?
            .map(|item| Ok(item?.get_type().name()?.to_string()))
            .collect::<PyResult<Vec<_>>>()?;
        Ok::<_, PyErr>((value.repr()?.to_string(), types))
    })
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        text,
        r"{'b': [1, -2, 1.5, True, None, 'é\n😀'], 'a': {}, 'big': 18446744073709551615}"
    );
    assert_eq!(types, ["int", "int", "float", "bool", "NoneType", "str"]);
}

#[test]
fn the_garbage_collector_is_left_as_it_was() {
    for enabled in [false, true] {
        let after = python(move |py| {
            let gc = py.import("gc")?;
            gc.call_method0(if enabled { "enable" } else { "disable" })?;
            from_json(py, "[{}]")?;
            assert!(from_json(py, "[{}").is_err());
            gc.call_method0("isenabled")?.extract::<bool>()
        });
        assert_eq!(after.ok(), Some(enabled));
    }
}

#[test]
fn a_host_s_integers_never_become_floats() {
    let parse = |text: &str| {
        let text = text.to_owned();
        python(move |py| match from_json(py, &text) {
            Ok(value) => Ok(value
                .repr()
                .map(|text| text.to_string())
                .unwrap_or_default()),
            Err(error) => {
                assert!(error.is_instance_of::<PyValueError>(py), "{error}");
                Err(error.value(py).to_string())
            }
        })
    };
    let refused = |digits: &str| {
        Err(format!(
            "the integer `{digits}` does not fit in 64 bits; pass it as a string"
        ))
    };
    assert_eq!(
        parse("[1e300, 1e19, 18446744073709551616.0]"),
        Ok("[1e+300, 1e+19, 1.8446744073709552e+19]".to_owned())
    );
    assert_eq!(
        parse("[18446744073709551615, -9223372036854775808]"),
        Ok("[18446744073709551615, -9223372036854775808]".to_owned())
    );
    assert_eq!(
        parse("[18446744073709551616]"),
        refused("18446744073709551616")
    );
    assert_eq!(
        parse("-9223372036854775809"),
        refused("-9223372036854775809")
    );
    assert_eq!(
        parse(r#"{"1e300": "\"18446744073709551617", "x": [1e300, 18446744073709551618]}"#),
        refused("18446744073709551618")
    );
    assert_eq!(
        parse(&"7".repeat(100)),
        refused(&format!("{}…", "7".repeat(40)))
    );
}

#[test]
fn a_host_s_bad_json_is_a_value_error() {
    for (text, message) in [
        ("[1,", "not JSON: EOF while parsing a value at line 1 column 3".to_owned()),
        ("1 2", "not JSON: trailing characters at line 1 column 3".to_owned()),
        ("NaN", "not JSON: expected value at line 1 column 1".to_owned()),
        (
            &"[".repeat(200_000),
            "the JSON text is nested deeper than 128 levels at line 1 column 128; pass it flatter, or as a string to \
             `json.loads`"
                .to_owned(),
        ),
    ] {
        let text = text.to_owned();
        let found = python(move |py| match from_json(py, &text) {
            Ok(value) => panic!("{value}"),
            Err(error) => {
                assert!(error.is_instance_of::<PyValueError>(py));
                error.value(py).to_string()
            }
        });
        assert_eq!(found, message);
    }
}

/// JSON of any shape; floats are those that JSON text tells apart from integers.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z \"\\\\\n\u{1}é]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_survives_the_way_there_and_back(value in json()) {
        let text = value.to_string();
        let back = python(move |py| {
            let object = from_json(py, &text).map_err(|error| error.to_string())?;
            let whole = to_json(&object, usize::MAX, Integers::Exact)
                .map_err(|refusal| refusal.message())?;
            // The budget that is just enough is found by the length, whatever the value.
            let below = to_json(&object, whole.len() - 1, Integers::Exact);
            assert!(matches!(below, Err(Refusal::TooLarge { .. })), "{below:?}");
            assert_eq!(to_json(&object, whole.len(), Integers::Exact).ok().as_ref(), Some(&whole));
            // Python's own reader agrees.
            let loaded = py
                .import("json")
                .and_then(|json| json.call_method1("loads", (&whole,)))
                .and_then(|loaded| loaded.eq(&object))
                .map_err(|error| error.to_string())?;
            assert!(loaded, "{whole}");
            Ok::<_, String>(whole)
        });
        let back = back.and_then(|back| serde_json::from_str::<Value>(&back).map_err(|error| error.to_string()));
        prop_assert_eq!(back, Ok(value));
    }
}
