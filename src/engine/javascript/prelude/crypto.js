// crypto.randomUUID and crypto.getRandomValues.
(function (host, intrinsics, load) {
  'use strict';

  const { TypeError, define, stringSlice, typedArrayName } = intrinsics;

  return {
    crypto: define({}, {
      getRandomValues: function getRandomValues(array) {
        const name = typedArrayName(array);
        if (name === undefined || stringSlice(name, 0, 5) === 'Float') {
          throw new TypeError('The "typedArray" argument must be an integer typed array.');
        }
        if (array.byteLength > 65536) {
          throw new (load('events').DOMException)(
            `The requested length exceeds 65,536 bytes: ${array.byteLength}`,
            'QuotaExceededError',
          );
        }
        return host.fillRandom(array);
      },
      randomUUID: function randomUUID() {
        return host.uuid();
      },
    }),
  };
})
