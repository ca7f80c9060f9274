// TextEncoder, TextDecoder, atob, btoa.
(function (host, intrinsics, load) {
  'use strict';

  const { Array, RangeError, String, TypeError, Uint8Array, ArrayBuffer, define, isView, min } = intrinsics;

  class TextEncoder {
    get encoding() {
      return 'utf-8';
    }

    encode(text = '') {
      return new Uint8Array(host.textToBytes(String(text), 'utf8'));
    }

    encodeInto(text, target) {
      const source = String(text);
      let read = 0;
      let written = 0;
      while (read < source.length) {
        const code = intrinsics.charCodeAt(source, read);
        const next = read + 1 < source.length ? intrinsics.charCodeAt(source, read + 1) : 0;
        const isPair = code >= 0xd800 && code < 0xdc00 && next >= 0xdc00 && next < 0xe000;
        const bytes = new Uint8Array(host.textToBytes(intrinsics.stringSlice(source, read, read + (isPair ? 2 : 1)), 'utf8'));
        if (written + bytes.length > target.length) break;
        for (let i = 0; i < bytes.length; i++) target[written++] = bytes[i];
        read += isPair ? 2 : 1;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #name;
    #fatal;
    #ignoreBOM;
    #rest = null;

    constructor(label = 'utf-8', options = {}) {
      this.#name = host.encodingName(String(label));
      if (this.#name === undefined) {
        throw new RangeError(`The "${label}" encoding is not supported`);
      }
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
    }

    get encoding() {
      return this.#name;
    }

    get fatal() {
      return this.#fatal;
    }

    get ignoreBOM() {
      return this.#ignoreBOM;
    }

    decode(input, options = {}) {
      let bytes = input === undefined ? new Uint8Array(0) : input;
      if (!isView(bytes) && host.sort(bytes) !== 'ArrayBuffer') {
        throw new TypeError('The "input" argument must be an instance of ArrayBuffer or ArrayBufferView.');
      }
      if (this.#rest !== null) {
        bytes = joined(this.#rest, bytes);
        this.#rest = null;
      }
      if (options?.stream && this.#name === 'utf-8') {
        const view = joined(new Uint8Array(0), bytes);
        const whole = wholeCharacters(view);
        this.#rest = new Uint8Array(view.length - whole);
        for (let i = whole; i < view.length; i++) this.#rest[i - whole] = view[i];
        const head = new Uint8Array(whole);
        for (let i = 0; i < whole; i++) head[i] = view[i];
        bytes = head;
      }
      const text = host.decode(bytes, this.#name, this.#fatal, this.#ignoreBOM);
      if (text === undefined) {
        throw new TypeError(`The encoded data was not valid for encoding ${this.#name}`);
      }
      return text;
    }
  }

  const viewOf = (bytes) =>
    isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);

  const joined = (head, tail) => {
    const rest = viewOf(tail);
    const all = new Uint8Array(head.length + rest.length);
    for (let i = 0; i < head.length; i++) all[i] = head[i];
    for (let i = 0; i < rest.length; i++) all[head.length + i] = rest[i];
    return all;
  };

  // How many of the bytes make whole UTF-8 characters; the last one may still miss some of its bytes.
  const wholeCharacters = (bytes) => {
    for (let back = 1; back <= min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back];
      if (byte >= 0xc0) {
        const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        return needed > back ? bytes.length - back : bytes.length;
      }
      if (byte < 0x80) break;
    }
    return bytes.length;
  };

  const refuse = (message) => {
    throw new (load('events').DOMException)(message, 'InvalidCharacterError');
  };

  return {
    TextEncoder,
    TextDecoder,
    atob: function atob(data) {
      const bytes = host.textToBytes(String(data), 'base64-only');
      return bytes === undefined ? refuse('The string to be decoded is not correctly encoded.') : host.bytesToText(bytes, 'latin1');
    },
    btoa: function btoa(data) {
      const bytes = host.textToBytes(String(data), 'latin1-only');
      return bytes === undefined ? refuse('Invalid character') : host.bytesToText(bytes, 'base64');
    },
  };
})
