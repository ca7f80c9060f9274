//! Every kind of value by its exact text or its exact refusal, both ways, and values made to do harm.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use super::{Integers, Refusal, from_json, to_json, to_json_into};

type Job = Box<dyn FnOnce() + Send>;

/// Runs `work` on the thread that initialised Python, which is the only one that handles signals.
fn python<R: Send + 'static>(work: impl FnOnce(Python<'_>) -> R + Send + 'static) -> R {
    static MAIN_THREAD: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let jobs = MAIN_THREAD.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || {
            Python::initialize();
            queue.into_iter().for_each(|job| job());
        });
        Mutex::new(jobs)
    });
    let (done, result) = mpsc::channel();
    let job: Job = Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| Python::attach(work)));
        drop(done.send(outcome));
    });
    match jobs.lock().map(|jobs| jobs.send(job)) {
        Ok(Ok(())) => {}
        other => panic!("the python thread is gone: {other:?}"),
    }
    match result.recv() {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(gone) => panic!("the python thread is gone: {gone}"),
    }
}

/// Runs `code` in a fresh namespace and hands its `x` to `work`.
fn with_x<R: Send + 'static>(
    code: &str,
    work: impl FnOnce(&Bound<'_, PyAny>) -> R + Send + 'static,
) -> R {
    let code = CString::new(code).unwrap_or_else(|error| panic!("{error}"));
    python(move |py| {
        let namespace = PyDict::new(py);
        let x = namespace
            .set_item("__name__", "__main__")
            .and_then(|()| py.run(&code, Some(&namespace), None))
            .and_then(|()| namespace.as_any().get_item("x"))
            .unwrap_or_else(|error| panic!("{code:?}: {error}"));
        let result = work(&x);
        assert!(PyErr::take(py).is_none(), "an exception was left behind");
        result
    })
}

fn convert(code: &str) -> Result<String, Refusal> {
    with_x(code, |x| to_json(x, usize::MAX, Integers::Exact))
}

#[track_caller]
fn accepts(code: &str, json: &str) {
    match convert(code) {
        Ok(text) => assert_eq!(text, json, "{code}"),
        Err(refusal) => panic!("{code}: {}", refusal.message()),
    }
}

/// Compares the message and checks that the hint holds `hint`; an empty one means that there is none.
#[track_caller]
fn refuses(code: &str, message: &str, hint: &str) {
    match convert(code) {
        Ok(text) => panic!("{code} became {text}"),
        Err(refusal) => {
            assert_eq!(refusal.message(), message, "{code}");
            let found = refusal.hint().unwrap_or_default();
            assert!(found.contains(hint), "{code}: {found}");
            assert_eq!(found.is_empty(), hint.is_empty(), "{code}: {found}");
        }
    }
}

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
        "str(x)",
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

#[test]
fn an_ordered_dict_whose_order_is_broken_calls_no_key() {
    let broken = "the value is an `OrderedDict` whose order no longer matches its entries";
    let head = "from collections import OrderedDict\nx = OrderedDict(a=1, b=2)\n";
    refuses(
        &format!("{head}dict.__delitem__(x, 'a')"),
        broken,
        "its own methods",
    );
    refuses(
        &format!("{head}dict.__setitem__(x, 'c', 3)"),
        broken,
        "its own methods",
    );
    // A key that is in the order alone, and whose hash is code: it would be called by the iterator.
    refuses(
        &format!(
            "{head}armed = False\nclass Evil:\n  def __hash__(self):\n    assert not armed\n    return 7\nk = Evil()\n\
             x[k] = 1\ndict.__delitem__(x, k)\narmed = True"
        ),
        broken,
        "its own methods",
    );
}

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

#[test]
fn the_budget_is_exact_at_the_byte() {
    for (code, size) in [
        ("x = 'é'", 4),
        ("x = 'a\\n'", 5),
        ("x = None", 4),
        ("x = []", 2),
        ("x = [1]", 3),
        ("x = [0, 0]", 5),
        ("x = {'': 0}", 6),
        ("x = {'a': [1.5, None], 'b': {}}", 23),
        ("x = ('é', [[], {'é': 'é'}])", 23),
    ] {
        let (exact, below) = with_x(code, move |x| {
            (
                to_json(x, size, Integers::Exact),
                to_json(x, size - 1, Integers::Exact),
            )
        });
        match exact {
            Ok(text) => assert_eq!(text.len(), size, "{code}"),
            Err(refusal) => panic!("{code}: {}", refusal.message()),
        }
        let message = below.map_err(|refusal| refusal.message());
        let limit = size - 1;
        assert_eq!(
            message,
            Err(format!(
                "the value is over its budget of {limit} bytes of JSON text"
            )),
            "{code}"
        );
    }
}

