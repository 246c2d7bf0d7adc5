// Asks for pictures: one at a time a lane, the older one aborted, so that the
// server sees a client that left and stops working for it.

import { tiny } from './tiny.js';

export class Problem extends Error {
  constructor(status, body) {
    super(body.title || `HTTP ${status}`);
    this.status = status;
    this.body = body;
  }
}

export class Lane {
  #current = null;

  async get(url, accept) {
    this.#current?.abort();
    const own = (this.#current = new AbortController());
    const began = performance.now();
    // The browser's own cache would hide what the server does.
    const answer = await fetch(url, { signal: own.signal, cache: 'no-store', headers: { Accept: accept } });
    if (!answer.ok) throw await problemOf(answer);
    const blob = await answer.blob();
    return { url, blob, type: answer.headers.get('Content-Type') ?? '', timing: timingOf(answer, performance.now() - began) };
  }

  stop() {
    this.#current?.abort();
  }
}

async function problemOf(answer) {
  try {
    return new Problem(answer.status, await answer.json());
  } catch (fault) {
    if (fault.name === 'AbortError') throw fault;
    return new Problem(answer.status, {});
  }
}

// timingOf reads Server-Timing (W3C): name;dur=ms;desc=text, …
function timingOf(answer, total) {
  const out = { fetch: 0, wait: 0, work: 0, hit: false, total };
  for (const entry of (answer.headers.get('Server-Timing') ?? '').split(',')) {
    const [name, ...rest] = entry.trim().split(';').map((part) => part.trim());
    const value = Object.fromEntries(rest.map((part) => part.split('=')));
    if (name === 'cache') out.hit = value.desc === 'hit';
    else if (name in out && name !== 'total') out[name] = Number(value.dur) || 0;
  }
  out.rest = Math.max(0, total - out.fetch - out.wait - out.work);
  return out;
}

// acceptable is the Accept header of this browser's own <img>, found by
// letting it decode a tiny picture of each newer format.
export async function acceptable() {
  const found = await Promise.all(Object.entries(tiny).map(async ([type, data]) => {
    try {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      (await createImageBitmap(new Blob([bytes], { type }))).close();
      return type;
    } catch {
      return '';
    }
  }));
  return [...found.filter(Boolean), 'image/*;q=0.8', '*/*;q=0.5'].join(',');
}
