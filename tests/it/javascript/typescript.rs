//! TypeScript: types go, what runs stays, and what is not supported is named.

use serde_json::json;
use warmcell::FailureKind;

use super::on_each_engine;
use crate::support::{Cells, Judge, each};

#[test]
fn what_has_a_meaning_at_run_time_is_kept() {
    on_each_engine(|engine| {
        let session = engine.typescript();
        each(
            [
                (
                    "enum E { A, B = 5, C } [E.A, E.B, E.C, E[5]]",
                    json!([0, 5, 6, "B"]),
                ),
                ("enum S { A = 'a', B = `b` } [S.A, S.B]", json!(["a", "b"])),
                (
                    "const enum K { A = 1 << 3, B = A | 1 } [K.A, K.B]",
                    json!([8, 9]),
                ),
                (
                    "declare enum D { A } enum D2 { A = 'x'.length } D2.A",
                    json!(1),
                ),
                (
                    "namespace N { export const v = 3; export namespace M { export function f() { return v + 1 } } } [N.v, N.M.f()]",
                    json!([3, 4]),
                ),
                ("namespace N { export const w = 4 } N.w", json!(4)),
                (
                    "class Q { constructor(public readonly n: number, private s = 'x', protected t?: string) {} both() { return this.n + this.s } } const q = new Q(1); [q.n, q.both(), 't' in q]",
                    json!([1, "1x", true]),
                ),
                (
                    "abstract class A { abstract f(): number; g() { return this.f() } } class B extends A { override f() { return 2 } } new B().g()",
                    json!(2),
                ),
                (
                    "class P { declare x: number; y?: string; static #z = 1; static z() { return P.#z } } [Object.keys(new P()), P.z()]",
                    json!([["y"], 1]),
                ),
                (
                    "function f(a: number): number; function f(a: string): string; function f(a: any) { return a } f('o')",
                    json!("o"),
                ),
                ("const id = <T,>(v: T): T => v; id<number>(3)", json!(3)),
                (
                    "const o = { a: 1 } satisfies Record<string, number>; (o as any).a!",
                    json!(1),
                ),
                ("let x: unknown = 'text'; (<string>x).length", json!(4)),
                (
                    "type T<K extends string> = { [P in K]?: `${P}!` }; interface I extends Array<T<'a'>> {} const t: T<'a'> = { a: 'a!' }; t",
                    json!({ "a": "a!" }),
                ),
                (
                    "function assert(v: unknown): asserts v {} function is(v: unknown): v is string { return typeof v === 'string' } assert(1); is('x')",
                    json!(true),
                ),
                (
                    "function f(this: { n: number }, ...r: number[]) { return this.n + r.length } f.call({ n: 1 }, 2, 3)",
                    json!(3),
                ),
                (
                    "const t = [1, 'a'] as const; const [n, s]: readonly [number, string] = t; [n, s]",
                    json!([1, "a"]),
                ),
                (
                    "let maybe: { a?: { b: number } } | undefined; maybe?.a!.b ?? 'none'",
                    json!("none"),
                ),
                (
                    "for (const [k, v] of Object.entries({ a: 1 } as Record<string, number>)) { var last: string = k + v } last",
                    json!("a1"),
                ),
                (
                    "const v: number = await Promise.resolve<number>(4); v",
                    json!(4),
                ),
                ("return (1 as number) + 1", json!(2)),
                (
                    "abstract class Shape<T> { static make<U>(this: new () => U): U { return new this() } } class Round extends Shape<string> { r = 1 } Round.make().r",
                    json!(1),
                ),
                (
                    "import type { Gone } from './gone'; const z: Gone = 1; z",
                    json!(1),
                ),
                (
                    "export type { T2 }; type T2 = 1; export interface J {} 6",
                    json!(6),
                ),
                (
                    "let a1: number, b1: string = 'b'; a1 = 1; [a1, b1]",
                    json!([1, "b"]),
                ),
                (
                    "// @ts-ignore\nconst wrong: number = 'text'; wrong",
                    json!("text"),
                ),
            ],
            |(code, value)| {
                session.cell(code).returned(value);
            },
        );
        each(
            [
                "type Only = 1",
                "interface Only { a: 1 }",
                "declare const gone: number",
                "declare global { var x: number }",
                "declare module 'x' { export const y: number }",
                "import type { A } from './a'",
            ],
            |code| {
                session.cell(code).returned_nothing();
            },
        );
    });
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    on_each_engine(|engine| {
        for session in [engine.typescript(), engine.javascript()] {
            session.cell("let keep = 41").succeeded();
            each(
                [
                    ("const d = x => x;\n@d class A {}", "decorators", 2),
                    ("class A { @(x => x) m() {} }", "decorators", 1),
                    ("class A {\n  accessor x = 1 }", "`accessor`", 2),
                    ("{ using r = { [Symbol.dispose]() {} } }", "`using`", 1),
                    ("function f() {\n\n  using r = null }", "`using`", 3),
                    ("await using r = null", "`using`", 1),
                ],
                |(code, what, line)| {
                    let outcome = session.cell(code);
                    let error = outcome.failed(FailureKind::Syntax);
                    assert!(
                        error.message.contains(what),
                        "{code} on {}: {error:#?}",
                        engine.name
                    );
                    assert_eq!(
                        error.line,
                        Some(line),
                        "{code} on {}: {error:#?}",
                        engine.name
                    );
                    assert!(error.hint.is_some(), "{code}: {error:#?}");
                    session.cell("keep").returned(json!(41));
                },
            );
        }
        let session = engine.typescript();
        let outcome =
            session.cell("namespace N {\n export const a = 1\n export let b = 2, c = 3 }");
        let error = outcome.failed(FailureKind::Syntax);
        assert_eq!(
            error.message,
            "a namespace that exports a variable is not supported"
        );
        assert_eq!((error.line, error.hint.is_some()), (Some(3), true));
        for code in ["const x = <div>text</div>", "enum E { A", "let x: = 1"] {
            session.cell(code).failed(FailureKind::Syntax);
        }
    });
}

#[test]
fn positions_are_the_users() {
    on_each_engine(|engine| {
        let session = engine.typescript();
        each(
            [
                ("interface A {\n  a: number\n}\n\nnull.x", "TypeError", 5),
                (
                    "enum E {\n A,\n B\n}\n\nundefined_name",
                    "ReferenceError",
                    6,
                ),
                (
                    "class Q {\n  constructor(public n: number,\n    private s: string) {}\n  f(): void {\n    throw new RangeError('f')\n  }\n}\nnew Q(1, '').f()",
                    "RangeError",
                    5,
                ),
                (
                    "await null;\ntype T = 1;\n\nthrow new TypeError('t')",
                    "TypeError",
                    4,
                ),
                (
                    "namespace N {\n  export const v = 1\n}\nconst f = (a: string) => {\n  return (a as any)()\n}\nf('x')",
                    "TypeError",
                    5,
                ),
            ],
            |(code, name, line)| {
                let outcome = session.cell(code);
                assert_eq!(
                    outcome.raised(name).line,
                    Some(line),
                    "{code} on {}: {outcome:#?}",
                    engine.name
                );
            },
        );
        let outcome = session.cell("const a: number = 1;\nconst b: string = = 2;");
        assert_eq!(outcome.failed(FailureKind::Syntax).line, Some(2));
    });
}
