// `split`, `replace` and `replaceAll`, in every way the standard tells apart.

//: split by text
return [''.split(''), ''.split(','), 'a,b,c'.split(','), ',a,,b,'.split(','), 'abc'.split(''), 'abc'.split('abc'), 'abc'.split('x'), 'aXXbXXc'.split('XX'), 'aaa'.split('aa'), 'abc'.split('abcd')];

//: split with a limit
return ['a,b,c'.split(',', 2), 'a,b,c'.split(',', 0), 'a,b,c'.split(',', -1), 'a,b,c'.split(',', 2 ** 32 + 1), 'abc'.split('', 2), 'a,b'.split(',', undefined), 'a,b'.split(',', NaN), 'a,b'.split(',', '1'), 'abc'.split(undefined, 0), ''.split('', 0)];

//: split by what is no text
return ['abc'.split(), 'abc'.split(undefined), 'a1b1c'.split(1), 'anullb'.split(null), 'atrueb'.split(true), 'a1,2b'.split([1, 2]), 'axb'.split({ toString() { return 'x' } }), 'undefinedx'.split({}.x)];

//: split by an expression
return ['a1b22c'.split(/\d+/), 'a1b2'.split(/(\d)/), 'abc'.split(/(?:)/), ''.split(/x/), ''.split(/(?:)/), 'a  b c'.split(/\s+/), 'A<B>bold</B>and'.split(/<(\/)?([^<>]+)>/), 'a,b;c'.split(/[,;]/, 2), 'aBc'.split(/b/i), 'test'.split(/(?:)/, -1)].map((part) => part.map((text) => text ?? 'undefined'));

//: split of texts beyond ASCII
return ['é😀é'.split('😀'), '😀'.split('').length, 'äöü'.split('ö'), 'a\u2028b'.split('\u2028'), 'a\0b'.split('\0'), '日本語日本'.split('本'), '😀'.split('\ude00').length, 'z😀'.split(/(?:)/u)];

//: split by Symbol.split
const splitter = { [Symbol.split](text, limit) { return [text, limit ?? 'none', 'own'] } };
return ['abc'.split(splitter), 'abc'.split(splitter, 3), 'abc'.split({ [Symbol.split]: undefined, toString: () => 'b' }), 'abc'.split({ [Symbol.split]: null, toString: () => 'b' })];

//: split on what is no string
return [String.prototype.split.call(12321, 2), String.prototype.split.call(true, 'u'), String.prototype.split.call(['a', 'b'], ',')];

//: split on null
String.prototype.split.call(null, ',');

//: split by a symbol
'abc'.split(Symbol('s'));

//: the order of conversions in split
const log = [];
const text = { toString() { log.push('this'); return 'a,b' } };
const separator = { toString() { log.push('separator'); return ',' } };
const limit = { valueOf() { log.push('limit'); return 1 } };
return [String.prototype.split.call(text, separator, limit), log];

//: what split is
return [String.prototype.split.length, String.prototype.split.name, Object.getOwnPropertyDescriptor(String.prototype, 'split').enumerable, Object.hasOwn(String.prototype.split, 'prototype')];

//: split gives fresh arrays
const parts = 'a,b'.split(','); parts.push('c'); parts[0] = 'z';
return [parts, 'a,b'.split(','), Array.isArray(parts), parts.length, Object.getPrototypeOf(parts) === Array.prototype];

//: replaceAll by text
return ['aaa'.replaceAll('a', 'b'), 'aaaa'.replaceAll('aa', 'b'), 'abc'.replaceAll('', '-'), ''.replaceAll('', 'x'), 'abc'.replaceAll('x', 'y'), 'aXbX'.replaceAll('X', ''), 'abab'.replaceAll('ab', 'abab'), '😀'.replaceAll('', '.').length];

//: replaceAll with patterns in the replacement
return ['abc'.replaceAll('b', '[$&]'), 'abcb'.replaceAll('b', "[$`|$']"), 'abc'.replaceAll('b', '$$'), 'abc'.replaceAll('b', '$1'), 'abc'.replaceAll('b', '$<n>'), 'abc'.replaceAll('b', '$'), 'abc'.replaceAll('b', '$0'), 'abc'.replaceAll('b', '$$1'), 'abc'.replaceAll('b', '$x')];

