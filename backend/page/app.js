// SPDX-License-Identifier: Apache-2.0
// Chooses the view and reloads it when something changes.
import { watch } from './api.js';
import { element } from './format.js';
import { sessionView } from './session.js';
import { sessionsView } from './sessions.js';

const ONCE_MS = 1000;
const SHARE = 9;
const EXPIRES_MS = 16000; // a live session without news is silent, or no longer live
const root = document.getElementById('view');
const where = document.getElementById('where');
const link = document.getElementById('link');
let view;
let busy = false;
let again = false;
let expiry;

function failed(error) {
  const told = root.querySelector('[role=alert]') || element('p', { role: 'alert', class: 'bad' });
  told.textContent = `Cannot load this view: ${error.message}. It reloads when something changes.`;
  root.prepend(told);
}

// One load at a time. The pause before the next one is nine times as long, and a second at least,
// so that an open page does not slow down ingestion.
async function run(load) {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  const shown = view;
  const begin = performance.now();
  try {
    await load();
    root.querySelector('[role=alert]')?.remove();
  } catch (error) {
    if (shown === view) failed(error);
  }
  clearTimeout(expiry);
  if (view.isLive()) expiry = setTimeout(() => run(() => view.load()), EXPIRES_MS);
  setTimeout(() => {
    busy = false;
    if (again) {
      again = false;
      run(() => view.load());
    }
  }, Math.max(ONCE_MS, SHARE * (performance.now() - begin)));
}

function route() {
  const id = location.hash.match(/^#\/s\/([A-Za-z0-9._-]+)$/)?.[1];
  view = id ? sessionView(root, id) : sessionsView(root);
  where.textContent = view.title;
  document.title = view.title ? `gpufl: ${view.title}` : 'gpufl';
  root.focus();
  busy = false;
  run(() => view.load());
}

window.addEventListener('hashchange', route);
route();
watch(id => run(() => view.changed(id)), connected => {
  link.textContent = connected ? 'live' : 'no connection to the backend; retrying';
});
