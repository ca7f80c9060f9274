// structuredClone: by a work list, so that no nesting can overflow the stack.
(function (host, intrinsics, load) {
  'use strict';

  const {
    Array, ArrayBuffer, DataView, Date, Error, Map, Object, RegExp, Set, String, Uint8Array,
    TypeError, append, apply, construct, define, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, getTime,
    mapEach, mapGet, mapHas, mapSet, ownKeys, setAdd, setEach,
  } = intrinsics;

  const ERRORS = { __proto__: null };
  const classes = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  for (let i = 0; i < classes.length; i++) ERRORS[classes[i].name] = classes[i];

  const source = getOwnPropertyDescriptor(RegExp.prototype, 'source').get;
  const flags = getOwnPropertyDescriptor(RegExp.prototype, 'flags').get;
  const unboxings = [Number.prototype.valueOf, String.prototype.valueOf, Boolean.prototype.valueOf, BigInt.prototype.valueOf];
  const sliceBuffer = ArrayBuffer.prototype.slice;

  const refuse = (what) => {
    throw new (load('events').DOMException)(`${what} could not be cloned.`, 'DataCloneError');
  };

  const isPrimitive = (value) => value === null || (typeof value !== 'object' && typeof value !== 'function');

  const unboxed = (value) => {
    for (let i = 0; i < unboxings.length; i++) {
      try {
        return apply(unboxings[i], value, []);
      } catch {
        // Not of this class.
      }
    }
    return refuse('A boxed symbol');
  };

  const bufferOf = (buffer) => apply(sliceBuffer, buffer, [0]);

  // The clone of one object, without what is in it.
  const shell = (value, sort, memory, work) => {
    switch (sort) {
      case 'Array':
        return new Array(value.length);
      case 'Date':
        return new Date(getTime(value));
      case 'RegExp':
        return new RegExp(apply(source, value, []), apply(flags, value, []));
      case 'Boxed':
        return Object(unboxed(value));
      case 'Map':
        return new Map();
      case 'Set':
        return new Set();
      case 'ArrayBuffer':
        return bufferOf(value);
      case 'TypedArray':
      case 'DataView': {
        let buffer = mapGet(memory, value.buffer);
        if (buffer === undefined) {
          buffer = bufferOf(value.buffer);
          mapSet(memory, value.buffer, buffer);
        }
        const length = sort === 'DataView' ? value.byteLength : value.length;
        const name = sort === 'DataView' ? 'DataView' : viewName(value);
        return construct(views[name], [buffer, value.byteOffset, length]);
      }
      case 'Error': {
        const name = ERRORS[value.name] === undefined ? 'Error' : value.name;
        const error = construct(ERRORS[name], []);
        const message = getOwnPropertyDescriptor(value, 'message');
        if (message !== undefined) define(error, { message: String(message.value) });
        const stack = value.stack;
        if (typeof stack === 'string') define(error, { stack });
        return error;
      }
      case 'Object':
      case 'Arguments':
        return {};
      default:
        return refuse(typeof value === 'function' ? String(value) : `#<${sort}>`);
    }
  };

  const views = { __proto__: null, DataView };
  const names = [
    'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float16Array',
    'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array',
  ];
  for (let i = 0; i < names.length; i++) views[names[i]] = globalThis[names[i]];
  const viewTag = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
  const viewName = (value) => apply(viewTag, value, []);

  return {
    structuredClone: function structuredClone(value, options) {
      if (arguments.length === 0) throw new TypeError('The "value" argument must be specified');
      // To copy what was to be moved would leave two of it, without a word.
      const transfer = options?.transfer;
      if (transfer !== undefined && transfer.length !== 0) {
        throw new (load('events').DOMException)('`transfer` is not supported here: leave it out to have a copy.', 'NotSupportedError');
      }
      const memory = new Map();
      const work = [];

      const cloned = (value) => {
        if (isPrimitive(value)) return typeof value === 'symbol' ? refuse(String(value)) : value;
        if (mapHas(memory, value)) return mapGet(memory, value);
        const sort = host.sort(value);
        const clone = shell(value, sort, memory);
        mapSet(memory, value, clone);
        append(work, { __proto__: null, value, clone, sort });
        return clone;
      };

      const result = cloned(value);
      while (work.length > 0) {
        const { value, clone, sort } = work[work.length - 1];
        work.length -= 1;
        if (sort === 'Map') {
          const entries = [];
          mapEach(value, (item, key) => append(entries, [key, item]));
          for (let i = 0; i < entries.length; i++) mapSet(clone, cloned(entries[i][0]), cloned(entries[i][1]));
        } else if (sort === 'Set') {
          const items = [];
          setEach(value, (item) => append(items, item));
          for (let i = 0; i < items.length; i++) setAdd(clone, cloned(items[i]));
        } else if (sort === 'Error') {
          const cause = getOwnPropertyDescriptor(value, 'cause');
          if (cause !== undefined) define(clone, { cause: cloned(cause.value) });
        } else if (sort === 'Object' || sort === 'Array' || sort === 'Arguments') {
          const keys = ownKeys(value);
          for (let i = 0; i < keys.length; i++) {
            const key = keys[i];
            if (typeof key === 'symbol') continue;
            const property = getOwnPropertyDescriptor(value, key);
            if (property === undefined || !property.enumerable) continue;
            defineProperty(clone, key, {
              value: cloned('value' in property ? property.value : value[key]),
              writable: true,
              enumerable: true,
              configurable: true,
            });
          }
        }
      }
      return result;
    },
  };
})
