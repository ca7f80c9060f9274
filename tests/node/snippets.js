// What everyday code computes: the language and its library as agents use them.

//: sum a column
const rows = [{ qty: 2, price: 9.99 }, { qty: 1, price: 5 }]; return rows.reduce((sum, { qty, price }) => sum + qty * price, 0).toFixed(2);

//: group by key
const items = [{ t: 'a', n: 1 }, { t: 'b', n: 2 }, { t: 'a', n: 3 }]; return Object.groupBy?.(items, (i) => i.t) ?? items.reduce((g, i) => ({ ...g, [i.t]: [...(g[i.t] ?? []), i] }), {});

//: count words
const counts = {}; for (const w of 'the cat and the dog and the bird'.split(' ')) counts[w] = (counts[w] || 0) + 1; return Object.entries(counts).sort(([a, x], [b, y]) => y - x || a.localeCompare(b));

//: deduplicate
return [[...new Set([3, 1, 3, 2, 1])], [{ id: 1 }, { id: 1 }, { id: 2 }].filter((x, i, all) => all.findIndex((y) => y.id === x.id) === i)];

//: sort by several keys
return [{ n: 'b', a: 2 }, { n: 'a', a: 2 }, { n: 'c', a: 1 }].sort((x, y) => y.a - x.a || (x.n < y.n ? -1 : 1)).map((x) => x.n);

//: sort is stable
return Array.from({ length: 50 }, (_, i) => ({ k: i % 3, i })).sort((x, y) => x.k - y.k).map((x) => x.i);

//: default sort is by text
return [[10, 9, 1, undefined, 100].sort().map((x) => x ?? 'u'), ['B', 'a', 'C'].sort(), [3, 1, 2].toSorted((a, b) => b - a)];

//: destructuring
const { a, b: { c = 5, ...more } = {}, ...rest } = { a: 1, b: { d: 2, e: 3 }, f: 4 }; const [x, , y = 9, ...zs] = [1, 2, undefined, 4, 5]; return [a, c, more, rest, x, y, zs];

//: defaults and rest
const f = ({ a = 1, b: { c } = { c: 2 } } = {}, ...r) => [a, c, r]; return [f(), f({ a: 5 }, 1, 2), f.length];

//: spread
return [Math.max(...[1, 5, 3]), { ...{ a: 1, b: 2 }, b: 3 }, [...'héy'], [...[1, 2], ...new Set([3])], { ...[7, 8] }, { ...null }];

//: optional chaining
const o = { a: { b: null, f: () => 7 } }; return [o?.a?.b?.c ?? 'none', o.x?.(), o.a?.f?.(), o?.['a']?.b, delete o?.a?.b].map((v) => v ?? null);

//: logical assignment
let x = null; x ??= 5; let y = 0; y ||= 7; let z = 1; z &&= 8; return [x, y, z];

//: numeric literals
return [1_000_000, 0b11, 0o17, 0xff, 1e3, .5, 2 ** 10, (-2) ** 2, 5 % 3, -5 % 3];

//: number formatting
return [(0.1 + 0.2).toFixed(2), (1234.5678).toFixed(1), (255).toString(16), (255).toString(2), (0.5).toString(2), (1e21).toString(), (123.456).toPrecision(4), (0.00001).toString(), (1.005).toFixed(2), (-1.5).toFixed(0), (123.456).toExponential(2), (25).toString(36)];

//: number parsing
return [Number('42'), Number(''), Number(' 12 '), Number('0x1f'), String(Number('12px')), parseInt('12px'), parseInt('101', 2), parseFloat('3.14abc'), +'5', String(+[]), Number.isInteger(5.0), Number.isSafeInteger(2 ** 53), isNaN('x'), Number.isNaN('x')];

//: coercions
return [1 + '2', '3' * '4', [] + [], [] + {}, null + 1, true + true, '5' - 2, [1, 2] + '', String([1, [2, 3]]), `${[1, 2]}`, `${{}}`, !!'0', null == undefined, NaN === NaN];

