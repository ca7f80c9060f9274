// URL and URLSearchParams; the parsing is the host's.
(function (host, intrinsics, load) {
  'use strict';

  const { String, Symbol, TypeError, append, apply, define, defineProperty, iterator, ownKeys, slice, sort } = intrinsics;

  // What is left for the inspector, which does not see what is private.
  const shown = Symbol('warmcell.shown');
  const show = (object, value) => {
    defineProperty(object, shown, { value, enumerable: false, configurable: true });
  };

  class URLSearchParams {
    // Names and values in turn.
    #flat = [];
    #changed = () => {};

    constructor(init = '') {
      if (typeof init === 'object' && init !== null) {
        if (init[iterator] !== undefined) {
          for (const pair of init) {
            const [name, value, ...more] = pair;
            if (more.length > 0 || value === undefined) {
              throw new TypeError('Each query pair must be an iterable [name, value] tuple');
            }
            this.#push(name, value);
          }
        } else {
          const names = ownKeys(init);
          for (let i = 0; i < names.length; i++) {
            if (typeof names[i] === 'string') this.#push(names[i], init[names[i]]);
          }
        }
      } else {
        const text = String(init);
        this.#flat = host.parseQuery(text[0] === '?' ? intrinsics.stringSlice(text, 1) : text);
      }
      show(this, this.#flat);
    }

    #keep(flat) {
      this.#flat = flat;
      show(this, flat);
    }

    #push(name, value) {
      append(this.#flat, String(name));
      append(this.#flat, String(value));
    }

    get size() {
      return this.#flat.length / 2;
    }

    append(name, value) {
      this.#push(name, value);
      this.#changed();
    }

    delete(name, value) {
      const kept = [];
      for (let i = 0; i < this.#flat.length; i += 2) {
        if (this.#flat[i] !== String(name) || (value !== undefined && this.#flat[i + 1] !== String(value))) {
          append(kept, this.#flat[i]);
          append(kept, this.#flat[i + 1]);
        }
      }
      this.#keep(kept);
      this.#changed();
    }

    get(name) {
      for (let i = 0; i < this.#flat.length; i += 2) {
        if (this.#flat[i] === String(name)) return this.#flat[i + 1];
      }
      return null;
    }

    getAll(name) {
      const found = [];
      for (let i = 0; i < this.#flat.length; i += 2) {
        if (this.#flat[i] === String(name)) append(found, this.#flat[i + 1]);
      }
      return found;
    }

    has(name, value) {
      for (let i = 0; i < this.#flat.length; i += 2) {
        if (this.#flat[i] === String(name) && (value === undefined || this.#flat[i + 1] === String(value))) return true;
      }
      return false;
    }

    set(name, value) {
      const kept = [];
      let isSet = false;
      for (let i = 0; i < this.#flat.length; i += 2) {
        const isIt = this.#flat[i] === String(name);
        if (isIt && isSet) continue;
        append(kept, this.#flat[i]);
        append(kept, isIt ? String(value) : this.#flat[i + 1]);
        isSet ||= isIt;
      }
      this.#keep(kept);
      if (isSet) this.#changed();
      else this.append(name, value);
    }

    sort() {
      const pairs = [];
      for (let i = 0; i < this.#flat.length; i += 2) append(pairs, [this.#flat[i], this.#flat[i + 1]]);
      sort(pairs, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.#keep([]);
      for (let i = 0; i < pairs.length; i++) this.#push(pairs[i][0], pairs[i][1]);
      this.#changed();
    }

    forEach(callback, self) {
      for (let i = 0; i < this.#flat.length; i += 2) {
        apply(callback, self, [this.#flat[i + 1], this.#flat[i], this]);
      }
    }

    *entries() {
      for (let i = 0; i < this.#flat.length; i += 2) yield [this.#flat[i], this.#flat[i + 1]];
    }

    *keys() {
      for (let i = 0; i < this.#flat.length; i += 2) yield this.#flat[i];
    }

    *values() {
      for (let i = 0; i < this.#flat.length; i += 2) yield this.#flat[i + 1];
    }

    toString() {
      return host.formatQuery(this.#flat);
    }

    static of(query, changed) {
      const parameters = new URLSearchParams(query);
      parameters.#changed = () => changed(host.formatQuery(parameters.#flat));
      return parameters;
    }

    static replace(parameters, query) {
      parameters.#keep(host.parseQuery(query));
    }
  }
  const { of: parametersOf, replace: replaceParameters } = URLSearchParams;
  delete URLSearchParams.of;
  delete URLSearchParams.replace;
  define(URLSearchParams.prototype, { [iterator]: URLSearchParams.prototype.entries });

  class URL {
    #parts;
    #parameters = null;

    constructor(input, base) {
      const parts = parsed(input, base);
      if (parts === undefined) {
        const error = new TypeError('Invalid URL');
        define(error, { code: 'ERR_INVALID_URL', input: String(input) });
        throw error;
      }
      this.#keep(parts);
    }

    #keep(parts) {
      this.#parts = parts;
      show(this, parts.href);
    }

    static canParse(input, base) {
      return parsed(input, base) !== undefined;
    }

    static parse(input, base) {
      return parsed(input, base) === undefined ? null : new URL(input, base);
    }

    get searchParams() {
      this.#parameters ??= parametersOf(this.#parts.query, (query) => {
        this.#keep(host.changeUrl(this.#parts.href, 'search', query) ?? this.#parts);
      });
      return this.#parameters;
    }

    get href() {
      return this.#parts.href;
    }

    set href(value) {
      const parts = parsed(value);
      if (parts === undefined) throw new TypeError('Invalid URL');
      this.#keep(parts);
      if (this.#parameters !== null) replaceParameters(this.#parameters, parts.query);
    }

    get origin() {
      return this.#parts.origin;
    }

    toString() {
      return this.#parts.href;
    }

    toJSON() {
      return this.#parts.href;
    }

    static part(url, name) {
      return url.#parts[name];
    }

    static change(url, name, value) {
      url.#keep(host.changeUrl(url.#parts.href, name, String(value)) ?? url.#parts);
      if (name === 'search' && url.#parameters !== null) replaceParameters(url.#parameters, url.#parts.query);
    }
  }
  const { part, change } = URL;
  delete URL.part;
  delete URL.change;

  const parsed = (input, base) => host.parseUrl(String(input), base === undefined ? undefined : String(base));

  const names = ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    defineProperty(URL.prototype, name, {
      get() {
        return part(this, name);
      },
      set(value) {
        change(this, name, value);
      },
      enumerable: true,
      configurable: true,
    });
  }

  return { URL, URLSearchParams };
})
