// Records in results.json what Node makes of the snippets beside it: node tests/node/record.mjs
//
// A snippet starts with a line `//: its name` and ends at the next one. It is run as a cell is: in strict mode, with
// `return` and `await` at its top level. What it prints, what it returns and what it throws is recorded. The frames of
// stacks are left out: they name the files of this machine.
import { readFileSync, writeFileSync } from 'node:fs';
import { Console } from 'node:console';
import { Writable } from 'node:stream';

const AsyncFunction = (async () => {}).constructor;
const here = (name) => new URL(name, import.meta.url);

function snippets(file) {
  const parts = readFileSync(here(file), 'utf8').split(/^\/\/: /m);
  return parts.slice(1).map((part) => {
    const end = part.indexOf('\n');
    return { name: part.slice(0, end).trim(), code: part.slice(end + 1) };
  });
}

function collector() {
  let text = '';
  const stream = new Writable({
    write(chunk, encoding, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => withoutFrames(text) };
}

const withoutFrames = (text) => text.replace(/\n *at [^\n]*?( \{)?(?=\n)/g, '$1');

async function run({ code }) {
  const out = collector();
  const err = collector();
  const console = new Console({ stdout: out.stream, stderr: err.stream, colorMode: false });
  const result = {};
  try {
    const value = await new AsyncFunction('console', `'use strict';\n${code}`)(console);
    if (value !== undefined) result.value = JSON.parse(JSON.stringify(value));
  } catch (error) {
    result.error = error instanceof Error ? error.name : String(error);
  }
  if (out.text() !== '') result.stdout = out.text();
  if (err.text() !== '') result.stderr = err.text();
  return result;
}

const results = { node: process.version };
for (const file of ['console.js', 'strings.js', 'snippets.js']) {
  results[file] = {};
  for (const snippet of snippets(file)) {
    results[file][snippet.name] = await run(snippet);
  }
}
writeFileSync(here('results.json'), JSON.stringify(results, null, 1) + '\n');