//: math
return [Math.round(2.5), Math.round(-2.5), Math.trunc(-1.5), Math.sign(-3), Math.hypot(3, 4), Math.cbrt(27), Math.log2(8), Math.log10(1000), Math.clz32(1), Math.fround(5.5), Math.imul(3, 4), Math.min(), Math.floor(-0.5)].map(String);

//: BigInt
return [(2n ** 64n).toString(), (7n / 2n).toString(), (-7n % 3n).toString(), BigInt.asUintN(8, 257n).toString(), typeof 1n, 1n < 2, 2n == 2, BigInt('0xff').toString(), (123456789012345678901234567890n * 987654321n).toString(), Number(10n)];

//: string methods
return ['abc'.padEnd(5, '-'), '5'.padStart(3, '0'), ' a '.trim(), 'abc'.at(-1), 'abcabc'.lastIndexOf('b'), 'abc'.includes('b'), 'abc'.startsWith('b', 1), 'Hello'.slice(-3), 'Hello'.substring(3, 1), 'ab'.repeat(2), 'aBc'.toUpperCase(), 'x'.concat(1, null), 'abc'.charAt(9), 'a'.codePointAt(0), String.fromCodePoint(128512)];

//: unicode
return ['😀'.length, [...'😀a'].length, '😀'.codePointAt(0), 'é'.normalize('NFD').length, 'ß'.toUpperCase(), 'İ'.toLowerCase().length, 'Straße'.localeCompare('Straße'), encodeURIComponent('ä &'), 'ab'.isWellFormed?.() ?? true];

//: title case
return 'the quick brown fox'.replace(/\b\w/g, (c) => c.toUpperCase());

//: camel and snake
const snake = (s) => s.replace(/([A-Z])/g, '_$1').toLowerCase(); const camel = (s) => s.replace(/_(\w)/g, (_, c) => c.toUpperCase()); return [snake('someLongName'), camel('some_long_name')];

//: slugs
return 'Héllo, Wörld! 2x'.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');

