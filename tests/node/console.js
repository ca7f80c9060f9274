// What `console` prints of everyday values. Each snippet is run on Node by record.mjs, and as a cell by the tests.

//: primitives
console.log(1, 1.5, -0, 0, NaN, Infinity, -Infinity, 1e21, 1e-7, 123456789012345680000);
console.log(true, false, null, undefined, 10n, -5n, Symbol('s'), Symbol());
console.log('text', "it's", 'line\nbreak', '');

//: strings in containers
console.log(['a', "it's", 'say "x"', `both ' and "`, 'all \' " `', 'line\nbreak', 'tab\t', '\\', '\x00\x1b', 'é😀']);
console.log({ text: 'x', 'needs quotes': 'y', 1: 'z', $a_b1: 0, 'a-b': 1, '': 2, [Symbol('s')]: 3 });
console.log(['\ud800', '\udc00 x']);

//: negative zero and numbers in containers
console.log([-0, 0, 1.0, NaN], { z: -0 });

//: nested objects
console.log({ a: { b: { c: { d: 1 } } } });
console.log({ a: { b: { c: {} } } }, { a: { b: { c: [] } } }, { a: { b: { c: [1] } } });
console.log({ a: [1, 2, { b: [3, { c: 4 }] }] });

//: nested arrays
console.log([[1, [2, [3, [4, [5]]]]]]);
console.log([[], [[]], [[[]]], [[[[]]]]]);

//: empty containers
console.log([], {}, new Map(), new Set(), '', [''], [undefined], [null]);

//: objects that go on several lines
console.log({ name: 'a rather long name for a thing', description: 'something that is longer than the rest', id: 12345 });
console.log({ a: 1, b: 'two', c: [3, 4, 5], d: { e: 6 }, f: null, g: undefined, h: true });
console.log({ first: 'x'.repeat(40), second: 'y'.repeat(40) });

//: rows of data
console.log([{ id: 1, name: 'Ada', tags: ['a', 'b'] }, { id: 2, name: 'Bob', tags: [] }, { id: 3, name: 'Cyd', tags: ['c'] }]);

//: numbers in columns
console.log(Array.from({ length: 30 }, (_, i) => i * i));
console.log(Array.from({ length: 7 }, (_, i) => i));
console.log([1.5, 22.25, 333.125, 4, 5, 6, 7, 8, 9, 10]);

//: texts in columns
console.log(['apple', 'banana', 'cherry', 'date', 'elderberry', 'fig', 'grape', 'honeydew', 'iceberg']);

//: arrays that are cut
console.log(Array.from({ length: 120 }, (_, i) => i));
console.log(Array.from({ length: 101 }, () => 'x'));

//: strings that are cut
console.log(['x'.repeat(10050)]);

//: sparse arrays
console.log([1, , 3], [, ,], [undefined, , 3], new Array(5));
const sparse = []; sparse[10] = 'x'; sparse.extra = 1;
console.log(sparse);

//: arrays with properties
const list = [1, 2]; list.name = 'list'; list[-1] = 'minus';
console.log(list);

//: Map and Set
console.log(new Map([['a', 1], ['b', { c: 2 }]]), new Set([1, 'two', [3]]));
console.log(new Map([[{ k: 1 }, new Map([[1, new Map([[2, 3]])]])]]));
console.log({ map: new Map([['x', new Set([1])]]) });

//: Map and Set on several lines
console.log(new Map(Array.from({ length: 10 }, (_, i) => ['key number ' + i, { value: i }])));
console.log(new Set(Array.from({ length: 30 }, (_, i) => i)));

//: WeakMap and WeakSet
console.log(new WeakMap(), new WeakSet());

//: dates
console.log(new Date(0), [new Date(86400000)], { at: new Date(1e12) }, new Date(NaN));

