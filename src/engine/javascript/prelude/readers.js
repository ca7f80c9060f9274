// How QuickJS's values are read without running the program's code: built-ins as they were before any cell ran.
(function () {
  'use strict';

  const { apply, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  // Looked up later, it would be what a cell has made of the name.
  const OriginalArray = Array;
  const getter = (object, name) => getOwnPropertyDescriptor(object, name).get;

  const getTime = Date.prototype.getTime;
  const functionText = Function.prototype.toString;
  const source = getter(RegExp.prototype, 'source');
  const flags = [
    ['d', getter(RegExp.prototype, 'hasIndices')],
    ['g', getter(RegExp.prototype, 'global')],
    ['i', getter(RegExp.prototype, 'ignoreCase')],
    ['m', getter(RegExp.prototype, 'multiline')],
    ['s', getter(RegExp.prototype, 'dotAll')],
    ['u', getter(RegExp.prototype, 'unicode')],
    ['v', getter(RegExp.prototype, 'unicodeSets')],
    ['y', getter(RegExp.prototype, 'sticky')],
  ];
  const describe = getter(Symbol.prototype, 'description');
  const unboxings = {
    __proto__: null,
    number: Number.prototype.valueOf,
    string: String.prototype.valueOf,
    boolean: Boolean.prototype.valueOf,
    bigint: BigInt.prototype.valueOf,
    symbol: Symbol.prototype.valueOf,
  };
  const mapSize = getter(Map.prototype, 'size');
  const setSize = getter(Set.prototype, 'size');
  const mapEntries = Map.prototype.entries;
  const setValues = Set.prototype.values;
  const mapNext = getPrototypeOf(new Map().entries()).next;
  const setNext = getPrototypeOf(new Set().values()).next;
  const viewOffset = getter(DataView.prototype, 'byteOffset');
  const viewLength = getter(DataView.prototype, 'byteLength');
  const viewBuffer = getter(DataView.prototype, 'buffer');
  const stack = getOwnPropertyDescriptor(Error.prototype, 'stack')?.get;
  const classes = { __proto__: null, Error, TypeError, RangeError, SyntaxError };

  return {
    __proto__: null,
    objectPrototype: Object.prototype,
    arrayPrototype: Array.prototype,
    time: (date) => apply(getTime, date, []),
    functionText: (f) => apply(functionText, f, []),
    regexp: (regexp) => {
      let text = '/' + apply(source, regexp, []) + '/';
      for (let i = 0; i < flags.length; i++) {
        if (apply(flags[i][1], regexp, [])) text += flags[i][0];
      }
      return text;
    },
    description: (symbol) => apply(describe, symbol, []),
    unboxed: (boxed, type) => apply(unboxings[type], boxed, []),
    mapSize: (map) => apply(mapSize, map, []),
    setSize: (set) => apply(setSize, set, []),
    // Keys and values in turn.
    mapEntries: (map, limit) => {
      const iterator = apply(mapEntries, map, []);
      const flat = new OriginalArray(limit * 2);
      let length = 0;
      while (length < limit * 2) {
        const step = apply(mapNext, iterator, []);
        if (step.done) break;
        flat[length] = step.value[0];
        flat[length + 1] = step.value[1];
        length += 2;
      }
      flat.length = length;
      return flat;
    },
    setValues: (set, limit) => {
      const iterator = apply(setValues, set, []);
      const flat = new OriginalArray(limit);
      let length = 0;
      while (length < limit) {
        const step = apply(setNext, iterator, []);
        if (step.done) break;
        flat[length++] = step.value;
      }
      flat.length = length;
      return flat;
    },
    viewBuffer: (view) => apply(viewBuffer, view, []),
    viewOffset: (view) => apply(viewOffset, view, []),
    viewLength: (view) => apply(viewLength, view, []),
    stack: (error) => (stack === undefined ? error.stack : apply(stack, error, [])),
    error: (name, message) => new classes[name](message),
    // One object of each class that is told apart by its number.
    samples: () => ({
      __proto__: null,
      Plain: {},
      Error: new Error(''),
      Number: new Number(0),
      String: new String(''),
      Boolean: new Boolean(false),
      Symbol: Object(Symbol()),
      BigInt: Object(0n),
      Arguments: (function () {
        return arguments;
      })(),
      DataView: new DataView(new ArrayBuffer(0)),
    }),
  };
})()
