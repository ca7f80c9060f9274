// Turns `eval` and the constructors of functions off on QuickJS, which has no switch for it. boa asks its host.
(function () {
  'use strict';

  const refuse = () => {
    throw new EvalError('code generation from strings is off: put the code into the cell itself');
  };
  const kinds = [
    function () {},
    async function () {},
    function* () {},
    async function* () {},
  ];
  let parent;
  for (let i = 0; i < kinds.length; i++) {
    const prototype = Object.getPrototypeOf(kinds[i]);
    const constructor = function () {
      refuse();
    };
    const { name } = prototype.constructor;
    Object.defineProperty(constructor, 'name', { value: name, configurable: true });
    Object.defineProperty(constructor, 'length', { value: 1, configurable: true });
    Object.defineProperty(constructor, 'prototype', { value: prototype, writable: false });
    Object.defineProperty(prototype, 'constructor', {
      value: constructor,
      writable: prototype === Function.prototype,
      enumerable: false,
      configurable: true,
    });
    if (parent === undefined) parent = constructor;
    else Object.setPrototypeOf(constructor, parent);
  }
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
  define('Function', parent);
  define('eval', {
    eval() {
      refuse();
    },
  }.eval);
})()