#[test]
fn a_value_over_its_budget_costs_no_more_than_the_budget() {
    for code in [
        "x = [0] * 50_000_000",
        "x = 'é' * 50_000_000",
        "x = dict.fromkeys(map(str, range(1_000_000)))",
        "from collections import OrderedDict\nx = OrderedDict.fromkeys(map(str, range(200_000)))",
        "x = [x for _ in range(60) for x in [[]]]\nfor _ in range(60): x = [x, x]",
    ] {
        let (capacity, message, took) = with_x(code, |x| {
            let mut text = String::from("before");
            let start = Instant::now();
            let message = to_json_into(x, &mut text, 1_000, Integers::Exact)
                .map_err(|refusal| refusal.message());
            assert_eq!(text, "before");
            (text.capacity(), message, start.elapsed())
        });
        let limit = "the value is over its budget of 1000 bytes of JSON text".to_owned();
        assert_eq!(message, Err(limit), "{code}");
        assert!(capacity < 10_000, "{code}: {capacity}");
        assert!(took < Duration::from_millis(50), "{code}: {took:?}");
    }
}

#[test]
fn text_that_stood_there_before_stays() {
    let text = with_x("x = [1, {'a': 2}]", |x| {
        let mut text = String::from("é:");
        to_json_into(x, &mut text, 11, Integers::Exact).map_err(|refusal| refusal.message())?;
        Ok::<_, String>(text)
    });
    assert_eq!(text.as_deref(), Ok("é:[1,{\"a\":2}]"));
}

#[test]
fn no_override_runs() {
    // Every special method that a conversion could be tempted to call, on every base that is accepted.
    let evil = r#"
def boom(*args, **kwargs): raise RuntimeError("the conversion ran the program's code")
names = """__iter__ __len__ __getitem__ __contains__ __eq__ __float__ __int__ __index__ __str__ __repr__ __bool__
__getattribute__ __getattr__ __instancecheck__ __reversed__ __format__ __next__ __missing__ __class_getitem__
items keys values get encode tolist item isoformat""".split()
class Meta(type):
    __getattribute__ = boom
    __instancecheck__ = boom
    __eq__ = boom
    __hash__ = type.__hash__
overrides = {name: boom for name in names}
def evil(base): return type.__call__(Meta, "Evil", (base,), dict(overrides, __hash__=base.__hash__))
def make(base, *args): return base.__new__(evil(base), *args)
d = make(dict)
dict.__setitem__(d, "a", make(int, 7))
dict.__setitem__(d, "b", make(float, 1.5))
dict.__setitem__(d, str.__str__("c"), make(str, "s"))
l = make(list)
list.append(l, d)
t = make(tuple, (l,))
"#;
    accepts(
        &format!("{evil}\nx = [t, l]"),
        r#"[[[{"a":7,"b":1.5,"c":"s"}]],[{"a":7,"b":1.5,"c":"s"}]]"#,
    );
    refuses(
        &format!("{evil}\nx = {{'v': make(object)}}"),
        "`v` is an `Evil`, which JSON cannot hold",
        "tolist()",
    );
    refuses(
        &format!("{evil}\nx = {{'v': make(set)}}"),
        "`v` is an `Evil` (a set), which JSON cannot hold",
        "sorted(x)",
    );
    refuses(
        &format!("{evil}\nx = {{'v': evil(object)}}"),
        "`v` is a `Meta` (a class), which JSON cannot hold",
        "__name__",
    );
    // Names that lie, and a key of a class's dict that would be compared by a lookup.
    refuses(
        r#"
class Key(str):
    def __hash__(self): return hash("__module__")
    def __eq__(self, other): raise RuntimeError("the conversion compared a key")
Evil = type("generic", (), {"__module__": "numpy"})
class Liar(Evil):
    __class__ = int
    def item(self): raise RuntimeError("the conversion called item")
x = Liar()
"#,
        "the value is a `Liar`, which JSON cannot hold",
        "",
    );
}

#[test]
fn a_signal_handler_may_raise() {
    let interrupted = with_x(
        "import signal\nprevious = signal.signal(signal.SIGINT, signal.default_int_handler)\nx = [0] * 100_000",
        |x| {
            // SAFETY: Python is initialised; this marks SIGINT as arrived.
            unsafe { ffi::PyErr_SetInterrupt() };
            match to_json(x, usize::MAX, Integers::Exact) {
                Err(Refusal::Interrupted(raised)) => {
                    raised.is_instance_of::<PyKeyboardInterrupt>(x.py())
                }
                other => panic!("{other:?}"),
            }
        },
    );
    assert!(interrupted);
}

