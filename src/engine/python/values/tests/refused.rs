//! What is not JSON, by its path, its problem and its hint.

use std::time::{Duration, Instant};

use super::{Integers, accepts, convert, refuses, to_json, with_x};

#[test]
fn keys_are_strings() {
    let problem = |key: &str| format!("has the key {key}, and keys of JSON are strings");
    for (code, key) in [
        ("x = {1: 'a'}", "`1` of type `int`"),
        ("x = {True: 'a'}", "`True` of type `bool`"),
        ("x = {None: 'a'}", "`None` of type `NoneType`"),
        ("x = {1.5: 'a'}", "`1.5` of type `float`"),
        ("x = {2**70: 'a'}", "of type `int`"),
        ("x = {(1, 2): 'a'}", "of type `tuple`"),
        ("x = {b'k': 'a'}", "of type `bytes`"),
    ] {
        refuses(code, &format!("the value {}", problem(key)), "str(key)");
    }
    refuses(
        "x = {'ok': 1, 'rows': [{'fine': 2, 7: 3}]}",
        &format!("`rows[0]` {}", problem("`7` of type `int`")),
        "str(key)",
    );
    refuses(
        "class S(str):\n  def __hash__(self): return id(self)\n  def __eq__(self, o): return self is o\nx = [{'a': 1, S('a'): 2}]",
        "`[0]` has two keys with the text `a`, which JSON cannot tell apart",
        "str.__str__",
    );
}

#[test]
fn what_is_not_json_is_named_with_a_way_out() {
    let import = |modules: &str, value: &str| format!("import {modules}\nx = {{'v': {value}}}");
    for (code, what, hint) in [
        ("x = {'v': b'ab'}".to_owned(), "bytes", "base64"),
        ("x = {'v': bytearray(b'ab')}".to_owned(), "a bytearray", "decode"),
        ("x = {'v': memoryview(b'ab')}".to_owned(), "a memoryview", "base64"),
        ("x = {'v': {1, 2}}".to_owned(), "a set", "sorted(x)"),
        ("x = {'v': frozenset()}".to_owned(), "a frozenset", "list(x)"),
        ("class Tags(set): pass\nx = {'v': Tags()}".to_owned(), "a `Tags` (a set)", "sorted(x)"),
        ("x = {'v': 1j}".to_owned(), "a complex number", "x.real"),
        ("x = {'v': range(3)}".to_owned(), "a range", "list(x)"),
        ("x = {'v': (n for n in ())}".to_owned(), "a generator", "list(x)"),
        ("x = {'v': map(str, ())}".to_owned(), "a `map` (an iterator)", "list(x)"),
        ("x = {'v': {}.keys()}".to_owned(), "a view of a dict", "list(x)"),
        ("x = {'v': len}".to_owned(), "a built-in function", "call it"),
        ("x = {'v': lambda: 1}".to_owned(), "a function", "call it"),
        ("x = {'v': int}".to_owned(), "a class", "__name__"),
        ("x = {'v': ...}".to_owned(), "an ellipsis", ""),
        ("x = {'v': object()}".to_owned(), "an `object`", ""),
        ("class Thing: pass\nx = {'v': Thing()}".to_owned(), "a `Thing`", ""),
        ("x = {'v': ValueError('no')}".to_owned(), "a `ValueError` (an exception)", "str(x)"),
        (import("math", "math"), "a module", "something from it"),
        (import("decimal", "decimal.Decimal(1)"), "a `decimal.Decimal`", "str(x)"),
        (import("fractions", "fractions.Fraction(1)"), "a `fractions.Fraction`", "float(x)"),
        (import("uuid", "uuid.UUID(int=1)"), "a `uuid.UUID`", "str(x)"),
        (import("collections", "collections.deque()"), "a `collections.deque`", "list(x)"),
        (import("array", "array.array('i')"), "an `array.array`", "tolist()"),
        (import("types", "types.SimpleNamespace(a=1)"), "a `types.SimpleNamespace`", "vars(x)"),
        (
            import("datetime", "datetime.datetime(2024, 1, 1)"),
            "a `datetime.datetime` (a date and time)",
            ".isoformat()",
        ),
        (import("datetime", "datetime.date(2024, 1, 1)"), "a `datetime.date` (a date)", ".isoformat()"),
        (
            import("datetime", "datetime.timedelta(1)"),
            "a `datetime.timedelta` (a duration)",
            "total_seconds()",
        ),
        (
            "import enum\nclass Colour(enum.Enum):\n  RED = 1\nx = {'v': Colour.RED}".to_owned(),
            "a `Colour` (an enum member)",
            "x.value",
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass Point:\n  a: int\nx = {'v': Point(1)}".to_owned(),
            "a `Point` (a dataclass)",
            "dataclasses.asdict(x)",
        ),
        (
            "class Model:\n  def model_dump(self): 1/0\nclass User(Model): pass\nx = {'v': User()}".to_owned(),
            "a `User`",
            "model_dump",
        ),
        ("class A:\n  __module__ = 'shop.cart'\nx = {'v': A()}".to_owned(), "a `shop.cart.A`", ""),
    ] {
        refuses(&code, &format!("`v` is {what}, which JSON cannot hold"), hint);
    }
    // The module of paths differs between versions.
    match convert("import pathlib\nx = pathlib.PurePosixPath('a')") {
        Err(refusal) => {
            assert!(
                refusal.message().contains(".PurePosixPath`"),
                "{}",
                refusal.message()
            );
            assert_eq!(refusal.hint(), Some("`str(x)` makes it text"));
        }
        Ok(text) => panic!("{text}"),
    }
}

