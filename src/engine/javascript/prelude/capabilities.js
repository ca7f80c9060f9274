// What cells reach of their host: `host`, and each capability under a name of its own.
(function (host, intrinsics) {
  'use strict';

  const { define, defineProperty, freeze, mapDelete, mapGet, mapSet, Error, Map, Promise, Symbol, TypeError } = intrinsics;

  class CapabilityError extends Error {
    constructor(message, { capability, action, kind = 'tool', retryable = false, data = null } = {}) {
      super(message);
      define(this, { capability, action, kind, retryable, data });
    }
  }
  define(CapabilityError.prototype, { name: 'CapabilityError' });

  // Those who wait for answers, by the numbers of their calls.
  const waiting = new Map();

  const call = (capability, action, parameters) =>
    new Promise((resolve, reject) => {
      let number;
      try {
        number = host.callHost(capability, action, parameters);
      } catch (error) {
        reject(error);
        return;
      }
      mapSet(waiting, number, { __proto__: null, capability, action, resolve, reject });
    });

  const labelled = (name) => {
    const object = { __proto__: null };
    defineProperty(object, Symbol.toStringTag, { value: name });
    return object;
  };

  const show = (object, name, value) => defineProperty(object, name, { value, enumerable: true });

  return {
    // Makes the names of what is offered: capabilities with the names of their actions.
    offer: (offered) => {
      const all = labelled('host');
      const names = { __proto__: null, host: all, CapabilityError };
      for (let i = 0; i < offered.length; i++) {
        const { name, actions } = offered[i];
        const capability = labelled(name);
        for (let j = 0; j < actions.length; j++) {
          const action = (...parameters) => call(name, actions[j], parameters);
          defineProperty(action, 'name', { value: actions[j] });
          show(capability, actions[j], freeze(action));
        }
        show(all, name, freeze(capability));
        define(names, { [name]: capability });
      }
      freeze(all);
      define(globalThis, names);
    },

    // A call was answered, with a value or with what went wrong.
    answer: (number, isValue, value) => {
      const call = mapGet(waiting, number);
      if (call === undefined) return;
      mapDelete(waiting, number);
      if (isValue) {
        call.resolve(value);
        return;
      }
      const { message, kind, retryable, data } = value;
      const { capability, action } = call;
      call.reject(new CapabilityError(message, { capability, action, kind, retryable, data }));
    },
  };
})
