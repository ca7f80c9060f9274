// The programs of the data table, each a cell that ends in `true`. A line that starts with two slashes and a hash names one.

//# fib(27)
(() => {
  const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
  return fib(27);
})() === 196418;

//# local loop, 3e6 turns
(() => {
  let sum = 0;
  for (let i = 0; i < 3_000_000; i++) sum += (i % 7) * 0.5;
  return sum;
})() === 4499997;

//# string += 20 chars, 1e3 times
(() => {
  let text = '';
  for (let i = 0; i < 1_000; i++) text += 'twenty characters...';
  return text.length;
})() === 20_000;

//# string += 20 chars, 1e4 times
(() => {
  let text = '';
  for (let i = 0; i < 10_000; i++) text += 'twenty characters...';
  return text.length;
})() === 200_000;

//# string += 20 chars, 3e4 times
(() => {
  let text = '';
  for (let i = 0; i < 30_000; i++) text += 'twenty characters...';
  return text.length;
})() === 600_000;

//# push and join, 1e5 parts
(() => {
  const parts = [];
  for (let i = 0; i < 100_000; i++) parts.push('x' + i);
  return parts.join(',').length;
})() === 688_889;

//# map, filter, reduce, 3e5 numbers
(() => {
  const numbers = Array.from({ length: 300_000 }, (_, i) => i);
  return numbers
    .map((x) => x * 2)
    .filter((x) => x % 3 === 0)
    .reduce((sum, x) => sum + x, 0);
})() === 29999700000;

//# sort with a comparison, 1e5 numbers
(() => {
  const numbers = [];
  for (let i = 0; i < 100_000; i++) numbers.push((i * 7919) % 200_003);
  numbers.sort((a, b) => a - b);
  return numbers[0];
})() === 0;

//# sort, 1e5 strings
(() => {
  const texts = [];
  for (let i = 0; i < 100_000; i++) texts.push('k' + ((i * 7919) % 200_003));
  texts.sort();
  return texts[0];
})() === 'k0';

//# JSON.stringify, 1.1 MB
var rows = [];
for (let i = 0; i < 10_000; i++) {
  rows.push({ id: i, name: 'user number ' + i, tags: ['a', 'b', 'c'], score: i / 3, ok: true, nested: { x: i } });
}
var text = JSON.stringify(rows);
text.length > 1_100_000;

//# JSON.parse, 1.1 MB
JSON.parse(text).length === 10_000;

//# regex exec, 5e4 short texts
(() => {
  const pattern = /(\w+)@(\w+)\.com/;
  let length = 0;
  for (let i = 0; i < 50_000; i++) length += pattern.exec('user' + i + '@host.com')[1].length;
  return length;
})() === 438_890;

//# match(/\d+/g) on 1 MB
'lorem ipsum 123 dolor 45.6 '.repeat(40_000).match(/\d+(\.\d+)?/g).length === 80_000;

//# replace(/\d+/g) on 1 MB
'lorem ipsum 123 dolor 45.6 '.repeat(40_000).replace(/\d+/g, (digits) => `<${digits}>`).length === 1_320_000;

//# split and count, 1 MB
var tally = {};
for (const word of 'the quick brown fox jumps over '.repeat(33_000).split(' ')) tally[word] = (tally[word] || 0) + 1;
tally.the === 33_000;

//# split lines, split words and count, 1 MB CSV
var csv = 'the quick brown fox jumps over\n'.repeat(33_000);
var counts = {};
for (const line of csv.split('\n')) {
  for (const word of line.split(' ')) counts[word] = (counts[word] || 0) + 1;
}
counts.the === 33_000;

//# split by a regex, 1 MB CSV
csv.split(/\r?\n/).length === 33_001;

//# replaceAll on 1 MB
csv.replaceAll('quick', 'slow').length === 33_000 * 30;

//# indexOf from line to line, 1 MB
(() => {
  let lines = 0;
  for (let at = csv.indexOf('\n'); at !== -1; at = csv.indexOf('\n', at + 1)) lines++;
  return lines;
})() === 33_000;

//# Map set and get, 1e5 keys
(() => {
  const map = new Map();
  for (let i = 0; i < 100_000; i++) map.set('k' + i, i);
  let sum = 0;
  for (let i = 0; i < 100_000; i++) sum += map.get('k' + i);
  return sum;
})() === 4999950000;

//# group 1e5 rows by a key
(() => {
  const groups = {};
  for (let i = 0; i < 100_000; i++) (groups['g' + (i % 100)] ??= []).push(i);
  return Object.keys(groups).length;
})() === 100;

//# [...array, x], 500 times
(() => {
  let array = [];
  for (let i = 0; i < 500; i++) array = [...array, i];
  return array.length;
})() === 500;

//# unshift, 2e3 times
(() => {
  const array = [];
  for (let i = 0; i < 2_000; i++) array.unshift(i);
  return array.length;
})() === 2_000;

//# shift, 2e4 times
(() => {
  const queue = Array.from({ length: 20_000 }, (_, i) => i);
  let sum = 0;
  while (queue.length) sum += queue.shift();
  return sum;
})() === 199990000;

//# {...object, key}, 300 times
(() => {
  let object = {};
  for (let i = 0; i < 300; i++) object = { ...object, ['k' + i]: i };
  return Object.keys(object).length;
})() === 300;

//# 2e5 objects
(() => {
  const objects = [];
  for (let i = 0; i < 200_000; i++) objects.push({ a: i, b: 'x', c: [i] });
  return objects.length;
})() === 200_000;

//# delete 2e3 keys
(() => {
  const object = {};
  for (let i = 0; i < 2_000; i++) object['k' + i] = i;
  for (let i = 0; i < 2_000; i++) delete object['k' + i];
  return Object.keys(object).length;
})() === 0;

//# typed array, 1e6 sums
(() => {
  const array = new Float64Array(200_000);
  for (let k = 0; k < 5; k++) for (let i = 0; i < array.length; i++) array[i] += i;
  return array[9];
})() === 45;

//# generator, 2e5 values
(() => {
  function* count() {
    for (let i = 0; i < 200_000; i++) yield i;
  }
  let sum = 0;
  for (const i of count()) sum += i;
  return sum;
})() === 19999900000;

//# throw and catch, 2e4 times
(() => {
  let caught = 0;
  for (let i = 0; i < 20_000; i++) {
    try {
      throw new Error('x');
    } catch {
      caught++;
    }
  }
  return caught;
})() === 20_000;

//# characters of 300 KB
(() => {
  const text = 'abc'.repeat(100_000);
  let count = 0;
  for (const character of text) if (character === 'a') count++;
  return count;
})() === 100_000;
