use super::*;

fn javascript(source: &str) -> Rewritten {
    rewrite(source, Flavour::JavaScript, &|_| false)
        .unwrap_or_else(|fault| panic!("{source}: {fault:?}"))
}

fn typescript(source: &str) -> Rewritten {
    rewrite(source, Flavour::TypeScript, &|_| false)
        .unwrap_or_else(|fault| panic!("{source}: {fault:?}"))
}

fn fault(source: &str) -> SyntaxFault {
    rewrite(source, Flavour::JavaScript, &|_| false)
        .err()
        .unwrap_or_else(|| panic!("{source} was taken"))
}

#[test]
fn declarations_become_assignments() {
    for (source, code) in [
        ("1 + 1", "1 + 1"),
        ("let a = 1, b;", "void( a = 1, b=void 0);"),
        ("const {a, ...rest} = o", "void( {a, ...rest} = o)"),
        ("var v; v", "void( v); v"),
        ("if (x) var y = 1", "if (x) void( y = 1)"),
        (
            "for (var i = 0, n; i < 3; i++) {}",
            "for (    i = 0, n; i < 3; i++) {}",
        ),
        ("for (var x of xs) {}", "for (    x of xs) {}"),
        (
            "for (let i = 0; i < 3; i++) {}",
            "for (let i = 0; i < 3; i++) {}",
        ),
        ("class A {}", "void(A=class A {});"),
        (
            "function f(x) { return x }",
            "void(f=function (x) { return x });void 0;",
        ),
        (
            "async function* g() {} 1",
            "void(g=async function* () {}); 1",
        ),
        (
            "f(); function f() { a = 1 }",
            "void(f=function () { a = 1 });f(); ;void 0;",
        ),
        (
            "let y; export const x = 1; export { y };",
            "void( y=void 0); void( x = 1); ;",
        ),
        ("export default 5", "(5);"),
    ] {
        assert_eq!(javascript(source).code, code, "{source}");
    }
}

#[test]
fn cells_that_await_or_return_become_functions() {
    for (source, code, awaits) in [
        ("return 2", "($tail=>{return 2\n})", false),
        (
            "await x // note",
            "(async $tail=>{return $tail(await x) // note\n})",
            true,
        ),
        (
            "if (a) { return 1 } else b",
            "($tail=>{if (a) { return 1 } else return $tail(b)\n})",
            false,
        ),
        (
            "try { await f() } catch (e) { e.code }",
            "(async $tail=>{try { return $tail(await f()) } catch (e) { return $tail(e.code) }\n})",
            true,
        ),
        (
            "for await (const x of xs) { x }",
            "(async $tail=>{for await (const x of xs) { x }\n})",
            true,
        ),
        (
            "import d, {a as b} from 'm'\nb",
            "(async $tail=>{{const $module=await import(\"m\");d=$warmcell.imported($module,\"default\",\"m\");\
             b=$warmcell.imported($module,\"a\",\"m\");}\nreturn $tail(b)\n})",
            true,
        ),
    ] {
        let rewritten = javascript(source);
        assert_eq!(rewritten.code, code, "{source}");
        assert_eq!(rewritten.form, Form::Function { awaits }, "{source}");
    }
    assert_eq!(
        javascript("async () => { await 1; return 2 }").form,
        Form::Script
    );
}

#[test]
fn names_are_noted_by_kind() {
    let rewritten = javascript(
        "let a; const {b, c: [d]} = o; function f() {} class G {} { var h } bare = inner",
    );
    let names: Vec<_> = rewritten
        .declared
        .iter()
        .map(|(name, kind)| (name.as_str(), *kind))
        .collect();
    use DeclarationKind::{Class, Constant, Function, Variable};
    assert_eq!(
        names,
        [
            ("a", Variable),
            ("b", Constant),
            ("d", Constant),
            ("f", Function),
            ("G", Class),
            ("h", Variable)
        ]
    );
    assert_eq!(rewritten.assigned, ["bare"]);
    assert!(javascript("'use strict'; bare = 1").assigned.is_empty());
}

#[test]
fn constants_refuse_assignment_where_it_runs() {
    for (source, code) in [
        (
            "const a = 1; a = 2",
            "void( a = 1); $warmcell.constant.a = 2",
        ),
        (
            "k++; k += 1",
            "$warmcell.constant.k++; $warmcell.constant.k += 1",
        ),
        ("k ??= f()", "k??($warmcell.constant.k=f())"),
        (
            "({ k, x: k = 1 } = o)",
            "({ k:$warmcell.constant.k, x: $warmcell.constant.k = 1 } = o)",
        ),
        ("for (k of xs) {}", "for ($warmcell.constant.k of xs) {}"),
        ("{ let k; k = 1 }", "{ let k; k = 1 }"),
        ("let k = 1; k = 2", "void( k = 1); k = 2"),
    ] {
        let rewritten = rewrite(source, Flavour::JavaScript, &|name| name == "k")
            .map(|rewritten| rewritten.code);
        assert_eq!(rewritten.as_deref(), Ok(code), "{source}");
    }
}