//: named groups
const m = 'on 2024-03-05'.match(/(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/); return [m.index, { ...m.groups }, m[0], m.length];

//: matchAll
return [...'a1b22c333'.matchAll(/([a-z])(\d+)/g)].map((m) => [m[1], Number(m[2]), m.index]);

//: lookbehind and lookahead
return ['price: $30'.match(/(?<=\$)\d+/)[0], 'foobar'.replace(/(?<!x)bar/, 'B'), '1234567'.replace(/\B(?=(\d{3})+(?!\d))/g, ','), 'a1'.match(/a(?!2)/)[0]];

//: unicode expressions
return [/\p{Lu}/u.test('É'), /^\p{L}+$/u.test('日本'), /^.$/u.test('😀'), /^.$/.test('😀'), /[\p{L}--[a-z]]/v.test('a')];

//: sticky and global
const re = /a./y; re.lastIndex = 2; const g = /o/g; return [re.test('xxab'), re.lastIndex, g.test('foo'), g.lastIndex, g.test('foo'), g.test('foo'), 'a\nb'.match(/a.b/s)[0].length, /^b/m.test('a\nb')];

//: exec in a loop
const re = /(\w+)=(\w+)/g; const out = {}; let m; while ((m = re.exec('a=1&b=2')) !== null) out[m[1]] = m[2]; return out;

//: validate emails
return ['a@b.co', 'bad', 'x.y+z@sub.example.org'].map((s) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(s));

//: template tags
const tag = (s, ...v) => s.raw.join('|') + v.join(','); return [tag`a${1}\n${2}c`, String.raw`\n${1}`, `a${`b${1}`}`];

//: private fields
class A { #x = 1; static #n = 0; static next() { return ++A.#n } get x() { return this.#x } set x(v) { this.#x = v } #m() { return 5 } m() { return this.#m() } static { this.z = 3 } has(o) { return #x in o } }
const a = new A(); a.x = 4; return [a.x, A.next(), A.next(), a.m(), A.z, a.has(a), a.has({})];

//: inheritance
class B { constructor(n) { this.n = n } who() { return 'B' + this.n } static make(n) { return new this(n) } } class C extends B { who() { return 'C' + super.who() } } return [C.make(1).who(), C.make(2) instanceof B, C.name, new C(3).constructor.name, Object.getPrototypeOf(C) === B];

//: extending Array
class S extends Array { sum() { return this.reduce((a, b) => a + b, 0) } } const s = S.from([1, 2, 3]); return [s.sum(), s.map((x) => x * 2).sum(), s.filter(Boolean) instanceof S, s.length, Array.isArray(s)];

//: own errors
class E extends Error { constructor(m, code) { super(m); this.name = 'E'; this.code = code } } try { throw new E('x', 7) } catch ({ name, message, code }) { return [name, message, code] }

//: error causes
try { try { null.x } catch (e) { throw new Error('outer', { cause: e }) } } catch (e) { return [e.message, e.cause.name, e.cause instanceof TypeError, String(e), Object.keys(e)] }

//: finally
const log = []; const f = () => { try { log.push('try'); return 'r' } finally { log.push('finally') } }; return [f(), log, (() => { try { throw 1 } catch { return 2 } finally { return 3 } })()];

//: generators
function* g() { const x = yield 1; try { yield x * 2 } finally { yield 'f' } } const it = g(); return [it.next().value, it.next(5).value, it.return(7).value, it.next()];

//: a lazy range
function* range(a, b, s = 1) { for (let i = a; i < b; i += s) yield i } const [first, ...rest] = range(0, 5); return [first, rest, [...range(0, 1, 0.25)], Array.from(range(3, 6), (x) => x * x)];

//: yield*
function* a() { const r = yield* b(); yield r } function* b() { yield 1; return 2 } return [...a()];

//: iterables
const o = { from: 1, to: 4, *[Symbol.iterator]() { for (let i = this.from; i <= this.to; i++) yield i } }; return [[...o], Math.max(...o), Array.from(o), new Set(o).size, Object.fromEntries(new Map([...o].map((x) => [x, x * x])))];

//: async iteration
async function* g() { for (let i = 0; i < 3; i++) { await null; yield i } } const out = []; for await (const x of g()) out.push(x); for await (const x of [Promise.resolve('p'), 'q']) out.push(x); return out;

//: promise combinators
const late = (v, ms) => new Promise((r) => setTimeout(r, ms, v)); return [await Promise.all([1, late(2, 2)]), await Promise.race([late('slow', 30), late('fast', 1)]), (await Promise.allSettled([1, Promise.reject(2)])).map((s) => s.status), await Promise.any([Promise.reject(1), late(3, 1)])];

//: the order of microtasks
const log = []; setTimeout(() => log.push('timeout')); Promise.resolve().then(() => log.push('then')).then(() => log.push('then 2')); queueMicrotask(() => log.push('micro')); log.push('sync'); await new Promise((r) => setTimeout(r, 10)); return log;

//: await order
const log = []; const f = async (n) => { log.push(n + 1); await null; log.push(n + 2) }; await Promise.all([f(10), f(20)]); return log;

//: promise errors
const boom = async () => { throw new Error('b') }; const out = []; try { await boom() } catch (e) { out.push(e.message) } out.push(await boom().catch((e) => 'caught ' + e.message)); out.push(await Promise.reject(1).finally(() => {}).then(null, (x) => x + 1)); return out;

//: retry
let tries = 0; const flaky = async () => { if (++tries < 3) throw new Error('not yet'); return 'done' }; const retry = async (f, n) => { for (let i = 0; ; i++) try { return await f() } catch (e) { if (i >= n) throw e } }; return [await retry(flaky, 5), tries];

//: limit concurrency
const ids = [1, 2, 3, 4, 5]; let busy = 0, most = 0; const work = async (i) => { most = Math.max(most, ++busy); await new Promise((r) => setTimeout(r, 1)); busy--; return i * 10 }; const out = []; const queue = [...ids]; await Promise.all([0, 1].map(async () => { let i; while ((i = queue.shift()) !== undefined) out[ids.indexOf(i)] = await work(i) })); return [out, most];

//: debounce
const calls = []; const debounce = (f, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(() => f(...a), ms) } }; const d = debounce((x) => calls.push(x), 5); d(1); d(2); d(3); await new Promise((r) => setTimeout(r, 40)); return calls;

//: intervals
let n = 0; await new Promise((r) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); r() } }, 1) }); await new Promise((r) => setTimeout(r, 10)); return n;

