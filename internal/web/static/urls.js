// Builds the URLs of pictures and the snippets that hold them.

const geometry = ['enlarge', 'rotate', 'flip', 'flop', 'trim'];

// parameters turns the state into the product's own parameters, in the order
// of its reference, leaving out what is the default.
function parameters(state, over = {}) {
  const s = { ...state, ...over };
  const out = [];
  const add = (name, value) => out.push([name, String(value)]);
  if (s.w || s.h) add('sizes', `${s.w}x${s.h}`);
  if (s.fit !== 'inside') add('fit', s.fit);
  if (s.gravity === 'focal') add('gravity', `${s.fx.toFixed(2)},${s.fy.toFixed(2)}`);
  else if (s.gravity !== 'center') add('gravity', s.gravity);
  if (s.dpr !== 1) add('dpr', s.dpr);
  for (const name of geometry) if (s[name]) add(name, s[name]);
  if (s.ground) add('background', s.background.replace('#', ''));
  for (const name of ['blur', 'sharpen', 'grayscale']) if (s[name]) add(name, s[name]);
  if (s.format !== 'auto') add('format', s.format);
  if (s.quality) add('quality', s.quality);
  if (s.effort >= 0) add('effort', s.effort);
  if (s.max_kb) add('max_bytes', Math.round(s.max_kb * 1000));
  for (const name of ['lossless', 'progressive']) if (s[name]) add(name, s[name]);
  return out;
}

// remote tells a URL from a key under the root.
export const remote = (key) => /^[a-z][a-z0-9+.-]*:[/]{2}/i.test(key);

// plain leaves readable what a query may hold unescaped (RFC 3986, 3.4).
const plain = (text) => encodeURIComponent(text).replace(/%2C/g, ',').replace(/%2F/g, '/').replace(/%3A/g, ':');

function address(key, list) {
  const query = list.map(([name, value]) => `${name}=${plain(value)}`);
  if (remote(key)) return '/resize?' + [`image_url=${plain(key)}`, ...query].join('&');
  const path = '/assets/' + key.split('/').map(encodeURIComponent).join('/');
  return query.length ? `${path}?${query.join('&')}` : path;
}

export const pictureURL = (state, over) => address(state.key, parameters(state, over));

// referenceURL is the same pixels before any filter and without loss: what
// the result is compared with.
export const referenceURL = (state) => pictureURL(state, {
  format: 'png', quality: 0, effort: 1, max_kb: 0, lossless: false, progressive: false, blur: 0, sharpen: 0, grayscale: false,
});

export const previewURL = (key, width, height) => address(key, [['sizes', `${width}x${height}`]]);

export const thumbURL = (key) => address(key, [['sizes', '176x128'], ['fit', 'cover'], ['gravity', 'attention'], ['frames', '1']]);

export const infoURL = (key) => `/info?image_url=${plain(key)}`;

const shellQuote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

const escapeHTML = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

export function curlLine(state, accept, type) {
  const name = state.key.split('/').pop().split('?')[0].replace(/\.[^.]*$/, '').replace(/[^\w-]+/g, '-') || 'picture';
  const ending = { 'image/jpeg': 'jpg', 'image/svg+xml': 'svg' }[type] ?? (type || 'image/webp').split('/')[1];
  const header = state.format === 'auto' ? ` -H ${shellQuote('Accept: ' + accept)}` : '';
  return `curl -o ${name}.${ending}${header} ${shellQuote(location.origin + pictureURL(state))}`;
}

// imgTag offers the picture at four widths; a browser takes what it needs.
export function imgTag(state, shape) {
  const width = state.w || Math.round(shape.width / state.dpr) || 640;
  const widths = [0.5, 1, 1.5, 2].map((k) => Math.max(1, Math.round(width * k)));
  const at = (w) => location.origin + pictureURL(state, { w, h: state.h ? Math.round((state.h * w) / width) : 0, dpr: 1 });
  const set = widths.map((w) => `    ${at(w)} ${w}w`).join(',\n');
  return `<img\n  src="${escapeHTML(at(width))}"\n  srcset="\n${escapeHTML(set)}"\n` +
    `  sizes="(max-width: ${width}px) 100vw, ${width}px"\n` +
    `  width="${Math.round(shape.width / state.dpr)}" height="${Math.round(shape.height / state.dpr)}" loading="lazy" alt="">`;
}
