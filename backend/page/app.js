// SPDX-License-Identifier: Apache-2.0
// Which view is shown, and when it is loaded anew.
import { watch } from './api.js';
import { element } from './format.js';
import { sessionView } from './session.js';
import { sessionsView } from './sessions.js';

const ONCE_MS = 1000;
const SHARE = 9;
const root = document.getElementById('view');
const where = document.getElementById('where');
const link = document.getElementById('link');
let view;
let busy = false;
let again = false;

function failed(error) {
  const told = root.querySelector('[role=alert]') || element('p', { role: 'alert', class: 'bad' });
  told.textContent = `Cannot show this: ${error.message}. It is tried again when something changes.`;
  root.prepend(told);
}

// One load at a time. Until the next the backend has nine times as long for others, a second at
// least: what a page asks for must not stand in the way of what comes in.
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
  link.textContent = connected ? 'live' : 'no connection to the backend; trying again';
});
