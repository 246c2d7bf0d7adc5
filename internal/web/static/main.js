// Starts the page: state > controls > URL > picture. Each part is a module
// that knows nothing of the others; this one connects them.

import { bindControls, disableFormats, showControls } from './controls.js';
import { copyText } from './copy.js';
import { Lane, Problem, acceptable } from './fetch.js';
import { Finder } from './finder.js';
import { buildStrip, markChosen } from './picker.js';
import { Stage } from './stage.js';
import { defaults, readHash, writeHash } from './state.js';
import { curlLine, imgTag, infoURL, pictureURL, referenceURL } from './urls.js';

const byId = (id) => document.getElementById(id);
const slideDelay = 140; // ms a slider must rest before the server is asked

const stage = new Stage();
const lanes = { result: new Lane(), reference: new Lane(), info: new Lane() };
const finder = new Finder(byId('finder'), (fx, fy, slide) => aim(fx, fy, slide));

let state = { ...defaults };
let listing = { pictures: [], formats: [], signed: false };
let accept = '*/*';
let timer = 0;
let source = { bytes: 0 }; // what is known of the chosen original
let shown = { type: '', reference: '' };

function change(part, { slide = false } = {}) {
  const before = state;
  state = { ...state, ...part };
  if (state.key !== before.key) describe();
  show();
  clearTimeout(timer);
  if (slide) timer = setTimeout(ask, slideDelay);
  else ask();
}

// show brings everything that needs no answer up to date.
function show() {
  showControls(document, state);
  markChosen(byId('strip'), state.key);
  finder.show(state, { picture: !listing.signed });
  byId('background-text').textContent = state.ground ? state.background : 'none';
  byId('gravity-hint').textContent = hint();
  history.replaceState(null, '', writeHash(state));
  snippet();
  stage.layOut(state);
}

function hint() {
  if (state.gravity === 'focal') return `Focal point ${state.fx.toFixed(2)}, ${state.fy.toFixed(2)}. Arrow keys move it.`;
  if (state.fit === 'cover' && state.w && state.h) return 'Click the picture to set a focal point.';
  return 'Acts where a picture is cut: fit cover with both sides set.';
}

// aim sets a focal point and, since only a cut picture shows it, the cut.
function aim(fx, fy, slide) {
  const part = { gravity: 'focal', fx: Math.round(fx * 100) / 100, fy: Math.round(fy * 100) / 100 };
  if (state.fit !== 'cover') part.fit = 'cover';
  if (!state.w || !state.h) part.w = part.h = Math.min(state.w || state.h || 480, 480);
  change(part, { slide });
}

function snippet() {
  const text = {
    url: () => location.origin + pictureURL(state),
    curl: () => curlLine(state, accept, shown.type),
    html: () => imgTag(state, stage.shape),
  }[state.snippet];
  byId('snippet').textContent = state.key ? (text ?? (() => ''))() : '';
}

let lastAsked = '';

// unsigned tells once what every answer would say: keys stay with the server,
// so this page has none to sign with.
const unsigned = {
  title: 'This server takes signed URLs only',
  detail: 'It has signing keys, and the playground has none, so no picture can be shown here. The URL below is right ' +
    'but for its signature; sign it with: spillway sign --key-file FILE \'URL\'',
};

async function ask() {
  if (listing.signed) {
    stage.problem({ status: 0, body: unsigned });
    return;
  }
  if (!state.key) {
    stage.problem({ status: 0, body: { title: 'No picture yet', detail: 'Type the key of a picture under the root, or the URL of one, into the field at the top.' } });
    return;
  }
  const url = pictureURL(state);
  if (url !== lastAsked) {
    lastAsked = url;
    fetchResult(url);
  }
  if (state.view === 'compare') fetchReference();
}

async function fetchResult(url) {
  const still = () => url === lastAsked;
  stage.busy(true);
  try {
    const answer = await lanes.result.get(url, accept);
    if (!still()) return;
    shown.type = answer.type.split(';')[0];
    await stage.result(answer, { ...state, bytes: source.bytes }, still);
    snippet();
  } catch (fault) {
    if (fault.name === 'AbortError' || !still()) return;
    lastAsked = ''; // the same wish may be tried again
    stage.busy(false);
    stage.problem(fault instanceof Problem ? fault : { status: 0, body: { detail: 'No answer came. Is the server still running?' } });
  } finally {
    if (still()) stage.busy(false);
  }
}

// fetchReference is asked only while comparing: it is large.
async function fetchReference() {
  const url = referenceURL(state);
  if (url === shown.reference) return;
  shown.reference = url;
  stage.reference(null, state);
  try {
    const { blob } = await lanes.reference.get(url, 'image/png');
    if (shown.reference === url) stage.reference(blob, state);
  } catch (fault) {
    if (fault.name !== 'AbortError') shown.reference = '';
  }
}

// describe learns the original's size and bytes: from the list at once, from
// the server where it tells more.
async function describe() {
  const { key } = state;
  if (!key) return;
  const listed = listing.pictures.find((p) => p.key === key);
  source = { bytes: listed?.bytes ?? 0 };
  byId('caption').textContent = listed?.note ?? '';
  byId('source').textContent = '';
  byId('own-key').value = listed ? '' : key;
  if (listing.signed) return;
  try {
    const { blob } = await lanes.info.get(infoURL(key), 'application/json');
    const info = JSON.parse(await blob.text());
    if (key !== state.key) return;
    source.bytes = info.bytes || source.bytes;
    byId('source').textContent = `of ${info.width} × ${info.height} ${info.format.toUpperCase()}${turned(info)}`;
  } catch {
    // The picture's own request tells what is wrong with it.
  }
}

const turned = (info) => (info.orientation > 1 ? `, EXIF ${info.orientation}` : info.frames > 1 ? `, ${info.frames} frames` : '');

// startState is the first visit's: a width at which the stage shows a picture
// of the usual shape, 3 to 2, whole.
function startState() {
  const { clientWidth, clientHeight } = byId('canvas');
  const room = Math.min(clientWidth - 32, (clientHeight - 32) * 1.5, 640);
  return { w: Math.max(200, Math.floor(room / 8) * 8), key: listing.pictures[0]?.key ?? '' };
}

function listen() {
  bindControls(document.querySelector('.bench'), change);
  byId('own').addEventListener('submit', () => {
    const key = byId('own-key').value.trim().replace(/^\/+/, '');
    if (key) change({ key });
  });
  byId('reset').addEventListener('click', () => change({ ...defaults, ...startState(), key: state.key }));
  byId('copy').addEventListener('click', async () => {
    const done = await copyText(byId('snippet').textContent);
    byId('copy').textContent = done ? 'Copied' : 'Select it';
    setTimeout(() => (byId('copy').textContent = 'Copy'), 1600);
  });
  addEventListener('hashchange', () => change(readHash(location.hash, startState())));
  new ResizeObserver(() => stage.layOut(state)).observe(byId('canvas'));
}

async function start() {
  listen();
  [listing, accept] = await Promise.all([fetch('/demo.json').then((r) => r.json()), acceptable()]);
  byId('version').textContent = (listing.version ?? '').replace('(devel)', 'dev');
  disableFormats(byId('formats'), listing.formats);
  buildStrip(byId('strip'), listing.pictures, (key) => change({ key }), { thumbs: !listing.signed });
  byId('strip').hidden = listing.pictures.length === 0;
  change(readHash(location.hash, startState()));
  document.documentElement.dataset.ready = '1';
}

start();
