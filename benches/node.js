// The data table's programs on Node, in the form of `cargo bench --bench javascript_data`: `node benches/node.js`.
'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { runInThisContext } = require('node:vm');

const ROUNDS = 3;

// What the processor has spent on this process, in milliseconds.
const processorTime = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};

const source = readFileSync(join(__dirname, 'javascript', 'programs.js'), 'utf8');
console.log(`| ms | Node ${process.versions.node} |\n|---|---|`);
for (const section of source.split('\n//# ').slice(1)) {
  const end = section.indexOf('\n');
  const [name, program] = [section.slice(0, end), section.slice(end + 1)];
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = processorTime();
    if (runInThisContext(program) !== true) throw new Error(`\`${name}\` has another value`);
    times.push(processorTime() - start);
  }
  times.sort((a, b) => a - b);
  console.log(`| ${name} | ${times[1].toFixed(1)} |`);
}
