// What a cell shows: `display`.
(function (host, intrinsics) {
  'use strict';

  const { TypeError, define, getOwnPropertyDescriptor } = intrinsics;

  const option = (options, name) => {
    if (options === undefined || options === null) return undefined;
    if (typeof options !== 'object') throw new TypeError('The options of a display are an object: { id, update, metadata }');
    return getOwnPropertyDescriptor(options, name)?.value;
  };

  // With `id` what is shown has a name, and with `update` as well it takes the place of what was shown under that name.
  const show = (form, content, mime, options, id, updates) =>
    host.display(
      form, content, mime, id ?? option(options, 'id'), updates ?? option(options, 'update') === true,
      option(options, 'metadata'),
    );

  const display = define(
    function display(value, options) {
      show(option(options, 'raw') === true ? 'bundle' : 'value', value, undefined, options);
    },
    {
      html: function html(text, options) {
        show('text', text, 'text/html', options);
      },
      markdown: function markdown(text, options) {
        show('text', text, 'text/markdown', options);
      },
      svg: function svg(text, options) {
        show('text', text, 'image/svg+xml', options);
      },
      json: function json(value, options) {
        show('json', value, undefined, options);
      },
      image: function image(bytes, mime, options) {
        if (typeof mime === 'object') show('image', bytes, undefined, mime);
        else show('image', bytes, mime, options);
      },
      update: function update(id, value, options) {
        show(option(options, 'raw') === true ? 'bundle' : 'value', value, undefined, options, id, true);
      },
      clear: function clear(options) {
        host.clearDisplay(option(options, 'wait') === true);
      },
    },
  );

  return { display };
})
