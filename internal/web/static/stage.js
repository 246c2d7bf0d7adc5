// The picture, its comparison with the original, and what it cost.

const byId = (id) => document.getElementById(id);

const names = {
  'image/webp': 'WebP', 'image/avif': 'AVIF', 'image/jpeg': 'JPEG', 'image/png': 'PNG',
  'image/gif': 'GIF', 'image/jxl': 'JPEG XL', 'image/tiff': 'TIFF', 'image/svg+xml': 'SVG',
};

export function bytesText(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e5 ? 1 : 0)} kB`;
  return `${(n / 1e6).toFixed(2)} MB`;
}

const ms = (v) => (v < 10 ? v.toFixed(1) : Math.round(v)) + ' ms';

export const formatName = (type) => names[type.split(';')[0]] ?? type;

// decode gives the picture's own size, or none when this browser cannot show
// the format.
async function decode(url) {
  const probe = new Image();
  probe.src = url;
  try {
    await probe.decode();
    return { width: probe.naturalWidth, height: probe.naturalHeight };
  } catch {
    return null;
  }
}

export class Stage {
  #urls = { result: '', reference: '' };
  #compared = false;

  constructor() {
    this.shape = { width: 0, height: 0 };
    byId('wipe').addEventListener('input', () => this.#wipe());
  }

  busy(on) {
    byId('flow').hidden = !on;
    byId('canvas').setAttribute('aria-busy', String(on));
  }

  // result swaps the picture in once it is decoded, so that nothing flashes.
  // still tells whether it is wanted when that is done.
  async result({ url: asked, blob, type, timing }, state, still) {
    const url = URL.createObjectURL(blob);
    const shape = await decode(url);
    if (!still()) {
      URL.revokeObjectURL(url);
      return;
    }
    this.#swap('result', url);
    this.#cost(blob, timing, state);
    byId('format-name').textContent = formatName(type);
    if (!shape) {
      this.#unseen(type, blob);
      return;
    }
    this.shape = shape;
    byId('result').dataset.of = asked;
    byId('problem').hidden = true;
    byId('sheet').hidden = false;
    byId('dims').textContent = `${shape.width} × ${shape.height}`;
    byId('tag-right').textContent = formatName(type);
    this.layOut(state);
    const share = state.bytes ? `, ${Math.round((100 * blob.size) / state.bytes)} % of the original` : '';
    byId('status').textContent = `${shape.width} by ${shape.height}, ${formatName(type)}, ${bytesText(blob.size)}${share}, ${ms(timing.total)}`;
  }

  #swap(id, url) {
    const old = this.#urls[id];
    this.#urls[id] = url;
    const img = byId(id);
    img.src = url;
    img.hidden = false;
    if (old) URL.revokeObjectURL(old);
  }

  // reference brings the original's side of the comparison; no blob takes it
  // away, so that an old one never lies over a new result.
  reference(blob, state) {
    this.#compared = Boolean(blob);
    if (blob) this.#swap('reference', URL.createObjectURL(blob));
    this.layOut(state);
  }

  // layOut sizes the sheet: one pixel of the picture to one of the page, or
  // as large as fits. A dpr of 2 halves it, as a page that asked for it would.
  layOut(state) {
    const { width, height } = this.shape;
    if (!width) return;
    const canvas = byId('canvas');
    const pad = 2 * parseFloat(getComputedStyle(canvas).paddingLeft);
    let scale = 1 / Math.max(state.dpr, 0.1);
    if (state.zoom === 'fit') scale = Math.min(scale, (canvas.clientWidth - pad) / width, (canvas.clientHeight - pad) / height);
    const sheet = byId('sheet');
    sheet.style.width = `${Math.max(1, width * scale)}px`;
    sheet.style.height = `${Math.max(1, height * scale)}px`;
    const comparing = state.view === 'compare' && this.#compared;
    for (const id of ['before', 'wipe', 'seam', 'tag-left', 'tag-right']) byId(id).hidden = !comparing;
    this.#wipe();
  }

  #wipe() {
    const share = Number(byId('wipe').value) / 10;
    byId('before').style.clipPath = `inset(0 ${100 - share}% 0 0)`;
    byId('seam').style.left = `${share}%`;
  }

  #cost(blob, timing, state) {
    byId('bytes').textContent = bytesText(blob.size);
    const share = state.bytes ? blob.size / state.bytes : 0;
    this.#ratio(share ? `${share < 0.095 ? (share * 100).toFixed(1) : Math.round(share * 100)} %` : '', share ? `of ${bytesText(state.bytes)}` : '');
    byId('gauge').style.setProperty('--level', `${Math.min(100, share * 100).toFixed(2)}%`);
    byId('gauge').classList.toggle('over', share > 1);
    byId('total').textContent = ms(timing.total);
    byId('hit').textContent = timing.hit ? 'from cache' : '';
    for (const phase of ['fetch', 'wait', 'work', 'rest']) {
      byId('phases').querySelector('.' + phase).style.flexGrow = Math.max(timing[phase], 0);
      byId('key').querySelector(`.${phase} b`).textContent = timing[phase] < 10 ? timing[phase].toFixed(1) : Math.round(timing[phase]);
    }
  }

  #ratio(percent, of) {
    byId('ratio').querySelector('.share-of').textContent = percent;
    byId('ratio').querySelector('.of').textContent = of;
  }

  #unseen(type, blob) {
    this.problem({ status: 200, body: {
      title: `This browser does not show ${formatName(type)}`,
      detail: `The server made the picture (${bytesText(blob.size)}), but it cannot be shown here. The URL below is right and can be copied.`,
    } });
    byId('dims').textContent = formatName(type);
    byId('format-name').textContent = '';
  }

  problem({ status, body }) {
    byId('sheet').hidden = true;
    byId('problem').hidden = false;
    byId('problem-status').textContent = status === 200 ? '' : status || '';
    byId('problem-code').textContent = [body.code, body.parameter].filter(Boolean).join(' · ');
    byId('problem-title').textContent = body.title || 'The server did not answer';
    byId('problem-detail').textContent = body.detail || '';
    byId('problem-request').textContent = body.request_id ? `request ${body.request_id}` : '';
    const more = byId('problem-more');
    more.hidden = !/^https?:/.test(body.type ?? '');
    if (!more.hidden) more.href = body.type;
    if (status !== 200) this.#clear();
  }

  #clear() {
    for (const id of ['bytes', 'total', 'dims']) byId(id).textContent = '–';
    for (const id of ['hit', 'format-name']) byId(id).textContent = '';
    this.#ratio('', '');
    for (const el of byId('key').querySelectorAll('b')) el.textContent = '';
    for (const el of byId('phases').children) el.style.flexGrow = 0;
    byId('gauge').style.setProperty('--level', '0%');
    this.shape = { width: 0, height: 0 };
  }
}
