// Starts Chromium for the tests and the screenshots.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

// A browser under test talks to the server under test and to nobody else.
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'];

// open gives a browser; playwright makes it a profile folder of its own and
// removes that when the browser is closed.
export function open() {
  const executablePath = process.env.SPILLWAY_CHROMIUM ?? places.find(existsSync);
  if (!executablePath) throw new Error('No Chromium was found; set SPILLWAY_CHROMIUM to its path.');
  return chromium.launch({ executablePath, headless: true, args });
}
