//! Values made to run code, to break, or to change while they are walked.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use serde_json::Value;

use super::{Integers, Refusal, accepts, refuses, to_json, with_x};

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
    // Names that lie, and a key of a class's dict that a lookup would compare.
    refuses(
        r#"
armed = False
class Key(str):
    def __hash__(self): return hash("__module__")
    def __eq__(self, other):
        if armed: raise RuntimeError("the conversion compared a key")
        return False
Evil = type("numpy.generic", (), {Key("key"): 1, "__module__": "numpy"})
class Liar(Evil):
    __class__ = int
    def item(self): raise RuntimeError("the conversion called item")
x = Liar()
armed = True
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