//: memoize
const memo = new Map(); const fib = (n) => memo.get(n) ?? (memo.set(n, n < 2 ? n : fib(n - 1) + fib(n - 2)), memo.get(n)); return fib(80);

//: curry and compose
const compose = (...fs) => (x) => fs.reduceRight((v, f) => f(v), x); const curry = (f) => function c(...a) { return a.length >= f.length ? f(...a) : (...b) => c(...a, ...b) }; return [compose((x) => x + 1, (x) => x * 2)(5), curry((a, b, c) => a + b + c)(1)(2, 3)];

//: closures in loops
const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); const gs = []; for (var j = 0; j < 3; j++) gs.push(() => j); return [fs.map((f) => f()), gs.map((f) => f())];

//: labels
const out = []; outer: for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { if (j === 1) continue outer; if (i === 2) break outer; out.push([i, j]) } } return out;

//: switch
const f = (x) => { switch (true) { case x < 0: return 'neg'; case x === 0: { return 'zero' } default: return 'pos' } }; let s = ''; switch (2) { case 1: s += 1; case 2: s += 2; case 3: s += 3; break; case 4: s += 4 } return [f(-1), f(0), f(1), s];

//: var hoisting
const before = typeof later; if (true) { var later = 1 } return [before, later, typeof hoisted, (() => { try { tdz; let tdz = 1 } catch (e) { return e.name } })()]; function hoisted() {}

//: getters, setters, computed keys
const o = { get a() { return this._a ?? 'unset' }, set a(v) { this._a = v * 2 }, ['c' + 1]: 2, 'd-e': 3, async f() { return 1 }, *g() { yield 1 } }; const first = o.a; o.a = 5; return [first, o.a, o.c1, await o.f(), [...o.g()], Object.keys(o)];

//: proxies
const seen = []; const p = new Proxy({ a: 1 }, { get(t, k, r) { seen.push(String(k)); return Reflect.get(t, k, r) ?? 'none' }, has: () => true, set(t, k, v) { t[k] = v + 1; return true }, deleteProperty: () => false, ownKeys: () => ['x'] }); p.b = 1; return [p.a, p.zz, 'q' in p, p.b, seen, Reflect.ownKeys(p), Reflect.deleteProperty(p, 'a')];

//: frozen objects
const o = Object.freeze({ a: 1, b: { c: 2 } }); const out = []; try { o.a = 2 } catch (e) { out.push(e.name) } o.b.c = 3; return [out, o, Object.isFrozen(o), Object.isSealed(o)];

//: property descriptors
const o = {}; Object.defineProperty(o, 'h', { value: 1 }); Object.defineProperty(o, 'v', { value: 2, enumerable: true }); return [Object.keys(o), Object.getOwnPropertyNames(o), JSON.stringify(o), 'h' in o, Object.hasOwn(o, 'h'), Object.getOwnPropertyDescriptor(o, 'h')];

//: object transforms
const o = { a: 1, b: 2, c: 3 }; return [Object.fromEntries(Object.entries(o).map(([k, v]) => [v, k])), Object.fromEntries(Object.entries(o).filter(([, v]) => v > 1)), Object.assign({}, o, { a: 9 }), Object.values(o)];

//: the order of keys
return [Object.keys({ b: 1, 2: 1, a: 1, 1: 1, '-1': 1, '01': 1 }), JSON.stringify({ z: 1, 10: 2, 9: 3 }), Object.entries([7, 8])];

