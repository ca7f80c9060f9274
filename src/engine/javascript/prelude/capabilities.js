// What cells reach of their host: `host`, and each capability under a name of its own.
(function (host, intrinsics) {
  'use strict';

  const { define, defineProperty, freeze, Error, Symbol } = intrinsics;

  const { callHost } = host;

  class CapabilityError extends Error {
    constructor(message, { capability, action, kind = 'tool', retryable = false, data = null } = {}) {
      super(message);
      define(this, { capability, action, kind, retryable, data });
    }
  }
  define(CapabilityError.prototype, { name: 'CapabilityError' });

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
          // A promise, also where the arguments do not fit.
          const action = (...parameters) => callHost(name, actions[j], parameters);
          defineProperty(action, 'name', { value: actions[j] });
          show(capability, actions[j], freeze(action));
        }
        show(all, name, freeze(capability));
        define(names, { [name]: capability });
      }
      freeze(all);
      define(globalThis, names);
    },

    // The error of a call that failed.
    failedCall: (message, about) => new CapabilityError(message, about),
  };
})