//: regular expressions
console.log(/a+b/gi, [/x/], { re: /[/]\//u });

//: URLs, their parameters and bytes
console.log(new URL('https://u:p@a.b:81/c?d=1&e=%20x#f'), { u: new URL('http://x.y/') });
console.log(new URLSearchParams('a=1&b=2'), new URLSearchParams(), [new URLSearchParams({ q: 'z' })]);
const changed = new URL('http://x.y/'); changed.searchParams.append('k', 'v'); changed.port = '82';
console.log(changed, changed.searchParams);
console.log(Buffer.from('ab'), [Buffer.alloc(2)], Buffer.alloc(0), Buffer.alloc(60, 1));

//: functions and numbers in a format
console.log('%s|%s|%s', () => 1, function f(a) { return a }, Math.max);
console.log('%d %d %d %d %d %d', '0x10', '', '1e3', 'abc', '-0b1', '12px');
console.log('%d %d %d', 'Infinity', 'inf', '  7 ');
console.log('%i %i %f', '0x10', '12.9px', '1.5');

//: functions and classes
console.log(function named() {}, () => {}, async () => {}, function* gen() {}, async function* ag() {});
class Animal {}
class Dog extends Animal {}
console.log(Animal, Dog, class {}, { f() {}, g: () => 1, A: Animal });
const fn = () => 1; fn.extra = { a: 1 };
console.log(fn, [fn], Math.max);

//: class instances
class Point { constructor(x, y) { this.x = x; this.y = y } get sum() { return this.x + this.y } }
class Point3 extends Point { #secret = 1; z = 3 }
console.log(new Point(1, 2), [new Point3(1, 2)], { p: new Point(0, 0) });
class Empty {}
console.log(new Empty(), [new Empty()]);
class Deep { constructor() { this.a = { b: { c: {} } } } }
console.log(new Deep());

//: subclasses of built-ins
class MyArray extends Array {}
class MyMap extends Map {}
class MyError extends Error { constructor(m) { super(m); this.name = 'MyError' } }
console.log(MyArray.from([1, 2]), new MyMap([[1, 2]]));
console.log(String(new MyError('boom')));

//: toStringTag
console.log({ [Symbol.toStringTag]: 'Tagged', a: 1 });
class Tagged { get [Symbol.toStringTag]() { return 'T' } }
console.log(new Tagged());

//: null prototype
console.log(Object.create(null), Object.assign(Object.create(null), { a: 1 }), { __proto__: null, b: { __proto__: null } });
console.log(Object.create({ inherited: 1 }), Object.create(Object.create(null)));

//: getters and setters
console.log({ get a() { return 1 }, set b(v) {}, get c() { return 1 }, set c(v) {} });

//: symbols
console.log({ [Symbol('key')]: 1, [Symbol.iterator]: 2, [Symbol()]: 3 }, [Symbol.for('x')]);

//: circular
const self = { name: 'self' }; self.self = self;
console.log(self);
const one = { name: 'one' }, two = { one }; one.two = two; one.list = [one, two];
console.log(one);
const ring = []; ring.push(ring);
console.log(ring, new Map([[ring, ring]]));

//: the same object twice is no circle
const shared = { s: 1 };
console.log([shared, shared], { a: shared, b: shared });

//: boxed primitives
console.log(new Number(1), new String('x'), new Boolean(false), Object(10n), Object(Symbol('s')), [new Number(-0)]);

//: typed arrays and buffers
console.log(new Uint8Array([1, 2, 3]), new Float64Array([1.5, -0]), new BigInt64Array([1n]), new Uint8Array(0));
console.log(new Uint8Array(120));
console.log(new ArrayBuffer(4), new DataView(new ArrayBuffer(2)));

//: promises
console.log(Promise.resolve(1), Promise.resolve({ a: 1 }), new Promise(() => {}));
const rejected = Promise.reject('no'); rejected.catch(() => {});
console.log(rejected, [Promise.resolve()]);

//: proxies
console.log(new Proxy({ a: 1 }, {}), new Proxy([1, 2], {}), new Proxy(function f() {}, {}));

//: generators and iterators
function* gen() {}
console.log(gen(), [1][Symbol.iterator](), new Map([[1, 2]]).entries(), new Set([3]).values());

//: arguments and globals
(function () { console.log(arguments) })(1, 'a');
console.log(Math, JSON, Reflect);

//: errors
console.log(new Error('boom'));
console.log(new TypeError('bad'), 'after');
console.error(new RangeError('far'));

//: errors in containers
console.log([new Error('in array')]);
console.log({ error: new TypeError('in object') });

//: errors with properties
const error = new Error('with code'); error.code = 'E_CODE'; error.details = { a: 1 };
console.log(error);

//: errors with a cause
console.log(new Error('outer', { cause: new TypeError('inner') }));
console.log(new Error('outer', { cause: 'text' }));

//: errors with a name of their own
class ValidationError extends Error { constructor(m) { super(m); this.name = 'ValidationError' } }
console.log(new ValidationError('bad field'));
class Unnamed extends Error {}
console.log(new Unnamed('no name'));
console.log(new Error(''), new Error());

//: AggregateError
console.log(new AggregateError([new Error('a'), 'b'], 'several'));

//: formats
console.log('%s is %d years and %i months, %f', 'Bob', 42.5, 7.9, '1.5');
console.log('%o', [1]);
console.log('%O and %j', { a: { b: { c: { d: 1 } } } }, { a: 1 });
console.log('%c styled', 'color: red', 'rest');
console.log('100%', 1, '%s', 2);
console.log('%% %s', 'x', 'y', { z: 1 });
console.log('%s %s', 'only one');
console.log('%x', 1);

//: formats of odd values
console.log('%s|%s|%s|%s|%s', null, undefined, true, 10n, Symbol('s'));
console.log('%s|%s|%s|%s', { a: 1 }, [1, 'x'], () => 1, -0);
console.log('%d|%d|%d|%d|%d', '42', 'x', 10n, {}, -0);
console.log('%i|%i|%f|%f', 'x', 3.9, 'x', null);
console.log('%s', class A {}, '%s', new Error('e').message);
console.log('%s', new Date(0));
console.log('%s', { toString() { return 'own' } });

//: no format when the first is no string
console.log(1, '%s', 2);
console.log({}, 'a', ['b']);
console.log();

//: info, debug, warn, error
console.info('i', 1); console.debug('d', [2]); console.warn('w', { x: 3 }); console.error('e');

//: group
console.group('outer'); console.log('in'); console.group(); console.log('deeper\nline'); console.groupEnd();
console.warn('warned'); console.groupEnd(); console.groupEnd(); console.log('out');
console.groupCollapsed('c', 1); console.log({ a: 1 }); console.groupEnd();

//: assert
console.assert(true, 'never'); console.assert(false); console.assert(0, 'text', { a: 1 }); console.assert(false, '%s!', 'fmt');
console.assert(false, { a: 1 });

//: count
console.count(); console.count('x'); console.count(); console.countReset(); console.count(); console.count('x');

//: dir
console.dir({ a: { b: { c: { d: 1 } } } }); console.dir('text'); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
console.dir({ a: { b: { c: { d: { e: 1 } } } } }, { depth: null });

//: table of objects
console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]);

//: table of rows
console.table([[1, 2], ['three', 4]]);

//: table of primitives
console.table([1, 'two', null]);

//: table of an object of objects
console.table({ first: { x: 1 }, second: { x: 2, y: [1] } });

//: table of chosen columns
console.table([{ a: 1, b: 2, c: 3 }], ['c', 'a']);

//: table of a Map and a Set
console.table(new Map([['k', 1], ['l', { m: 2 }]]));
console.table(new Set(['s', 't']));

//: table of wide text
console.table([{ name: '日本', n: 1 }, { name: 'é', n: 22 }]);

//: table of nothing
console.table([]); console.table('text'); console.table(5);

//: JSON of an API
console.log({
  status: 'ok', total: 2, items: [{ id: 'a1', price: { amount: 9.99, currency: 'EUR' }, tags: ['new', 'sale'] }, { id: 'b2', price: null, tags: [] }],
  next: undefined,
});

//: long text in an object
console.log({ text: 'The quick brown fox jumps over the lazy dog. '.repeat(4), n: 1 });
console.log({ text: 'one\ntwo\nthree', list: ['a\nb'] });

//: many properties
console.log(Object.fromEntries(Array.from({ length: 30 }, (_, i) => ['key' + i, i])));

//: symbols and functions in arrays
console.log([Symbol('a'), () => {}, class X {}, null, undefined, true]);