//: deep equality
const eq = (a, b) => a === b || (typeof a === 'object' && typeof b === 'object' && a && b && Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((k) => eq(a[k], b[k]))); return [eq({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), eq({ a: 1 }, { a: 2 }), Object.is(-0, 0), Object.is(NaN, NaN)];

//: flatten a tree
const tree = { v: 1, kids: [{ v: 2, kids: [{ v: 3 }] }, { v: 4 }] }; const walk = ({ v, kids = [] }) => [v, ...kids.flatMap(walk)]; return [walk(tree), [[1, [2, [3]]]].flat(Infinity), [1, 2].flatMap((x) => [x, x * 10])];

//: flatten keys
const flat = (o, p = '') => Object.entries(o).reduce((r, [k, v]) => (v && typeof v === 'object' && !Array.isArray(v) ? { ...r, ...flat(v, p + k + '.') } : { ...r, [p + k]: v }), {}); return flat({ a: { b: { c: 1 }, d: [1] }, e: null });

//: array methods
return [[1, 2, 3].at(-1), [1, 2, 3, 4].findLast((x) => x < 3), [3, 2, 1].includes(2), Array.of(7), [1, 2, 3].copyWithin(0, 1), [1, 2, 3, 4, 5].splice(1, 2), [1, 2, 3].with(0, 9), [1, 2, 3].toReversed(), [1, 2, 3].toSpliced(1, 1), [5, 1].concat([2], 3), [1, 2, 3].fill(0, 1), [..."ab"].entries().next().value, [1, 2, 3].reduceRight((a, b) => a - b), [NaN].includes(NaN), [NaN].indexOf(NaN)];

//: chunk, zip, transpose
const chunk = (a, n) => a.length ? [a.slice(0, n), ...chunk(a.slice(n), n)] : []; const m = [[1, 2, 3], [4, 5, 6]]; return [chunk([1, 2, 3, 4, 5], 2), m[0].map((_, i) => m.map((r) => r[i])), Array.from({ length: 3 }, (_, i) => i * 2), [...Array(3).keys()]];

//: holes
const a = [1, , 3]; a.length = 5; return [a.length, 1 in a, a.map((x) => x * 2).length, Object.keys(a), [...a].length, a.findIndex((x) => x === undefined), JSON.stringify(a), a.join('-')];

//: Map and Set
const m = new Map([['a', 1]]); m.set(NaN, 2).set(0, 3); const s = new Set([1, '1', 1]); const order = []; m.forEach((v, k) => order.push([String(k), v])); return [m.get(NaN), m.get(-0), m.size, s.size, order, [...m.keys()].map(String), m.delete('a'), m.has('a'), [...new Map([[1, 2]])]];

//: set operations
const a = new Set([1, 2, 3]), b = new Set([2, 3, 4]); return [[...a].filter((x) => b.has(x)), [...new Set([...a, ...b])], [...a].filter((x) => !b.has(x))];

//: weak collections
const k = {}; const w = new WeakMap([[k, 1]]); const s = new WeakSet([k]); return [w.get(k), w.has({}), s.has(k), typeof WeakRef, typeof FinalizationRegistry];

//: symbols
const s = Symbol('d'); const o = { [s]: 1, [Symbol.toPrimitive]: (hint) => (hint === 'number' ? 42 : hint) }; return [s.description, Symbol.for('x') === Symbol.for('x'), s.toString(), Object.getOwnPropertySymbols(o).length, +o, `${o}`, o + ''];

//: JSON
return [JSON.stringify({ d: new Date(0), u: undefined, n: null, f() {}, nan: NaN, list: [undefined, () => 1, Symbol('s')], nested: { toJSON: () => 'own' }, b: new Boolean(false) }), JSON.stringify({ a: [1, { b: 2 }], e: [], o: {} }, null, 2), JSON.stringify([1, [2]], null, '--'), JSON.stringify({ a: 1, b: 2, c: { a: 3 } }, ['a', 'c']), JSON.stringify({ a: 1, b: 'x' }, (k, v) => (typeof v === 'number' ? v + 1 : v)), JSON.stringify('\u2028\ud800"\\\n'), JSON.stringify(undefined) ?? 'u'];

//: JSON.parse
return [JSON.parse('{"a":[1,2.5e3,true,null,"\\u00e9\\n"]}'), JSON.parse('{"a":1,"b":{"c":2}}', (k, v) => (typeof v === 'number' ? v + 1 : v)), JSON.parse(' 1 '), JSON.parse('{"__proto__":1}').__proto__, JSON.parse('{"a":1,"a":2}'), ['{a:1}', "{'a':1}", '[1,]', '', 'undefined', '01', '1.', '"\t"'].map((t) => { try { return JSON.parse(t) } catch (e) { return e.name } })];

//: JSON of circles
const o = {}; o.self = o; try { JSON.stringify(o) } catch (e) { return [e.name, typeof e.message] }

//: dates
const d = new Date(Date.UTC(2024, 0, 31, 10, 20, 30, 5)); d.setUTCMonth(1); return [d.toISOString(), d.getTime(), d.getUTCDay(), new Date('2024-03-05').getTime(), new Date('2024-03-05T10:20:30Z').toJSON(), new Date(NaN).getTime() !== new Date(NaN).getTime(), new Date(0).toUTCString(), Date.UTC(2024, 1, 29), new Date(2024, 1, 30).getMonth(), typeof Date.now()];

//: date arithmetic
const days = (a, b) => Math.round((new Date(b) - new Date(a)) / 864e5); const add = (d, n) => new Date(new Date(d).getTime() + n * 864e5).toISOString().slice(0, 10); return [days('2024-02-28', '2024-03-01'), add('2024-12-31', 1), new Date(Date.UTC(2023, 1, 29)).toISOString(), new Date('2024-01-01T00:00:00+02:00').toISOString()];

//: dates as people write them
return ['March 5, 2024 10:20:30 UTC', '5 Mar 2024 10:20:30 GMT', 'Tue, 05 Mar 2024 10:20:30 GMT', '2024-01-31 10:00:00Z'].map((text) => new Date(text).getTime());

//: typed arrays
const b = new ArrayBuffer(8); const v = new DataView(b); v.setInt16(0, -2); v.setFloat32(4, 1.5, true); return [[...new Uint8Array(b)], [...Uint8Array.of(300, -1)], [...new Uint8ClampedArray([300, -5, 1.5])], [...new Float32Array([1.1])].map((x) => x.toFixed(3)), new Int32Array([3, 1, 2]).sort().join(), Uint8Array.from('123').reduce((x, y) => x + y), new Uint8Array(b, 4, 2).length, b.slice(0, 2).byteLength];

//: iterator helpers
return [[1, 2, 3, 4].values().filter((x) => x % 2).map((x) => x * 10).take(2).toArray(), Iterator.from([1, 2, 3]).drop(1).reduce((a, b) => a + b)];

//: newer built-ins
const { promise, resolve } = Promise.withResolvers(); resolve(4); return [await promise, Map.groupBy([1, 2, 3], (x) => x % 2).get(1), [...new Set([1, 2]).union(new Set([3]))], await Array.fromAsync([1, Promise.resolve(2)])];

//: structuredClone
const o = { d: new Date(5), m: new Map([[1, { a: 2 }]]), s: new Set([1]), r: /x/gi, n: null, u: undefined, big: 1n, list: [1, , 3], bytes: new Uint8Array([1, 2]), e: new RangeError('r') }; o.self = o; const c = structuredClone(o); let name; try { structuredClone(() => {}) } catch (e) { name = e.name } return [c !== o, c.self === c, c.d.getTime(), c.m.get(1).a, c.s.has(1), c.r.source + c.r.flags, 'u' in c, typeof c.big, 1 in c.list, [...c.bytes], c.e.name, c.e.message, name];

//: text encodings
return [btoa('hello'), atob('aGVsbG8='), [...new TextEncoder().encode('é😀')], new TextDecoder().decode(new Uint8Array([0xc3, 0xa9, 0xff])), new TextDecoder('utf-16le').decode(new Uint8Array([65, 0])), encodeURI('http://a/ä?b=c d'), decodeURIComponent('%E2%82%AC'), escape('ä'), (() => { try { atob('*') } catch (e) { return e.name } })(), (() => { try { btoa('€') } catch (e) { return e.name } })()];

//: URL
const u = new URL('https://user:pw@example.com:8080/a/../b/c.html?x=1&y=%20z&x=2#frag'); u.searchParams.append('new', 'a b&c'); u.hash = ''; u.port = '443'; return [u.href, u.origin, u.host, u.pathname, u.search, u.username, u.searchParams.getAll('x'), [...u.searchParams.keys()], new URL('../x?y=1', 'https://a.b/c/d/e').href, URL.canParse('nope'), (() => { try { new URL('nope') } catch (e) { return e.name } })(), new URL('HTTP://EXAMPLE.com:80/ü').href, String(new URL('file:///a/b')), JSON.stringify({ u: new URL('http://a/') })];

//: URLSearchParams
const p = new URLSearchParams({ a: '1', b: '2 3' }); p.append('a', 'x'); p.set('c', 'é&='); p.delete('b'); p.sort(); return [p.toString(), p.get('a'), p.get('zz'), p.has('c'), [...p], Object.fromEntries(new URLSearchParams('?q=a+b&r=%20')), new URLSearchParams([['k', 'v']]).toString(), p.size, [...new URLSearchParams('a=1&a=2&b').values()]];

//: AbortController
const c = new AbortController(); const log = []; c.signal.addEventListener('abort', () => log.push('aborted')); const before = c.signal.aborted; c.abort(); c.abort(); let name; try { c.signal.throwIfAborted() } catch (e) { name = e.name } const own = new AbortController(); own.abort('why'); return [before, c.signal.aborted, log, name, own.signal.reason, AbortSignal.abort().aborted];

//: cancelling by a signal
const sleep = (ms, signal) => new Promise((done, fail) => { const t = setTimeout(done, ms); signal.addEventListener('abort', () => { clearTimeout(t); fail(signal.reason) }, { once: true }) }); const c = new AbortController(); setTimeout(() => c.abort(new Error('stop')), 2); try { await sleep(5000, c.signal) } catch (e) { return e.message }

//: EventTarget
const t = new EventTarget(); const log = []; const f = (e) => log.push(e.type + (e instanceof Event)); t.addEventListener('x', f); t.addEventListener('x', f); t.addEventListener('x', { handleEvent: (e) => { e.preventDefault(); log.push('obj') } }, { once: true }); t.dispatchEvent(new Event('x')); const kept = t.dispatchEvent(new Event('x', { cancelable: true })); t.removeEventListener('x', f); t.dispatchEvent(new Event('x')); return [log, kept];

//: crypto
const a = crypto.getRandomValues(new Uint8Array(16)); const id = crypto.randomUUID(); return [a.length, a.some((x) => x > 0), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), id !== crypto.randomUUID(), crypto.getRandomValues(new Uint32Array(2)).length];