//: replaceAll with a function
const calls = [];
const result = 'abcb'.replaceAll('b', (...given) => { calls.push(given); return '<' + given[1] + '>' });
return [result, calls, 'aa'.replaceAll('a', () => '$&'), 'aa'.replaceAll('a', () => undefined), 'aa'.replaceAll('a', () => null), 'ab'.replaceAll('', (m, at) => at)];

//: replaceAll by an expression
return ['a1b2'.replaceAll(/\d/g, '#'), 'a1b2'.replaceAll(/([a-z])(\d)/g, '$2$1'), '2024-03'.replaceAll(/(?<y>\d+)-(?<m>\d+)/g, '$<m>/$<y>'), 'aAa'.replaceAll(/a/gi, 'x'), 'abc'.replaceAll(/(?:)/g, '-')];

//: replaceAll by an expression that is not global
'aaa'.replaceAll(/a/, 'b');

//: replaceAll by what is no text
return ['a1b1'.replaceAll(1, 2), 'undefined'.replaceAll(undefined, 'x'), 'null'.replaceAll(null, 'x'), 'abc'.replaceAll('b', undefined), 'abc'.replaceAll('b', null), 'abc'.replaceAll('b', 5), 'axb'.replaceAll({ toString: () => 'x' }, { toString: () => 'y' }), 'abc'.replaceAll('b')];

//: replaceAll by Symbol.replace
const replacer = { [Symbol.replace](text, by) { return 'own:' + text + ':' + by } };
return ['abc'.replaceAll(replacer, 'z'), 'abc'.replace(replacer, 'z')];

//: replaceAll on what is no string
return [String.prototype.replaceAll.call(1213, 1, 'x'), String.prototype.replaceAll.call(true, 'u', 'U'), String.prototype.replaceAll.length, String.prototype.replaceAll.name];

//: replaceAll on undefined
String.prototype.replaceAll.call(undefined, 'a', 'b');

//: replaceAll whose function throws
try { 'aaa'.replaceAll('a', () => { throw new RangeError('own') }) } catch (error) { return [error.name, error.message] }

//: the order of conversions in replaceAll
const log = [];
const record = (name, value) => ({ toString() { log.push(name); return value } });
return [String.prototype.replaceAll.call(record('this', 'abc'), record('search', 'b'), record('replacement', 'x')), log];

//: replaceAll of texts beyond ASCII
return ['é😀é'.replaceAll('😀', 'ö'), 'äöä'.replaceAll('ä', '😀'), '日本語'.replaceAll('本', '$&$&'), 'a\nb\nc'.replaceAll('\n', '\r\n'), '😀😀'.replaceAll('\ud83d', '').length];

//: replace by text
return ['aaa'.replace('a', 'b'), 'abc'.replace('', '-'), 'abc'.replace('b', '[$&$`$\']'), 'abc'.replace('b', (m, at, all) => m + at + all), 'abc'.replace('x', 'y')];

//: replace by an expression
return ['a1b2'.replace(/\d/g, (d) => d * 2), 'John Smith'.replace(/(\w+)\s(\w+)/, '$2, $1'), 'aaa'.replace(/a/y, 'b'), 'x'.replace(/(y)?x/, '[$1]'), 'abc'.replace(/(?<l>b)/, (...all) => JSON.stringify(all.at(-1)))];

//: lines of a table
const csv = 'id,name,price\n1,"Ada",9.5\n2,Bob,\n3,,1e3\n';
const [head, ...rows] = csv.trim().split('\n').map((line) => line.split(','));
return rows.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));

//: lines that end in any way
return 'a\r\nb\nc\rd\n'.split(/\r\n|\n|\r/);

//: a long text
const long = 'x,'.repeat(20000);
return [long.split(',').length, long.replaceAll(',', ';;').length, long.split(',').join('').length, long.replaceAll('x,', '').length];

//: split and join undo each other
return ['a-b-c'.split('-').join('+'), [...'a-b'].join('|'), 'a b  c'.split(' ').filter(Boolean).join('_'), 'CamelCaseText'.split(/(?=[A-Z])/).join(' ')];
