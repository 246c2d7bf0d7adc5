// What the page shows is one flat object. The location's hash holds it, so
// that a view can be shared, and leaves out what has its default.

export const defaults = Object.freeze({
  key: '', w: 640, h: 0, fit: 'inside', dpr: 1, enlarge: false,
  gravity: 'center', fx: 0.5, fy: 0.5,
  format: 'auto', quality: 0, effort: -1, max_kb: 0, lossless: false, progressive: false,
  rotate: 0, flip: false, flop: false, grayscale: false,
  blur: 0, sharpen: 0, trim: 0, ground: false, background: '#f6ead2',
  view: 'result', zoom: 'pixels', snippet: 'url',
});

// typed reads a text as the type that the default of its name has. A text that
// is no such value gives undefined; the server, not this page, judges ranges.
export function typed(name, text) {
  switch (typeof defaults[name]) {
    case 'number': {
      const n = Number(text);
      return text.trim() !== '' && Number.isFinite(n) ? n : undefined;
    }
    case 'boolean':
      return text === '1' || text === 'true';
    default:
      return text;
  }
}

export function readHash(hash, start) {
  const state = { ...defaults, ...start };
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ''))) {
    if (!(name in defaults)) continue;
    const value = typed(name, text);
    if (value !== undefined) state[name] = value;
  }
  return state;
}

export function writeHash(state) {
  const out = new URLSearchParams();
  for (const name of Object.keys(defaults)) {
    if (name === 'key' || state[name] !== defaults[name]) {
      out.set(name, typeof state[name] === 'boolean' ? (state[name] ? '1' : '0') : String(state[name]));
    }
  }
  return '#' + out.toString();
}
