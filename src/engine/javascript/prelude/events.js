// DOMException, Event, EventTarget, AbortSignal, AbortController.
(function (host, intrinsics, load) {
  'use strict';

  const { Error, String, TypeError, append, apply, define, slice, splice } = intrinsics;
  const { setTimeout } = globalThis;

  const CODES = {
    __proto__: null,
    IndexSizeError: 1, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12,
    InvalidAccessError: 15, TimeoutError: 23, AbortError: 20, DataCloneError: 25, InvalidCharacterError: 5,
    QuotaExceededError: 22,
  };

  class DOMException extends Error {
    #code;

    constructor(message = '', options = 'Error') {
      super(String(message));
      const name = typeof options === 'object' && options !== null ? options.name ?? 'Error' : options;
      define(this, { name: String(name) });
      if (typeof options === 'object' && options !== null && 'cause' in options) define(this, { cause: options.cause });
      this.#code = CODES[name] ?? 0;
    }

    get code() {
      return this.#code;
    }
  }

  class Event {
    #type;
    #cancelable;
    #defaultPrevented = false;
    #stopped = false;
    #target = null;
    #timeStamp = host.now();

    constructor(type, options = {}) {
      if (arguments.length === 0) throw new TypeError('The "type" argument must be specified');
      this.#type = String(type);
      this.#cancelable = !!options?.cancelable;
    }

    get type() {
      return this.#type;
    }

    get target() {
      return this.#target;
    }

    get currentTarget() {
      return this.#target;
    }

    get cancelable() {
      return this.#cancelable;
    }

    get defaultPrevented() {
      return this.#defaultPrevented;
    }

    get timeStamp() {
      return this.#timeStamp;
    }

    preventDefault() {
      this.#defaultPrevented ||= this.#cancelable;
    }

    stopPropagation() {}

    stopImmediatePropagation() {
      this.#stopped = true;
    }

    static dispatch(event, target, listeners, remove) {
      event.#target = target;
      for (let i = 0; i < listeners.length && !event.#stopped; i++) {
        const listener = listeners[i];
        if (listener.type !== event.#type || listener.removed) continue;
        if (listener.once) remove(listener);
        try {
          if (typeof listener.callback === 'function') apply(listener.callback, target, [event]);
          else listener.callback.handleEvent(event);
        } catch (error) {
          host.report(error);
        }
      }
      return !event.#defaultPrevented;
    }
  }
  const { dispatch } = Event;
  delete Event.dispatch;

  class EventTarget {
    #listeners = [];

    addEventListener(type, callback, options) {
      if (callback === null || callback === undefined) return;
      const once = typeof options === 'object' && options !== null && !!options.once;
      for (let i = 0; i < this.#listeners.length; i++) {
        if (this.#listeners[i].type === String(type) && this.#listeners[i].callback === callback) return;
      }
      append(this.#listeners, { __proto__: null, type: String(type), callback, once, removed: false });
    }

    removeEventListener(type, callback) {
      for (let i = 0; i < this.#listeners.length; i++) {
        const listener = this.#listeners[i];
        if (listener.type === String(type) && listener.callback === callback) {
          listener.removed = true;
          splice(this.#listeners, i, 1);
          return;
        }
      }
    }

    dispatchEvent(event) {
      return dispatch(event, this, slice(this.#listeners), (listener) =>
        this.removeEventListener(listener.type, listener.callback));
    }
  }

  const allowed = { __proto__: null };

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    onabort = null;

    constructor(permission) {
      if (permission !== allowed) throw new TypeError('Illegal constructor');
      super();
    }

    get aborted() {
      return this.#aborted;
    }

    get reason() {
      return this.#reason;
    }

    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }

    static abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
      const signal = new AbortSignal(allowed);
      signal.#aborted = true;
      signal.#reason = reason;
      return signal;
    }

    static timeout(milliseconds) {
      const signal = new AbortSignal(allowed);
      setTimeout(
        () => signalAbort(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
        milliseconds,
      );
      return signal;
    }

    static any(signals) {
      const result = new AbortSignal(allowed);
      for (const signal of signals) {
        if (signal.aborted) {
          signalAbort(result, signal.reason);
          break;
        }
        signal.addEventListener('abort', () => signalAbort(result, signal.reason), { once: true });
      }
      return result;
    }

    static signalAbort(signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason;
      const event = new Event('abort');
      if (typeof signal.onabort === 'function') {
        try {
          apply(signal.onabort, signal, [event]);
        } catch (error) {
          host.report(error);
        }
      }
      signal.dispatchEvent(event);
    }
  }
  const { signalAbort } = AbortSignal;
  delete AbortSignal.signalAbort;

  class AbortController {
    #signal = new AbortSignal(allowed);

    get signal() {
      return this.#signal;
    }

    abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
      signalAbort(this.#signal, reason);
    }
  }

  return { AbortController, AbortSignal, DOMException, Event, EventTarget };
})
