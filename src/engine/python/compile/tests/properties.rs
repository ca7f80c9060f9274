//! Open inputs, held against `ast` and against functions.

use proptest::prelude::*;

use super::*;

/// How often the scan is not sure on code as people write it, and never wrong.
#[test]
#[expect(clippy::print_stdout, reason = "the figures are the point")]
fn prefixes_of_the_standard_library_end_as_their_trees_say() {
    with_python(|bench| {
        let prefixes = bench.support.call_method1("prefixes", (1, 5000))?;
        let (mut cells, mut values, mut returns, mut early, mut unclear) = (0, 0, 0, 0, 0);
        for prefix in prefixes.try_iter()? {
            let source: String = prefix?.extract()?;
            let (wanted, got, differs) = bench.against_tree(&source)?;
            assert_eq!(got, wanted, "{source}");
            assert!(!differs, "{source}");
            cells += 1;
            values += usize::from(wanted == "Expression");
            returns += usize::from(wanted == "Return");
            match scan(&source, bench.compiler.nested_f_strings).shape {
                Shape::Unclear => unclear += 1,
                Shape::EarlyReturn { .. } => early += 1,
                _ => {}
            }
        }
        println!(
            "{cells} cells: {values} with a last expression, {returns} with a return at the end, \
             {early} with another return, {unclear} unclear"
        );
        assert_eq!(cells, 5000);
        assert!(unclear * 100 < cells, "{unclear} of {cells} are unclear");
        Ok(())
    });
}

fn simple() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "x = 1",
        "x",
        "1 + 1",
        "'''a\nb'''",
        "'a'",
        "f(1,\n  2)",
        "x: int = 2",
        "x == 1",
        "x += 1",
        "{'a': 1}",
        "[1,\n2]",
        "*x, y",
        "x, *y",
        "*x, y = z",
        "lambda: 1",
        "lambda a=1: a",
        "a, lambda: 1",
        "f = lambda: 1",
        "del x",
        "pass",
        "import a",
        "await x",
        "yield",
        "return",
        "return 1",
        "return x, *y",
        "raise x",
        "x;",
        "",
        "f'{x:>{y}}' if x else \"a;b\"",
        "not x",
        "x = '''\n1'''",
        "(\n)",
        "x if y else z",
        "print(x)",
        "global g",
        "match",
        "match[1]",
        "match = 1",
        "type",
        "x <= y",
        "x <<= y",
        "x != y",
        "b'#'",
        "return await x",
        "x \\\n+ 1",
        "from a import (b,\n c)",
        "assert x, '='",
        "x[a:b]",
        "x[a:b] = 1",
        "x @ y",
        "x ** y",
        "\"\\\"\"",
        "é",
    ])
    .prop_map(str::to_owned)
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => simple(),
        2 => prop::collection::vec(simple(), 1..3).prop_map(|all| all.join("; ")),
        1 => simple().prop_map(|one| format!("{one};")),
        1 => simple().prop_map(|one| format!("{one}  # x = 1; y")),
        1 => simple().prop_map(|one| format!("if x: {one}")),
        1 => simple().prop_map(|one| format!("if x:\n    {one}\nelse:\n    {one}")),
        1 => simple().prop_map(|one| format!("try:\n    {one}\n\nexcept E: {one}\nfinally:\n\t{one}")),
        1 => simple().prop_map(|one| format!("def f():\n    {one}\n# end")),
        1 => simple().prop_map(|one| format!("@f\n\nclass A:\n    x = 1\n    def f(self): {one}")),
        1 => simple().prop_map(|one| format!("for i in x:\n    while y: {one}\nelse: pass")),
        1 => simple().prop_map(|one| format!("match x:\n    case 1: {one}\n    case {{'a': 1}}:\n        {one}")),
        1 => Just("# comment = ;".to_owned()),
        1 => Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_statements_end_as_their_tree_says(statements in prop::collection::vec(statement(), 1..5)) {
        let source = statements.join("\n");
        let (wanted, got, differs) = with_python({ let source = source.clone(); move |bench| bench.against_tree(&source) });
        // `return 1, *x` needs the tree, and `return` at the end of it does not: both are right.
        let is_same = wanted == got || wanted == "Return" && got == "Flagged";
        prop_assert!(is_same, "{} is {} and not {}", source, wanted, got);
        prop_assert!(!differs || got == "Flagged", "{}", source);
    }

    #[test]
    fn any_text_is_scanned(source in "[a-z ='\"\\\\\n#(){}:;*\t\u{c}é]{0,40}", nested in any::<bool>()) {
        let scanned = scan(&source, nested);
        prop_assert!(scanned.first <= source.len());
    }

    #[test]
    fn any_text_compiles_or_fails_as_a_whole(source in "[xf1 ='\"\\\\\n#(){}:;*\t\u{c}]{0,12}") {
        let (wanted, got, differs) = with_python({ let source = source.clone(); move |bench| bench.against_tree(&source) });
        if wanted != "error" {
            prop_assert_eq!(&got, &wanted);
            prop_assert!(!differs);
        }
    }

    #[test]
    fn a_return_in_a_cell_does_what_it_does_in_a_function(
        body in body(4, false),
        flips in prop::collection::vec(any::<bool>(), 0..24),
    ) {
        let source = format!("{body}\npass\n");
        let cell_source = source.clone();
        let (function, cell) = with_python(move |bench| {
            let source = cell_source;
            let trial = bench.support.call_method1("Trial", (flips,))?;
            let function: String = trial.call_method1("as_function", (&source,))?.extract()?;
            let compiled = bench.compile(&source)?;
            let globals = trial.call_method0("globals")?.cast_into::<PyDict>()?;
            let run = bench.run(&compiled, &globals);
            let result = match (run, take_flagged(bench.py, &compiled)?) {
                (Err(_), _) => "raised".to_owned(),
                (Ok(_), Returned::Value(value)) => value.bind(bench.py).repr()?.to_string(),
                (Ok(_), _) => "None".to_owned(),
            };
            let cell = (result, globals.get_item("entries")?).into_pyobject(bench.py)?.repr()?;
            Ok((function, cell.to_string()))
        });
        prop_assert_eq!(cell, function, "{}", source);
    }
}