//: performance
const t = performance.now(); await new Promise((r) => setTimeout(r, 5)); const took = performance.now() - t; return [took >= 4, took < 5000, typeof performance.timeOrigin, performance.mark('m').name];

//: Buffer
return [Buffer.from('hi').toString('base64'), Buffer.from('aGk=', 'base64').toString(), Buffer.from('é').toString('hex'), Buffer.from('6869', 'hex').toString('utf8'), Buffer.concat([Buffer.from('a'), Buffer.from('b')]).toString(), Buffer.byteLength('é'), Buffer.isBuffer(Buffer.alloc(2)), [...Buffer.alloc(3, 1)], Buffer.from([1, 2, 3]).length, Buffer.from('abc').equals(Buffer.from('abc')), Buffer.from('abcdef').subarray(1, 3).toString(), Buffer.from('abc').indexOf('c'), Buffer.compare(Buffer.from('a'), Buffer.from('b')), JSON.stringify(Buffer.from('a')), Buffer.from('x') instanceof Uint8Array, Buffer.from('hi').toString('latin1'), Buffer.from('a-_', 'base64url').length];

//: parse CSV with quotes
const parse = (text) => { const rows = [[]]; let cell = '', quoted = false; for (let i = 0; i < text.length; i++) { const c = text[i]; if (quoted) { if (c === '"' && text[i + 1] === '"') { cell += '"'; i++ } else if (c === '"') quoted = false; else cell += c } else if (c === '"') quoted = true; else if (c === ',') { rows.at(-1).push(cell); cell = '' } else if (c === '\n') { rows.at(-1).push(cell); cell = ''; rows.push([]) } else cell += c } rows.at(-1).push(cell); return rows }; return parse('a,"b, ""c""",d\n1,,"x\ny"');

