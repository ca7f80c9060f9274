//! What is JSON, by its exact text.

use super::{Integers, accepts, refuses, to_json, with_x};

#[test]
fn plain_values_keep_their_exact_form() {
    accepts("x = None", "null");
    accepts("x = True", "true");
    accepts("x = False", "false");
    accepts(
        "x = [None, True, 0, -5, 1.5, 's', [], {}, ()]",
        r#"[null,true,0,-5,1.5,"s",[],{},[]]"#,
    );
    accepts(
        "x = {'k': [1, {'n': None}], '': (2,)}",
        r#"{"k":[1,{"n":null}],"":[2]}"#,
    );
    accepts("x = {'b': 1, 'a': 2}", r#"{"b":1,"a":2}"#);
    accepts(
        "row = {'a': 1}; x = [row, row, (row,)]",
        r#"[{"a":1},{"a":1},[{"a":1}]]"#,
    );
}

#[test]
fn numbers_keep_every_bit() {
    accepts(
        "x = [2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -2**63]",
        "[9007199254740993,9223372036854775807,9223372036854775808,18446744073709551615,-9223372036854775808]",
    );
    accepts(
        "x = [0.1, 1.0, -0.0, 1e300, 5e-324]",
        "[0.1,1.0,-0.0,1e+300,5e-324]",
    );
    let wide = "an integer of more than 64 bits, which JSON readers do not hold exactly";
    refuses("x = 2**64", &format!("the value is {wide}"), "str(x)");
    refuses("x = -2**63 - 1", &format!("the value is {wide}"), "str(x)");
    refuses(
        "x = {'big': [1, 10**5000]}",
        &format!("`big[1]` is {wide}"),
        "hex(x)",
    );
    refuses(
        "x = float('nan')",
        "the value is nan, which JSON cannot hold",
        "None",
    );
    refuses(
        "x = [float('inf')]",
        "`[0]` is inf, which JSON cannot hold",
        "None",
    );
    refuses(
        "x = (1, float('-inf'))",
        "`[1]` is -inf, which JSON cannot hold",
        "None",
    );
}

#[test]
fn safe_integers_end_where_doubles_do() {
    let convert = |code: &str| with_x(code, |x| to_json(x, usize::MAX, Integers::Safe));
    match convert("x = [2**53 - 1, 1 - 2**53]") {
        Ok(text) => assert_eq!(text, "[9007199254740991,-9007199254740991]"),
        Err(refusal) => panic!("{}", refusal.message()),
    }
    for (code, digits) in [
        ("x = 2**53", "9007199254740992"),
        ("x = -2**53", "-9007199254740992"),
        ("x = 2**64 - 1", "18446744073709551615"),
    ] {
        let message = convert(code).map_err(|refusal| refusal.message());
        let problem = format!(
            "the value is {digits}, an integer beyond 2^53 - 1, which a double cannot hold exactly"
        );
        assert_eq!(message, Err(problem));
    }
}

#[test]
fn strings_are_escaped_where_json_demands_it_and_nowhere_else() {
    accepts(
        r#"x = 'q" b\\ n\n r\r t\t b\b f\f z\0 e\x1b d\x7f /'"#,
        "\"q\\\" b\\\\ n\\n r\\r t\\t b\\b f\\f z\\u0000 e\\u001b d\u{7f} /\"",
    );
    accepts("x = 'é 漢 😀 \\u2028'", "\"é 漢 😀 \u{2028}\"");
    // At every position of a block and behind it.
    for position in 0..70 {
        accepts(
            &format!("x = 'a' * {position} + '\"' + 'é' * 20"),
            &format!("\"{}\\\"{}\"", "a".repeat(position), "é".repeat(20)),
        );
    }
}

#[test]
fn lone_surrogates_are_refused() {
    refuses(
        "x = ['ok', 'a\\udc80b']",
        "`[1]` holds the lone surrogate `\\udc80`, which is no character",
        "replace",
    );
    refuses(
        "x = {'in': {'a\\ud800': 1}}",
        "`in` has a key that holds the lone surrogate `\\ud800`, which is no character",
        "replace",
    );
}

#[test]
fn subclasses_count_by_their_base_value() {
    accepts(
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\nx = (1, P(2, 3))",
        "[1,[2,3]]",
    );
    accepts(
        "from collections import defaultdict, Counter\nd = defaultdict(list); d['a'].append(1)\nx = [d, Counter('aab')]",
        r#"[{"a":[1]},{"a":2,"b":1}]"#,
    );
    accepts(
        "import enum\nclass C(enum.IntEnum):\n  RED = 1\nclass S(str, enum.Enum):\n  A = 'a'\nx = [C.RED, S.A, {S.A: 1}]",
        r#"[1,"a",{"a":1}]"#,
    );
    accepts(
        "class F(float): pass\nclass L(list): pass\nx = L([F(1.5)])",
        "[1.5]",
    );
}

#[test]
fn an_ordered_dict_is_in_its_own_order() {
    let head = "from collections import OrderedDict\nx = OrderedDict(a=1, b=[2], c=3)\n";
    accepts(
        &format!("{head}x.move_to_end('a')"),
        r#"{"b":[2],"c":3,"a":1}"#,
    );
    accepts(
        &format!("{head}x.move_to_end('c', last=False)\nx = [x]"),
        r#"[{"c":3,"a":1,"b":[2]}]"#,
    );
    accepts(&format!("{head}x.clear()"), "{}");
    accepts(
        "from collections import OrderedDict\nclass Evil(OrderedDict):\n  def __iter__(self): 1/0\n  items = keys = values = __len__ = __getitem__ = __iter__\nx = Evil(a=1, b=2)\nx.move_to_end('a')",
        r#"{"b":2,"a":1}"#,
    );
    refuses(
        &format!("{head}x['me'] = x"),
        "`me` leads back to the value itself: a cycle, which JSON cannot hold",
        "id",
    );
    refuses(
        &format!("{head}x['d'] = {{1, 2}}\nx.move_to_end('a')\nx = {{'o': x}}"),
        "`o.d` is a set, which JSON cannot hold",
        "sorted(x)",
    );
    refuses(
        &format!("{head}x[1] = 2\nx = [x]"),
        "`[0]` has the key `1` of type `int`, and keys of JSON are strings",
        "str(key)",
    );
    refuses(
        &format!("{head}class S(str): pass\nx[S('s')] = 2"),
        "the value is an `OrderedDict` with a key of a subclass of `str`, whose order only the key's own code can tell",
        "dict(x)",
    );
}
