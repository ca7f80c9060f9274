// The everyday part of Node's Buffer.
(function (host, intrinsics, load) {
  'use strict';

  const {
    Array, ArrayBuffer, DataView, RangeError, String, TypeError, Uint8Array,
    apply, define, isArray, isView, max, min, toLowerCase, trunc,
  } = intrinsics;
  const fill = Uint8Array.prototype.fill;
  const set = Uint8Array.prototype.set;

  const ENCODINGS = {
    __proto__: null,
    utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', latin1: 'latin1',
    binary: 'latin1', ascii: 'ascii', utf16le: 'utf16le', 'utf-16le': 'utf16le', ucs2: 'utf16le', 'ucs-2': 'utf16le',
  };

  const encodingOf = (name) => {
    const encoding = name === undefined || name === null ? 'utf8' : ENCODINGS[toLowerCase(String(name))];
    if (encoding === undefined) throw new TypeError(`Unknown encoding: ${name}`);
    return encoding;
  };

  const bytesOf = (text, encoding) => {
    const name = encodingOf(encoding);
    return host.textToBytes(text, name === 'base64url' ? 'base64' : name === 'ascii' ? 'latin1' : name);
  };

  const checked = (offset, size, length) => {
    if (typeof offset !== 'number' || trunc(offset) !== offset || offset < 0 || offset + size > length) {
      throw new RangeError(`The value of "offset" is out of range. It must be >= 0 and <= ${length - size}. Received ${String(offset)}`);
    }
  };

  class Buffer extends Uint8Array {
    static from(value, encodingOrOffset, length) {
      if (typeof value === 'string') return new Buffer(bytesOf(value, encodingOrOffset));
      if (host.sort(value) === 'ArrayBuffer') return new Buffer(value, encodingOrOffset, length);
      if (isView(value) || isArray(value)) return copied(value);
      if (typeof value === 'object' && value !== null) {
        if (value.type === 'Buffer' && isArray(value.data)) return copied(value.data);
        if (typeof value.length === 'number') return copied(value);
      }
      throw new TypeError(
        'The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object.',
      );
    }

    static alloc(size, value, encoding) {
      const buffer = new Buffer(sized(size));
      return value === undefined ? buffer : buffer.fill(value, encoding);
    }

    static allocUnsafe(size) {
      return new Buffer(sized(size));
    }

    static isBuffer(value) {
      return value instanceof Buffer;
    }

    static isEncoding(name) {
      return ENCODINGS[toLowerCase(String(name))] !== undefined;
    }

    static byteLength(value, encoding) {
      return typeof value === 'string' ? bytesOf(value, encoding).byteLength : value.byteLength;
    }

    static concat(list, total) {
      let length = 0;
      for (let i = 0; i < list.length; i++) length += list[i].length;
      const buffer = new Buffer(sized(total ?? length));
      let at = 0;
      for (let i = 0; i < list.length; i++) {
        for (let j = 0; j < list[i].length && at < buffer.length; j++) buffer[at++] = list[i][j];
      }
      return buffer;
    }

    static compare(a, b) {
      for (let i = 0; i < min(a.length, b.length); i++) {
        if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
      }
      return a.length < b.length ? -1 : a.length > b.length ? 1 : 0;
    }

    toString(encoding, start = 0, end = this.length) {
      return host.bytesToText(part(this, start, end), encodingOf(encoding));
    }

    toJSON() {
      const data = new Array(this.length);
      for (let i = 0; i < this.length; i++) data[i] = this[i];
      return { type: 'Buffer', data };
    }

    equals(other) {
      return Buffer.compare(this, other) === 0;
    }

    compare(other) {
      return Buffer.compare(this, other);
    }

    slice(start, end) {
      return this.subarray(start, end);
    }

    subarray(start = 0, end = this.length) {
      const { from, to } = range(this, start, end);
      return new Buffer(this.buffer, this.byteOffset + from, to - from);
    }

    fill(value, start, end, encoding) {
      if (typeof value === 'string') {
        if (typeof start === 'string') {
          encoding = start;
          start = 0;
        }
        const bytes = new Uint8Array(bytesOf(value, encoding));
        const { from, to } = range(this, start ?? 0, end ?? this.length);
        for (let i = from; i < to && bytes.length > 0; i++) this[i] = bytes[(i - from) % bytes.length];
        return this;
      }
      return apply(fill, this, [value, start, end]);
    }

    write(text, offset = 0, length, encoding) {
      if (typeof offset === 'string') {
        encoding = offset;
        offset = 0;
      } else if (typeof length === 'string') {
        encoding = length;
        length = undefined;
      }
      const bytes = new Uint8Array(bytesOf(String(text), encoding));
      let count = min(bytes.length, length ?? Infinity, this.length - offset);
      // A character goes whole or not at all.
      if (encodingOf(encoding) === 'utf8') while (count > 0 && (bytes[count] & 0xc0) === 0x80) count--;
      for (let i = 0; i < count; i++) this[offset + i] = bytes[i];
      return count;
    }

    copy(target, at = 0, start = 0, end = this.length) {
      const count = max(0, min(end - start, target.length - at));
      apply(set, target, [part(this, start, start + count), at]);
      return count;
    }

    indexOf(value, from = 0, encoding) {
      if (typeof from === 'string') {
        encoding = from;
        from = 0;
      }
      const wanted = sought(value, encoding);
      for (let i = from < 0 ? max(0, this.length + from) : from; i + wanted.length <= this.length; i++) {
        if (isAt(this, i, wanted)) return i;
      }
      return -1;
    }

    lastIndexOf(value, from = this.length, encoding) {
      if (typeof from === 'string') {
        encoding = from;
        from = this.length;
      }
      const wanted = sought(value, encoding);
      for (let i = min(from < 0 ? this.length + from : from, this.length - wanted.length); i >= 0; i--) {
        if (isAt(this, i, wanted)) return i;
      }
      return -1;
    }

    includes(value, from, encoding) {
      return this.indexOf(value, from, encoding) !== -1;
    }
  }

  const sought = (value, encoding) =>
    typeof value === 'number' ? [value & 255] : new Uint8Array(typeof value === 'string' ? bytesOf(value, encoding) : value);

  const isAt = (buffer, place, wanted) => {
    let i = 0;
    while (i < wanted.length && buffer[place + i] === wanted[i]) i++;
    return i === wanted.length;
  };

  const sized = (size) => {
    if (typeof size !== 'number' || !(size >= 0)) {
      throw new RangeError(`The value of "size" is out of range. It must be >= 0. Received ${String(size)}`);
    }
    return size;
  };

  const range = (buffer, start, end) => {
    const clamp = (value) => {
      const whole = trunc(+value) || 0;
      return min(max(whole < 0 ? buffer.length + whole : whole, 0), buffer.length);
    };
    const from = clamp(start);
    return { from, to: max(from, clamp(end)) };
  };

  const part = (buffer, start, end) => {
    const { from, to } = range(buffer, start, end);
    return new Uint8Array(buffer.buffer, buffer.byteOffset + from, to - from);
  };

  const copied = (values) => {
    const buffer = new Buffer(values.length);
    for (let i = 0; i < values.length; i++) buffer[i] = values[i];
    return buffer;
  };

  // readUInt16LE and its like, from the accessors that DataView has for each number.
  const numbers = [
    ['Int8', 'Int8', 1], ['UInt8', 'Uint8', 1], ['Int16', 'Int16', 2], ['UInt16', 'Uint16', 2], ['Int32', 'Int32', 4],
    ['UInt32', 'Uint32', 4], ['Float', 'Float32', 4], ['Double', 'Float64', 8], ['BigInt64', 'BigInt64', 8],
    ['BigUInt64', 'BigUint64', 8],
  ];
  for (let i = 0; i < numbers.length; i++) {
    const name = numbers[i][0];
    const size = numbers[i][2];
    // Whole numbers have their range; those of eight bytes have it as a type.
    const isWhole = size < 8 && name !== 'Float';
    const isSigned = name[0] === 'I';
    const least = isWhole ? (isSigned ? -(2 ** (8 * size - 1)) : 0) : undefined;
    const most = 2 ** (8 * size - (isSigned ? 1 : 0)) - 1;
    const get = DataView.prototype['get' + numbers[i][1]];
    const put = DataView.prototype['set' + numbers[i][1]];
    const orders = size === 1 ? [''] : ['LE', 'BE'];
    for (let j = 0; j < orders.length; j++) {
      const little = orders[j] === 'LE';
      const methods = {
        ['read' + name + orders[j]](offset = 0) {
          checked(offset, size, this.length);
          return apply(get, new DataView(this.buffer, this.byteOffset, this.length), [offset, little]);
        },
        ['write' + name + orders[j]](value, offset = 0) {
          if (least !== undefined && (value < least || value > most)) {
            throw new RangeError(`The value of "value" is out of range. It must be >= ${least} and <= ${most}. Received ${String(value)}`);
          }
          checked(offset, size, this.length);
          apply(put, new DataView(this.buffer, this.byteOffset, this.length), [offset, value, little]);
          return offset + size;
        },
      };
      define(Buffer.prototype, methods);
    }
  }

  return { Buffer };
})