//: statistics
const xs = [2, 4, 4, 4, 5, 5, 7, 9]; const mean = xs.reduce((a, b) => a + b) / xs.length; const sd = Math.sqrt(xs.reduce((a, x) => a + (x - mean) ** 2, 0) / xs.length); const sorted = xs.toSorted((a, b) => a - b); const median = (sorted[3] + sorted[4]) / 2; return { mean, sd, median, min: Math.min(...xs) };

//: primes
const sieve = (n) => { const is = new Uint8Array(n + 1).fill(1); for (let i = 2; i * i <= n; i++) if (is[i]) for (let j = i * i; j <= n; j += i) is[j] = 0; return is.reduce((out, p, i) => (p && i > 1 ? [...out, i] : out), []) }; return [sieve(50), sieve(1000).length];

//: shortest path
const graph = { a: { b: 7, c: 9, f: 14 }, b: { c: 10, d: 15 }, c: { d: 11, f: 2 }, d: { e: 6 }, f: { e: 9 } }; const dist = { a: 0 }; const todo = ['a']; while (todo.length) { todo.sort((x, y) => dist[y] - dist[x]); const at = todo.pop(); for (const [to, w] of Object.entries(graph[at] ?? {})) if (dist[at] + w < (dist[to] ?? Infinity)) { dist[to] = dist[at] + w; todo.push(to) } } return dist;