#[test]
fn what_is_read_before_its_declaration_throws_where_it_is_read() {
    for (source, code) in [
        ("f(x); let x = 1", "f($warmcell.early.x); void( x = 1)"),
        (
            "let y = { x }, z = [x.a]; { x() } const x = () => x;",
            "void( y = { x:$warmcell.early.x }, z = [$warmcell.early.x.a]); { $warmcell.early.x() } void( x = () => x);",
        ),
        (
            "const f = () => x; x = 2; { let x; x } let x = 1; x",
            "void( f = () => x); x = 2; { let x; x } void( x = 1); x",
        ),
        ("let x = x + 1", "void( x = x + 1)"),
        (
            "new A; class A { b = A }",
            "new $warmcell.early.A; void(A=class A { b = A });",
        ),
        ("v; var v = 1", "v; void( v = 1)"),
    ] {
        assert_eq!(javascript(source).code, code, "{source}");
    }
}

#[test]
fn a_cell_that_is_an_object_literal_is_one() {
    assert_eq!(javascript("{ a: 1, b }").code, "({ a: 1, b }\n)");
    assert_eq!(javascript("{ let a = 1 }").code, "{ let a = 1 }");
    assert_eq!(
        javascript("{ a: await f() }").form,
        Form::Function { awaits: true }
    );
}

#[test]
fn what_cannot_run_says_so_with_its_place() {
    for (source, message, line, column) in [
        ("const a = 1;\nconst b = = 2;", "Unexpected token", 2, 11),
        (
            "let a;\nlet a;",
            "Identifier `a` has already been declared",
            1,
            5,
        ),
        ("})(); 1; (async () => {", "Unexpected token", 1, 1),
        (
            "f();\n{ using x = y }",
            "`using` declarations are not supported",
            2,
            3,
        ),
        (
            "import.meta.url",
            "`import.meta` is not available in a cell",
            1,
            1,
        ),
        (
            "const a = 1;\nconst b = <div>hi</div>;",
            "JSX is not supported",
            2,
            11,
        ),
        ("f(<br/>)", "JSX is not supported", 1, 3),
    ] {
        let fault = fault(source);
        assert_eq!(
            (fault.message.as_str(), fault.position),
            (message, Some(Position { line, column })),
            "{source}"
        );
    }
    let decorated =
        rewrite("@d class A {}", Flavour::TypeScript, &|_| false).map(|rewritten| rewritten.code);
    assert_eq!(
        decorated.map_err(|fault| fault.message),
        Err("decorators are not supported".to_owned())
    );
}

#[test]
fn deep_nesting_is_a_fault_and_never_a_crash() {
    for (opening, middle, closing) in [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("{", "", "}"),
        ("`${", "1", "}`"),
        ("a=>", "1", ""),
        ("function f(){", "", "}"),
        ("1?1:", "1", ""),
        ("if(0){}else ", "{}", ""),
        ("!", "1", ""),
        ("1+", "1", ""),
        ("1**", "1", ""),
        ("a=", "1", ""),
        ("try{", "", "}finally{}"),
        ("(class{a=", "1", "})"),
    ] {
        let times = 100_000 / opening.len();
        let source = format!("{}{middle}{}", opening.repeat(times), closing.repeat(times));
        assert_eq!(
            fault(&source).message,
            "the code is nested too deeply",
            "{opening}"
        );
        // Unclosed it does not even parse.
        let _ = rewrite(&opening.repeat(times), Flavour::JavaScript, &|_| false);
    }
    let _ = javascript(&format!("{}1{}", "[".repeat(500), "]".repeat(500)));
    assert!(
        fault(&" ".repeat(MAX_SOURCE + 1))
            .message
            .contains("1048577 bytes")
    );
}

#[test]
fn typescript_loses_its_types_and_keeps_its_positions() {
    let source = "interface Row {\n  a: number;\n}\n\nconst rows: Row[] = [];\nenum E { A, B = 5 }\n  rows[0].a;";
    let rewritten = typescript(source);
    let line = rewritten
        .code
        .lines()
        .position(|line| line.contains("rows[0]"));
    let line = line.unwrap_or_else(|| panic!("{}", rewritten.code)) as u32 + 1;
    let place = rewritten.positions.locate(Position { line, column: 1 });
    assert_eq!(place.line, 7);
    assert_eq!(rewritten.positions.line(7), Some("  rows[0].a;"));
    let names: Vec<_> = rewritten
        .declared
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["rows", "E"]);
    assert!(
        typescript("type Only = { a: 1 }")
            .code
            .trim()
            .trim_matches(';')
            .is_empty()
    );
    assert_eq!(
        typescript("import { a } from 'm'").form,
        Form::Function { awaits: true }
    );
}

#[test]
fn positions_lead_back_through_hoisted_functions() {
    let source = "const early = twice(4);\nfunction twice(x) {\n  return 2 * boom;\n}\nearly";
    let rewritten = javascript(source);
    let generated = position_of(
        &rewritten.code,
        rewritten.code.find("boom").unwrap_or(0) as u32,
    );
    assert_eq!(
        rewritten.positions.locate(generated),
        Position {
            line: 3,
            column: 14
        }
    );
    let generated = position_of(
        &rewritten.code,
        rewritten.code.rfind("early").unwrap_or(0) as u32,
    );
    assert_eq!(
        rewritten.positions.locate(generated),
        Position { line: 5, column: 1 }
    );
}