/// A block of code that logs what it does, with returns, loops, handlers and context managers in each other.
fn body(depth: u32, in_loop: bool) -> BoxedStrategy<String> {
    let number = 0..100_u32;
    let mut leaves = vec![
        number
            .clone()
            .prop_map(|number| format!("log({number})"))
            .boxed(),
        number
            .clone()
            .prop_map(|number| format!("if flip(): return {number}"))
            .boxed(),
        number.prop_map(|number| format!("return {number}")).boxed(),
        Just("if flip(): return".to_owned()).boxed(),
        Just("if flip(): raise Error".to_owned()).boxed(),
    ];
    if in_loop {
        leaves.push(Just("if flip(): break".to_owned()).boxed());
        leaves.push(Just("if flip(): continue".to_owned()).boxed());
    }
    let leaf = prop::strategy::Union::new(leaves).boxed();
    if depth == 0 {
        return leaf;
    }
    let inner = body(depth - 1, in_loop);
    let looped = body(depth - 1, true);
    let two = (inner.clone(), inner.clone());
    let three = (inner.clone(), inner.clone(), inner.clone());
    prop_oneof![
        3 => leaf,
        2 => two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
        1 => two.clone().prop_map(|(a, b)| format!("if flip():\n{}\nelse:\n{}", indent(&a), indent(&b))),
        2 => (looped.clone(), inner.clone()).prop_map(|(a, b)| {
            format!("for _ in range(2):\n{}\nelse:\n{}", indent(&a), indent(&b))
        }),
        1 => looped.prop_map(|a| format!("while flip():\n{}", indent(&a))),
        2 => two.clone().prop_map(|(a, b)| format!("try:\n{}\nfinally:\n{}", indent(&a), indent(&b))),
        2 => two.prop_map(|(a, b)| format!("try:\n{}\nexcept Error:\n{}", indent(&a), indent(&b))),
        1 => three.prop_map(|(a, b, c)| {
            format!("try:\n{}\nexcept Error:\n{}\nelse:\n    log(0)\nfinally:\n{}", indent(&a), indent(&b), indent(&c))
        }),
        2 => inner.prop_map(|a| format!("with Suppress():\n{}", indent(&a))),
    ]
    .boxed()
}

fn indent(block: &str) -> String {
    block
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect::<String>()
        .trim_end()
        .to_owned()
}
