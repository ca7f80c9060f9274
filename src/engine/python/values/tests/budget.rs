//! The budget: exact, and a bound on the work too.

use std::time::{Duration, Instant};

use super::{Integers, to_json, to_json_into, with_x};

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
