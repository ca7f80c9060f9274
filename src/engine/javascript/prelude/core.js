// Console, timers, microtasks, and the names of what is loaded later. Called once, before any cell, with the functions
// of the host and with the object that rewritten cells know as `$warmcell`.
(function (host, warmcell) {
  'use strict';

  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;

  // A method as a function whose first argument is `this`, safe from what later becomes of its prototype.
  const bare = (method) => (self, ...rest) => apply(method, self, rest);

  const then = bare(Promise.prototype.then);
  const resolved = Promise.resolve();

  const intrinsics = {
    __proto__: null,
    apply,
    bare,
    construct,
    defineProperty,
    getOwnPropertyDescriptor,
    getPrototypeOf,
    ownKeys,
    Array,
    ArrayBuffer,
    DataView,
    Date,
    Error,
    Float64Array,
    Map,
    Number,
    Object,
    Promise,
    RangeError,
    RegExp,
    Set,
    String,
    Symbol,
    TypeError,
    Uint8Array,
    create: Object.create,
    freeze: Object.freeze,
    fromCharCode: String.fromCharCode,
    isArray: Array.isArray,
    isView: ArrayBuffer.isView,
    iterator: Symbol.iterator,
    min: Math.min,
    max: Math.max,
    trunc: Math.trunc,
    append: (array, value) =>
      defineProperty(array, array.length, { value, writable: true, enumerable: true, configurable: true }),
    mapGet: bare(Map.prototype.get),
    mapSet: bare(Map.prototype.set),
    mapHas: bare(Map.prototype.has),
    mapEach: bare(Map.prototype.forEach),
    setAdd: bare(Set.prototype.add),
    setEach: bare(Set.prototype.forEach),
    slice: bare(Array.prototype.slice),
    splice: bare(Array.prototype.splice),
    sort: bare(Array.prototype.sort),
    toLowerCase: bare(String.prototype.toLowerCase),
    charCodeAt: bare(String.prototype.charCodeAt),
    stringSlice: bare(String.prototype.slice),
    getTime: bare(Date.prototype.getTime),
    // What kind of typed array it is; undefined for anything else.
    typedArrayName: bare(getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get),
    then,
  };

  // Each property of `members` becomes one of `target` that programs see as they see built-ins.
  const define = (target, members) => {
    const names = ownKeys(members);
    for (let i = 0; i < names.length; i++) {
      const { value } = getOwnPropertyDescriptor(members, names[i]);
      defineProperty(target, names[i], { value, writable: true, enumerable: false, configurable: true });
    }
    return target;
  };
  intrinsics.define = define;

  const console = {};
  const consoleMethods = [
    'log', 'info', 'debug', 'warn', 'error', 'trace', 'assert', 'table', 'dir', 'dirxml', 'group', 'groupCollapsed',
    'groupEnd', 'count', 'countReset', 'time', 'timeLog', 'timeEnd', 'clear',
  ];
  for (let i = 0; i < consoleMethods.length; i++) {
    const name = consoleMethods[i];
    defineProperty(console, name, { value: host[name], writable: true, enumerable: true, configurable: true });
  }

  // What the timers run, by their numbers; when they run it, the host knows. No map: boa moves all that follows an entry when
  // it deletes it.
  const callbacks = { __proto__: null };

  const start = (callback, delay, parameters, repeats) => {
    if (typeof callback !== 'function') {
      throw new TypeError('The "callback" argument must be of type function. Received ' + host.sort(callback));
    }
    const milliseconds = typeof delay === 'number' ? delay : typeof delay === 'object' || delay === undefined ? 1 : +delay;
    const number = host.startTimer(milliseconds, repeats);
    callbacks[number] = { __proto__: null, callback, parameters };
    return number;
  };

  const clear = (number) => {
    if (typeof number === 'number') {
      host.cancelTimer(number);
      delete callbacks[number];
    }
  };

  const report = (callback) => {
    try {
      callback();
    } catch (error) {
      host.report(error);
    }
  };

  define(globalThis, {
    console,
    setTimeout: function setTimeout(callback, delay, ...parameters) {
      return start(callback, delay, parameters, false);
    },
    setInterval: function setInterval(callback, delay, ...parameters) {
      return start(callback, delay, parameters, true);
    },
    setImmediate: function setImmediate(callback, ...parameters) {
      return start(callback, 1, parameters, false);
    },
    clearTimeout: function clearTimeout(number) {
      clear(number);
    },
    clearInterval: function clearInterval(number) {
      clear(number);
    },
    clearImmediate: function clearImmediate(number) {
      clear(number);
    },
    queueMicrotask: function queueMicrotask(callback) {
      if (typeof callback !== 'function') {
        throw new TypeError('The "callback" argument must be of type function. Received ' + host.sort(callback));
      }
      then(resolved, () => report(callback));
    },
  });

  const timeOrigin = host.timeOrigin();
  define(globalThis, {
    performance: define({}, {
      now: function now() {
        return host.now();
      },
      timeOrigin,
      mark: function mark(name) {
        return { name, entryType: 'mark', startTime: host.now(), duration: 0 };
      },
      toJSON: function toJSON() {
        return { timeOrigin };
      },
    }),
  });

  // What a part defines is made when one of its names is first read.
  const later = {
    __proto__: null,
    buffer: ['Buffer'],
    clone: ['structuredClone'],
    crypto: ['crypto'],
    display: ['display'],
    events: ['AbortController', 'AbortSignal', 'DOMException', 'Event', 'EventTarget'],
    text: ['TextDecoder', 'TextEncoder', 'atob', 'btoa'],
    urls: ['URL', 'URLSearchParams'],
  };
  const loaded = { __proto__: null };
  const load = (part) => {
    loaded[part] ??= host.load(part)(host, intrinsics, load);
    return loaded[part];
  };
  const parts = ownKeys(later);
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    for (let j = 0; j < later[part].length; j++) {
      const name = later[part][j];
      // It stays an accessor: boa goes on calling what was a getter when the code that reads it first ran.
      let replacement;
      if (getOwnPropertyDescriptor(globalThis, name) === undefined || part !== 'clone') {
        defineProperty(globalThis, name, {
          get: () => (replacement === undefined ? load(part)[name] : replacement.value),
          set: (value) => {
            replacement = { __proto__: null, value };
          },
          enumerable: false,
          configurable: true,
        });
      }
    }
  }

  // Both engines tell frames alone, in the positions of the code that they were given and not of the one that was written.
  const { set: setStack } = getOwnPropertyDescriptor(Error.prototype, 'stack');
  defineProperty(Error.prototype, 'stack', {
    get: function stack() {
      return host.stack(this);
    },
    set: setStack,
    enumerable: false,
    configurable: true,
  });
  const { Error: OwnError } = intrinsics;
  define(Error, {
    captureStackTrace: function captureStackTrace(target) {
      // An error has its stack from birth.
      if (host.sort(target) !== 'Error') define(target, { stack: host.stack(new OwnError()) });
    },
  });

  // QuickJS asks what a program sets here for the stack of each error, those included whose stacks we read.
  const asked = ['prepareStackTrace', 'stackTraceLimit'];
  for (let i = 0; i < asked.length; i++) {
    if (getOwnPropertyDescriptor(OwnError, asked[i]) !== undefined) {
      define(OwnError, { [asked[i]]: OwnError[asked[i]] });
    }
  }

  // What one of the engines lacks and code takes for granted.
  if (typeof Array.fromAsync !== 'function') {
    define(Array, {
      fromAsync: async function fromAsync(items, map, self) {
        const result = [];
        let index = 0;
        if (items[Symbol.asyncIterator] !== undefined || items[intrinsics.iterator] !== undefined) {
          for await (const item of items) {
            intrinsics.append(result, map ? await apply(map, self, [item, index++]) : item);
          }
        } else {
          while (index < items.length) {
            const item = await items[index];
            intrinsics.append(result, map ? await apply(map, self, [item, index]) : item);
            index++;
          }
        }
        return result;
      },
    });
  }

  // Where a cell assigns to a constant, the rewrite makes it assign to a property of `constant`; where it reads a name before
  // it declares it, a property of `early`.
  const { ReferenceError: EarlyError } = globalThis;
  define(warmcell, {
    early: new Proxy({ __proto__: null }, {
      __proto__: null,
      get: (_, name) => {
        throw new EarlyError(`Cannot access '${name}' before initialization`);
      },
    }),
    constant: new Proxy({ __proto__: null }, {
      __proto__: null,
      get: () => undefined,
      set: () => {
        throw new TypeError('Assignment to constant variable.');
      },
    }),
    imported: (module, name, specifier) => {
      if (getOwnPropertyDescriptor(module, name) === undefined) {
        throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
      }
      return module[name];
    },
  });
  intrinsics.freeze(warmcell);

  return {
    // Runs what a timer was started for.
    fire: (number, repeats) => {
      const timer = callbacks[number];
      if (timer === undefined) return;
      if (!repeats) delete callbacks[number];
      apply(timer.callback, undefined, timer.parameters);
    },
    // Makes the names of what the host offers.
    offer: (offered) => load('capabilities').offer(offered),
    // Makes the error of a call of the host that failed.
    failedCall: (message, about) => load('capabilities').failedCall(message, about),
    // Forgets what a cancelled timer would have run.
    forget: (number) => {
      delete callbacks[number];
    },
  };
})
