import { defaults, typed } from './state.js';

// none is the value at which a parameter is left to the server. Number fields
// show a word for it instead (data-none), and an empty field means it.
const none = (name) => (name === 'effort' ? -1 : 0);

// bindControls connects every named control of the page to the state. change
// is called with a part of the state; slide tells that more will follow soon.
export function bindControls(root, change) {
  root.addEventListener('input', (event) => {
    const el = event.target;
    const name = el.dataset.for ?? el.name;
    if (!(name in defaults)) return;
    const value = valueOf(el, name);
    if (value === undefined) return; // a number being typed
    change({ [name]: value, ...(name === 'background' ? { ground: true } : {}) }, { slide: el.type !== 'radio' && el.type !== 'checkbox' });
  });
  // Leaving a field with half a number in it brings its last value back.
  root.addEventListener('focusout', (event) => {
    const el = event.target;
    if (el.type === 'number' && typed(el.name, el.value) === undefined) el.value = el.dataset.last ?? '';
  });
  root.addEventListener('submit', (event) => event.preventDefault());
}

function valueOf(el, name) {
  if (el.type === 'checkbox') return el.checked;
  if (el.dataset.none && el.value === '' && !el.validity.badInput) return none(name);
  return typed(name, el.value);
}

// showControls makes the controls say what the state says. The field that is
// being typed in keeps its text.
export function showControls(root, state) {
  for (const el of root.querySelectorAll('input')) {
    const name = el.dataset.for ?? el.name;
    if (!(name in defaults)) continue;
    if (el.type === 'radio') el.checked = el.value === String(state[name]);
    else if (el.type === 'checkbox') el.checked = state[name];
    else if (el.type === 'range') showRange(el, state[name]);
    else showField(el, name, state[name]);
  }
}

function showRange(el, value) {
  el.value = value;
  const share = (Number(el.value) - el.min) / (el.max - el.min);
  el.style.setProperty('--fill', `${(share * 100).toFixed(2)}%`);
  const word = document.getElementById(el.dataset.for)?.dataset.none;
  if (word && value === none(el.dataset.for)) el.setAttribute('aria-valuetext', word);
  else el.removeAttribute('aria-valuetext');
}

function showField(el, name, value) {
  const text = el.dataset.none && value === none(name) ? '' : String(value);
  el.placeholder = el.dataset.none ?? '';
  el.dataset.last = text;
  if (document.activeElement !== el || valueOf(el, name) !== value) el.value = text;
}

// disableFormats greys out what this build cannot write.
export function disableFormats(root, formats) {
  for (const { format, available } of formats) {
    const el = root.querySelector(`input[value="${CSS.escape(format)}"]`);
    if (!el) continue;
    el.disabled = !available;
    el.parentElement.title = available ? '' : `This build cannot write ${format}.`;
  }
}
