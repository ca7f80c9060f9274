// Records what Node makes of the expressions beside it: `node record.js > recorded.json`.
'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { runInThisContext } = require('node:vm');

const expressions = readFileSync(join(__dirname, 'expressions.txt'), 'utf8').trimEnd().split('\n');
const results = expressions.map((expression) => {
  const cell = `(() => { try { return ['value', ${expression}] } catch (error) { return [error.name, error.message] } })()`;
  return [expression, JSON.stringify(runInThisContext(cell))];
});
console.log(JSON.stringify(results, null, 1));
