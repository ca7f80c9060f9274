//! A program cut into cells at any places gives what it gives in one.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::on_each_engine;
use crate::support::Cells;

#[test]
fn a_program_may_be_cut_into_cells_anywhere() {
    let inputs = (
        prop::collection::vec(statement(), 1..14),
        prop::collection::vec(any::<bool>(), 14),
    );
    on_each_engine(|engine| {
        let config = Config {
            cases: 200,
            failure_persistence: None,
            ..Config::default()
        };
        let (whole, cut) = (engine.javascript(), engine.javascript());
        TestRunner::new(config)
            .run(&inputs, |(statements, cuts)| {
                // What a statement declares has its number in its name, so that one program may hold it twice.
                let numbered = statements.iter().enumerate();
                let statements: Vec<String> = numbered
                    .map(|(number, statement)| statement.replace('$', &number.to_string()))
                    .collect();
                for session in [&whole, &cut] {
                    session.reset_now();
                    let prelude = session.cell(PRELUDE);
                    prop_assert!(prelude.ok, "{prelude:#?}");
                }
                let program = statements.join("\n;");
                let at_once = whole.cell(&format!("{program}\n;{SUMMARY}"));
                let (mut stdout, mut cell) = (String::new(), String::new());
                for (statement, cut_here) in statements.iter().zip(cuts) {
                    cell.push_str(statement);
                    cell.push_str("\n;");
                    if cut_here {
                        let outcome = cut.cell(&cell);
                        prop_assert!(outcome.ok, "{cell}\n{outcome:#?}");
                        stdout.push_str(&outcome.stdout);
                        cell.clear();
                    }
                }
                let last = cut.cell(&format!("{cell}{SUMMARY}"));
                stdout.push_str(&last.stdout);
                prop_assert!(at_once.ok && last.ok, "{program}\n{at_once:#?}\n{last:#?}");
                let text = |outcome: &warmcell::Outcome| {
                    outcome
                        .value
                        .as_ref()
                        .map(|value| value.as_str().to_owned())
                };
                prop_assert!(text(&last).is_some(), "{last:#?}");
                prop_assert_eq!(text(&last), text(&at_once), "{}", program);
                prop_assert_eq!(stdout, at_once.stdout, "{}", program);
                Ok(())
            })
            .unwrap();
    });
}

/// `read` and `bump` close over bindings that later statements give other values.
const PRELUDE: &str = "let a = 1, b = 2; var c = 'c'; let rows = [1, 2, 3]; const table = new Map([['k', 1]]);\n\
    function f(x) { return (x + 1) % 1000 }\n\
    class C { static n = 0; m() { return f(C.n) } }\n\
    const read = () => [a, b, c], bump = () => { a++; b = a % 50 }, made = [];";

const SUMMARY: &str = "[a, b, c, rows, [...table], f(1), C.n, new C().m(), read(), made.map(g => g()), typeof newA, typeof newB, typeof bare]";

/// Statements over a few names, none of which fails, and each of which may stand twice in one cell.
fn statement() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b"]);
    let number = -9i64..100;
    prop_oneof![
        (name.clone(), number.clone()).prop_map(|(name, n)| format!("{name} = {n};")),
        (name.clone(), name.clone(), number.clone())
            .prop_map(|(to, from, n)| format!("{to} = {from} * 3 + {n}")),
        (name.clone(), number.clone()).prop_map(|(name, n)| format!("{name} += {n}; {name}++")),
        number.clone().prop_map(|n| format!("var c = 'v{n}'")),
        number.clone().prop_map(|n| format!("var newA = {n}, [newB] = [newA + a]")),
        number.clone().prop_map(|n| format!("bare = {n}; bare += a")),
        number.clone().prop_map(|n| format!("rows.push({n})")),
        number.clone().prop_map(|n| format!("rows = rows.map(x => x + {n}).slice(-5)")),
        (name.clone(), number.clone())
            .prop_map(|(name, n)| format!("table.set(String({name} % 7), {n})")),
        name.clone().prop_map(|name| format!("console.log({name}, rows.at(-1), c, read())")),
        Just("bump()".to_owned()),
        Just("made.push(() => a + b)".to_owned()),
        Just("for (let i = 0; i < 2; i++) made.push(() => i * 10 + a)".to_owned()),
        number.clone().prop_map(|n| format!("{{ let a = {n}; const own = a; made.push(() => own + ++a + b) }}")),
        number.clone().prop_map(|n| format!("f = (g => x => (g(x) + {n}) % 97)(f)")),
        number.clone().prop_map(|n| format!("C = class extends C {{ static n = {n} }}")),
        number.clone().prop_map(|n| format!("for (let i = 0; i < {n} % 4; i++) {{ a += i; if (a % 2) continue; b -= 1 }}")),
        number.clone().prop_map(|n| format!("if (a > {n}) {{ c = c.slice(-3) + 'b' }} else {{ var newB = {n} }}")),
        Just("try { if (b % 2) throw new RangeError('odd'); b++ } catch (e) { c = e.name.slice(0, 4) } finally { b += 1 }".to_owned()),
        Just("while (b > 50) { b = Math.floor(b / 2); if (b % 3 === 0) break }".to_owned()),
        Just("a = await Promise.resolve(a % 1000)".to_owned()),
        Just("await null; b = await (async x => { await null; return x + 1 })(b % 1000)".to_owned()),
        Just("[a, b] = [b % 1000, a % 1000]".to_owned()),
        Just("({ x: a, y: [b = 7] } = { x: b % 1000, y: [] })".to_owned()),
        Just("switch (a % 3) { case 0: c = 'zero'; break; default: c = 'n\\n' + b }".to_owned()),
        Just("a = (\n  a\n  + 1\n)".to_owned()),
        Just("// a comment\nc ??= 'none' /* and another */".to_owned()),
        Just("outer: for (const x of rows) { for (const y of rows) { if (y > x) continue outer; a = (a + x - y) % 1000 } }".to_owned()),
        number.clone().prop_map(|n| format!("let own$ = {n} + a; const read$ = () => [own$, a]; made.push(read$); own$ += 1")),
        Just("function later$(x = a) { return x + b } made.push(later$)".to_owned()),
        Just("made.push(early$); function early$() { return f(a % 10) }".to_owned()),
        Just("class Own$ { #a = a; get a() { return this.#a } } a += new Own$().a % 7".to_owned()),
        Just("const { length: size$, 0: first$ = 0 } = rows; made.push(() => size$ + first$)".to_owned()),
        Just("rows = [...(function* () { yield* rows; yield b })()].slice(-4)".to_owned()),
    ]
}