#[test]
fn a_signal_handler_may_change_what_is_walked() {
    for (make, change, zeros) in [
        // One step enters the inner list; the handler runs at the 65,536th, before it writes.
        ("x = [[0] * 100_000, 1]", "del x[0][:]", Some(65_534)),
        // The inner list belongs to nobody but the walk now.
        ("x = [[0] * 100_000, 1]", "x.clear()", Some(100_000)),
        (
            "x = [[0] * 100_000, 1]",
            "x[0].extend([0] * 50_000)",
            Some(150_000),
        ),
        ("x = [[[0], [0]] * 40_000]", "x[0].clear()", None),
        (
            "x = [{str(n): [n] for n in range(100_000)}]",
            "x[0].clear()",
            None,
        ),
        (
            "x = [{str(n): n for n in range(100_000)}]",
            "x[0].update({'more' + key: 0 for key in x[0]}); x.clear()",
            None,
        ),
        (
            "x = [{str(n): n for n in range(100_000)}]",
            "keys = list(x[0])\n  for key in keys: del x[0][key]\n  x[0].update({key: 0 for key in keys[::7]})",
            None,
        ),
        (
            "from collections import OrderedDict\nx = [OrderedDict((str(n), n) for n in range(100_000))]",
            "x[0].clear(); x.clear()",
            None,
        ),
    ] {
        let code = format!(
            "import signal, gc\n{make}\nruns = []\ndef handler(*_):\n  {change}\n  runs.append(gc.collect())\n\
             signal.signal(signal.SIGINT, handler)\n"
        );
        let text = with_x(&code, |x| {
            // SAFETY: Python is initialised; this marks SIGINT as arrived.
            unsafe { ffi::PyErr_SetInterrupt() };
            to_json(x, usize::MAX, Integers::Exact).map_err(|refusal| refusal.message())
        });
        let text = text.unwrap_or_else(|message| panic!("{change}: {message}"));
        let parsed = serde_json::from_str::<Value>(&text);
        assert!(parsed.is_ok(), "{change}: {parsed:?}");
        if zeros.is_some() {
            let found = text.bytes().filter(|&byte| byte == b'0').count();
            assert_eq!(Some(found), zeros, "{change}");
        }
    }
}

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

/// What needs packages that no plain Python has; run with `--ignored` where they are on `PYTHONPATH`.
mod with_packages {
    use super::{accepts, refuses};

    #[test]
    #[ignore = "needs numpy"]
    fn numpy_scalars_are_their_numbers() {
        accepts(
            "import numpy as np\nx = [np.int64(-3), np.uint64(2**64 - 1), np.int8(1), np.float64(0.1), np.float32(0.5), \
             np.float16(2), np.bool_(True), np.str_('s'), {np.str_('k'): np.intc(4)}]",
            r#"[-3,18446744073709551615,1,0.1,0.5,2.0,true,"s",{"k":4}]"#,
        );
        refuses(
            "import numpy as np\nx = [np.float32('nan')]",
            "`[0]` is nan, which JSON cannot hold",
            "None",
        );
        for (value, what, hint) in [
            ("np.arange(3)", "a `numpy.ndarray`", "tolist()"),
            (
                "np.datetime64('2024-01-01', 'ns')",
                "a `numpy.datetime64`",
                "str(x)",
            ),
            ("np.datetime64('NaT')", "a `numpy.datetime64`", "str(x)"),
            ("np.timedelta64(1, 'ns')", "a `numpy.timedelta64`", "str(x)"),
            ("np.longdouble(1)", "a `numpy.longdouble`", "float(x)"),
            (
                "np.complex64(1)",
                "a `numpy.complex64` (a complex number)",
                "x.real",
            ),
            ("np.bytes_(b'a')", "a `numpy.bytes_` (bytes)", "decode"),
            ("np.void(b'a')", "a `numpy.void`", "tolist()"),
        ] {
            refuses(
                &format!("import numpy as np\nx = [{value}]"),
                &format!("`[0]` is {what}, which JSON cannot hold"),
                hint,
            );
        }
        // The program's own subclass, and a module that is not numpy.
        accepts(
            "import sys, numpy as np\nreal = sys.modules['numpy']\nx = [np.int32(5)]\nsys.modules['numpy'] = 7\n\
             import threading\nsys.modules['numpy'] = real",
            "[5]",
        );
        refuses(
            "import numpy as np\nclass Evil(np.int32):\n  def item(self): 1/0\nx = Evil(1)",
            "the value is an `Evil`, which JSON cannot hold",
            "tolist()",
        );
    }

    #[test]
    #[ignore = "needs pandas"]
    fn data_frames_are_refused_with_their_way_out() {
        for (value, hint) in [
            ("pd.DataFrame({'a': [1]})", "to_dict(\"records\")"),
            ("pd.Series([1])", "tolist()"),
            ("pd.Index([1])", "tolist()"),
            ("pd.Timestamp('2024-01-01')", "isoformat()"),
            ("pd.NA", "None"),
            ("pd.NaT", "None"),
        ] {
            super::with_x(&format!("import pandas as pd\nx = [{value}]"), move |x| {
                match super::to_json(x, usize::MAX, super::Integers::Exact) {
                    Err(refusal) => {
                        println!("{} / {:?}", refusal.message(), refusal.hint());
                        assert!(refusal.hint().is_some_and(|found| found.contains(hint)));
                    }
                    Ok(text) => panic!("{text}"),
                }
            });
        }
    }

    #[test]
    #[ignore = "needs pydantic and attrs"]
    fn models_are_refused_with_their_way_out() {
        refuses(
            "import pydantic\nclass User(pydantic.BaseModel):\n  a: int\nx = [User(a=1)]",
            "`[0]` is a `User`, which JSON cannot hold",
            "model_dump",
        );
        refuses(
            "import attrs\n@attrs.define\nclass P:\n  a: int\nx = [P(1)]",
            "`[0]` is a `P` (an attrs class), which JSON cannot hold",
            "attrs.asdict(x)",
        );
    }
}
