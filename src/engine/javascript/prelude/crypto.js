// crypto.randomUUID and crypto.getRandomValues.
(function (host, intrinsics, load) {
  'use strict';

  const { TypeError, define, isView } = intrinsics;

  return {
    crypto: define({}, {
      getRandomValues: function getRandomValues(array) {
        if (!isView(array) || host.sort(array) !== 'TypedArray') {
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