#[test]
fn paths_read_like_python() {
    let nan = |path: &str| format!("`{path}` is nan, which JSON cannot hold");
    for (code, path) in [
        ("{'rows': [0, 1, 2, {'score': nan}]}", "rows[3].score"),
        ("[{'a': (0, nan)}]", "[0].a[1]"),
        ("{'my key': {'x': nan}}", "[\"my key\"].x"),
        ("{'a': {'1': nan}}", "a[\"1\"]"),
        ("{'': nan}", "[\"\"]"),
        ("{'é_1': nan}", "é_1"),
        ("{'q\"\\n': nan}", "[\"q\\\"\\n\"]"),
        ("{'x' * 100: nan}", &format!("[\"{}…\"]", "x".repeat(60))),
        ("{'done': {'b': [[]]}, 'c': [{'d': 1}, nan]}", "c[1]"),
    ] {
        refuses(
            &format!("nan = float('nan'); x = {code}"),
            &nan(path),
            "None",
        );
    }
    refuses(
        "x = float('nan')\nfor n in range(40): x = [x]",
        &nan(&format!("{0}…{0}", "[0]".repeat(8))),
        "None",
    );
}

#[test]
fn cycles_are_named_by_both_ends() {
    refuses(
        "x = []; x.append(x)",
        "`[0]` leads back to the value itself: a cycle, which JSON cannot hold",
        "id",
    );
    refuses(
        "d = {}; d['up'] = [0, d]; x = {'loop': d}",
        "`loop.up[1]` leads back to `loop`: a cycle, which JSON cannot hold",
        "id",
    );
    refuses(
        "t = ([],); t[0].append(t); x = [1, t]",
        "`[1][0][0]` leads back to `[1]`: a cycle, which JSON cannot hold",
        "id",
    );
    refuses(
        "x = [[n] for n in range(300_000)]\nx[299_000].append({'wide': [x[299_000]]})",
        "`[299000][1].wide[0]` leads back to `[299000]`: a cycle, which JSON cannot hold",
        "id",
    );
}

#[test]
fn nesting_ends_at_a_thousand_levels() {
    accepts(
        "x = []\nfor _ in range(999): x = [x]",
        &format!("{}{}", "[".repeat(1_000), "]".repeat(1_000)),
    );
    let deep = format!(
        "`{0}…{0}` is nested deeper than 1000 levels, which JSON readers refuse",
        "[0]".repeat(8)
    );
    refuses("x = []\nfor _ in range(1_000): x = [x]", &deep, "flat");
    // The thread of this test would overflow if nesting took stack; the refusal comes long before the bottom.
    let (refusal, took) = with_x("x = []\nfor _ in range(100_000): x = [x]", |x| {
        let start = Instant::now();
        let refusal = to_json(x, usize::MAX, Integers::Exact).map_err(|refusal| refusal.message());
        (refusal, start.elapsed())
    });
    assert_eq!(refusal, Err(deep));
    assert!(took < Duration::from_secs(1), "{took:?}");
}
