import { thumbURL } from './urls.js';

const kilo = (n) => (n < 1e6 ? `${Math.max(1, Math.round(n / 1000))} kB` : `${(n / 1e6).toFixed(1)} MB`);

// blank stands where there is no thumbnail.
const blank = '/playground/blank.svg';

// buildStrip offers pictures as radio buttons with thumbnails that the server
// itself makes; choose is called with the key. Without thumbs none is asked for.
export function buildStrip(strip, pictures, choose, { thumbs = true } = {}) {
  strip.replaceChildren(...pictures.map((picture) => {
    const input = Object.assign(document.createElement('input'), { type: 'radio', name: 'picture', value: picture.key });
    input.setAttribute('aria-label', picture.title);
    const img = Object.assign(document.createElement('img'), {
      src: thumbs ? thumbURL(picture.key) : blank, alt: '', width: 88, height: 64, loading: 'lazy', decoding: 'async',
    });
    const name = Object.assign(document.createElement('span'), { textContent: picture.title });
    const label = document.createElement('label');
    label.title = [picture.title, picture.note, kilo(picture.bytes)].filter(Boolean).join(' · ');
    label.append(input, img, name);
    img.addEventListener('error', () => {
      img.src = blank;
      label.title += ' · cannot be shown';
      input.setAttribute('aria-label', `${picture.title}, cannot be shown`);
    }, { once: true });
    input.addEventListener('change', () => choose(picture.key));
    return label;
  }));
}

export function markChosen(strip, key) {
  for (const input of strip.querySelectorAll('input')) {
    input.checked = input.value === key;
    if (input.checked) reveal(strip, input.parentElement);
  }
}

// reveal scrolls the strip alone: scrollIntoView would move the page too.
function reveal(strip, item) {
  const left = item.offsetLeft - strip.offsetLeft;
  if (left < strip.scrollLeft) strip.scrollLeft = left - 12;
  else if (left + item.offsetWidth > strip.scrollLeft + strip.clientWidth) strip.scrollLeft = left + item.offsetWidth - strip.clientWidth + 12;
}
