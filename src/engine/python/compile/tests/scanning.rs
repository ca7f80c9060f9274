//! The scan alone, with the f-strings of every version.

use super::*;

#[test]
fn f_strings_that_nest_end_where_they_end() {
    for source in [
        "f'{a['b']}'",
        "f\"{f\"{f\"{1}\"}\"}\"",
        "f'{x!r:>{w}}'",
        "f'{x:{'a'}}'",
        "f'{{{x}}}'",
        "f'{{' f'}}'",
        "F'{d['a']:>{d['b']}}' if x else '='",
        "rf'\\{d['a']}'",
        "f'\\{d['a']}'",
        "f'{\n x # } '\n}'",
        "f'''{\nd['a']\n} ' {'''b'''}'''",
        "f'{(lambda x: x)('a')}'",
        "f'{'}' + \"a\"}'",
        "t'{a['b']}'",
        "f'{x=}'",
        "f'{x:=5}'",
        "f'\\N{LEFT CURLY BRACKET}'",
    ] {
        let start = "x = 1\n".len();
        let cell = format!("x = 1\n{source}");
        assert_eq!(
            scan(&cell, true).shape,
            Shape::Expression { start },
            "{cell}"
        );
        let cell = format!("y = {source}\n");
        assert_eq!(scan(&cell, true).shape, Shape::Statements, "{cell}");
        let cell = format!("y = {source}; y");
        let start = cell.len() - 1;
        assert_eq!(
            scan(&cell, true).shape,
            Shape::Expression { start },
            "{cell}"
        );
    }
}

#[test]
fn strings_before_3_12_end_at_the_first_quote() {
    for (source, shape) in [
        ("f'{a[' + '=' ']}'", Shape::Expression { start: 0 }),
        ("f'{a['b']}' ; x", Shape::Expression { start: 14 }),
    ] {
        assert_eq!(scan(source, false).shape, shape, "{source}");
    }
}

#[test]
fn a_scan_gives_up_where_tokens_are_odd() {
    for source in [
        "'abc",
        "'''abc",
        "(",
        "x)",
        "\\x",
        "\\\nx = 1",
        "x\\ y",
        "f'{x",
        "f'{x:",
        "f'''{x:\n}'''",
    ] {
        assert_eq!(scan(source, true).shape, Shape::Unclear, "{source}");
    }
    let deep = "f'{".repeat(100_000);
    assert_eq!(scan(&deep, true).shape, Shape::Unclear);
}

#[test]
fn only_the_statement_with_the_first_return_and_the_rest_need_the_tree() {
    let early = |start| Shape::EarlyReturn { start };
    for (source, shape) in [
        ("x = 1\nif x:\n    return 1\ny", early(6)),
        ("if x:\n    return 1\ny", early(0)),
        ("x = 1\nif x: return 1", early(6)),
        ("x = 1\nif x: y; return 1", early(6)),
        ("x = 1\ntry:\n    y\nexcept E: return 1", early(6)),
        ("x = 1\nreturn 1; y", early(6)),
        ("x = 1\nreturn 1\ny", early(6)),
        ("global x\nif x: return 1", early(0)),
        ("if x:\n    global y\nz\nif x: return 1", early(0)),
        (
            "x = 1\n@f\ndef g(): return 1\nif x:\n    return 2",
            early(27),
        ),
        ("if x:\n    def f(): return 1\n    return 2", early(0)),
        (
            "class A:\n    def f(self):\n        return 1\n    return 2\nx = 1",
            Shape::Statements,
        ),
        ("def f(): return 1", Shape::Statements),
        (
            "async def f():\n    if 1:\n        return 1",
            Shape::Statements,
        ),
        ("x = 1; return", Shape::BareReturn { start: 7 }),
        (
            "x = 1; return y ;",
            Shape::Return {
                start: 7,
                value: 14..16,
            },
        ),
        ("returned", Shape::Expression { start: 0 }),
        ("x.return_value", Shape::Expression { start: 0 }),
    ] {
        assert_eq!(scan(source, false).shape, shape, "{source}");
    }
}