//: edit distance
const lev = (a, b) => { let prev = [...Array(b.length + 1).keys()]; for (let i = 1; i <= a.length; i++) { const row = [i]; for (let j = 1; j <= b.length; j++) row[j] = Math.min(row[j - 1] + 1, prev[j] + 1, prev[j - 1] + (a[i - 1] !== b[j - 1])); prev = row } return prev.at(-1) }; return [lev('kitten', 'sitting'), lev('', 'abc')];

//: grouping numbers in a locale
return [(1234567.891).toLocaleString('en-US'), (1234.5).toLocaleString('en-US', { minimumFractionDigits: 2 }), new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }).format(1234.56)];

//: money in a locale
return new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(1234.5);

//: percent in a locale
return (0.256).toLocaleString('en-US', { style: 'percent' });

//: dates in a locale
return [new Date(0).toLocaleDateString('en-US', { timeZone: 'UTC' }), new Date(0).toLocaleDateString('en-US', { timeZone: 'UTC', year: 'numeric', month: 'long', day: 'numeric' })];

//: sort in a locale
return ['résumé', 'apple', 'Zoo', 'zoo', 'Äpfel'].sort((a, b) => a.localeCompare(b));

//: plurals and lists
return [new Intl.PluralRules('en').select(1), new Intl.ListFormat('en').format(['a', 'b', 'c'])];

//: stacks
const e = new Error('msg'); return [typeof e.stack, e.stack.split('\n')[0], (() => { const o = {}; Error.captureStackTrace(o); return typeof o.stack })()];

//: new.target and this
function F() { return new.target === undefined ? 'call' : { made: new.target === F } } const o = { m() { return this === o }, a: () => typeof this }; const { m } = o; return [F(), new F(), o.m(), (() => { try { return m() } catch (e) { return e.name } })(), (function () { return typeof this })()];

//: bind, call, apply
function add(a, b) { return [this?.x, a + b] } return [add.call({ x: 1 }, 1, 2), add.apply({ x: 2 }, [3, 4]), add.bind({ x: 3 }, 5)(6), add.bind({}).name, add.length, Reflect.apply(Math.max, null, [1, 3])];

//: errors of the language
return ['null.x', 'undefined.f()', 'x = y_', 'const'].length && [() => null.x, () => undefined_name, () => (1)(), () => new (() => {})(), () => [].reduce((a) => a), () => 'x'.repeat(-1), () => new Array(-1), () => BigInt(1.5), () => 1n + 1, () => Symbol() + '', () => decodeURIComponent('%'), () => (5).toFixed(101), () => { const c = 1; Object.defineProperty({}, 'x', { get: 1 }) }, () => structuredClone(Symbol())].map((f) => { try { f(); return 'none' } catch (e) { return e.name } });
