//! What needs packages that no plain Python has; run with `--ignored` where they are on `PYTHONPATH`.

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
    // What `sys.modules` calls numpy does not matter.
    accepts(
        "import sys, numpy as np\nsys.real = sys.modules['numpy']\nsys.modules['numpy'] = 7\nx = [np.int32(5)]",
        "[5]",
    );
    accepts(
        "import sys\nsys.modules['numpy'] = sys.real\ndel sys.real\nx = 0",
        "0",
    );
    // The program's own subclass may define anything, so it is not asked.
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
        super::with_x(
            &format!("import pandas as pd\nx = [{value}]"),
            move |x| match super::to_json(x, usize::MAX, super::Integers::Exact) {
                Err(refusal) => {
                    assert!(refusal.hint().is_some_and(|found| found.contains(hint)));
                }
                Ok(text) => panic!("{text}"),
            },
        );
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
