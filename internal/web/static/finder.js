// The small whole picture beside the compass: a click sets the focal point,
// and a frame shows what a cover crop keeps.

import { previewURL } from './urls.js';

const across = { northwest: 0, west: 0, southwest: 0, north: 0.5, center: 0.5, south: 0.5, northeast: 1, east: 1, southeast: 1 };
const down = { northwest: 0, north: 0, northeast: 0, west: 0.5, center: 0.5, east: 0.5, southwest: 1, south: 1, southeast: 1 };

const clamp = (v) => Math.min(1, Math.max(0, v));

export class Finder {
  constructor(root, set) {
    this.root = root;
    this.img = root.querySelector('img');
    this.kept = root.querySelector('.kept');
    this.cross = root.querySelector('.cross');
    this.set = set;
    this.#listen();
  }

  #listen() {
    const point = (event, slide) => {
      const box = this.img.getBoundingClientRect();
      if (!box.width || !box.height) return;
      this.set(clamp((event.clientX - box.left) / box.width), clamp((event.clientY - box.top) / box.height), slide);
    };
    this.root.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.root.setPointerCapture(event.pointerId);
      point(event, false);
    });
    this.root.addEventListener('pointermove', (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) point(event, true);
    });
    this.root.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const by = event.shiftKey ? 0.1 : 0.02;
      this.set(clamp(this.state.fx + step[0] * by), clamp(this.state.fy + step[1] * by), true);
    });
    this.img.addEventListener('load', () => this.#place());
    this.img.addEventListener('error', () => this.img.removeAttribute('src')); // the result tells what is wrong
  }

  // show without picture leaves the well empty: none can be had.
  show(state, { picture = true } = {}) {
    const url = picture && state.key ? previewURL(state.key, 400, 400) : '';
    if (this.url !== url) {
      this.url = url;
      if (url) this.img.src = url;
      else this.img.removeAttribute('src');
    }
    this.state = state;
    this.#place();
  }

  #place() {
    const { state: s, img } = this;
    if (!s) return;
    const focal = s.gravity === 'focal';
    this.cross.hidden = !focal;
    put(this.cross, img, s.fx, s.fy, 0, 0);
    this.root.setAttribute('aria-valuenow', Math.round(s.fx * 100));
    this.root.setAttribute('aria-valuetext', focal
      ? `${Math.round(s.fx * 100)} % across, ${Math.round(s.fy * 100)} % down` : 'no focal point');
    const frame = keptFrame(s, img.naturalWidth, img.naturalHeight);
    this.kept.hidden = !frame;
    if (frame) put(this.kept, img, frame.x, frame.y, frame.w, frame.h);
  }
}

// keptFrame is the part of the picture that a cover crop keeps, in shares of
// its sides; null where nothing is cut or the server finds the place itself.
function keptFrame(s, width, height) {
  if (s.fit !== 'cover' || !s.w || !s.h || !width || !height || s.rotate || s.flip || s.flop || s.trim) return null;
  if (s.gravity !== 'focal' && !(s.gravity in across)) return null;
  const scale = Math.max(s.w / width, s.h / height);
  const w = s.w / scale / width;
  const h = s.h / scale / height;
  const x = s.gravity === 'focal' ? Math.min(Math.max(s.fx - w / 2, 0), 1 - w) : across[s.gravity] * (1 - w);
  const y = s.gravity === 'focal' ? Math.min(Math.max(s.fy - h / 2, 0), 1 - h) : down[s.gravity] * (1 - h);
  return { x, y, w, h };
}

function put(el, img, x, y, w, h) {
  el.style.left = `${img.offsetLeft + x * img.offsetWidth}px`;
  el.style.top = `${img.offsetTop + y * img.offsetHeight}px`;
  if (w) {
    el.style.width = `${w * img.offsetWidth}px`;
    el.style.height = `${h * img.offsetHeight}px`;
  }
}
