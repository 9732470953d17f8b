// SPDX-License-Identifier: Apache-2.0
// The list of sessions.
import { get } from './api.js';
import { bytes, count, counted, duration, element, name, table, time } from './format.js';

const PAGE = 1000;
const MOST = 10000; // sessions in one answer

function missing(session) {
  const what = [session.losses && `${counted(session.losses, 'range is', 'ranges are')} lost`,
    session.skips && `${counted(session.skips, 'range was', 'ranges were')} not sent`].filter(Boolean);
  return what.join(', ') || 'what followed them is lost';
}

// Only the sender knows what it quarantined or lost, and why: gpufl status on its node tells.
export function state(session) {
  switch (session.state) {
    case 'complete': return [session.verified ? 'complete, verified' : 'complete', 'dim'];
    case 'live': return [session.silent_since_ms
      ? `live, silent since ${time(session.silent_since_ms * 1e6)}` : 'live', 'live'];
    case 'gap': return [`gap: ${counted(session.missing, 'batch', 'batches')} missing`, 'bad'];
    case 'ended_with_losses': return [`ended, lines are missing: ${missing(session)}`, 'bad'];
    case 'ended_without_shutdown': return [session.verified
      ? 'ended without shutdown: killed or crashed; verified' : 'ended without shutdown: killed or crashed', 'bad'];
    case 'not_complete': return ['ended, not reported complete: run gpufl status on its node', 'bad'];
    default: return ['silent: killed, or its sender is gone', 'bad'];
  }
}

function length(session) {
  const end = session.shutdown_ns || session.last_seen_ms * 1e6;
  return session.start_ns ? duration(Math.max(0, end - session.start_ns)) : '';
}

const columns = [
  { title: 'State', cell: s => { const [text, kind] = state(s); return element('span', { class: kind }, text); } },
  { title: 'App', class: 'name', cell: s => element('a', { href: `#/s/${s.session_id}` }, name(s.app || s.session_id)) },
  { title: 'Host', class: 'name', cell: s => name(s.hostname) },
  { title: 'GPUs', class: 'name', cell: s => s.gpus ? name(s.gpus) : 'none found' },
  { title: 'Kind', cell: s => s.session_kind },
  { title: 'Started', cell: s => time(s.start_ns) },
  { title: 'Length', number: true, cell: length },
  { title: 'Lines', number: true, cell: s => count(s.lines) },
  { title: 'Bytes', number: true, cell: s => bytes(s.raw_bytes) },
];

// As it stands, the command works where the backend asks for no key; gpufl upload wants one anyhow.
function empty() {
  const url = location.origin + location.pathname;
  return element('div', {}, element('p', {}, 'Nothing is stored yet. Start gpufl-agent, or run this in a log directory:'),
    element('pre', {}, element('code', {}, `gpufl upload . --backend-url ${url} --api-key KEY`)),
    element('p', { class: 'dim' }, 'KEY is the --api-key of gpufl-backend. If it was started without one, any word will do.'));
}

function matches(session, words, wanted) {
  const text = [session.app, session.hostname, session.gpus, session.session_id, session.session_kind]
    .join(' ').toLowerCase();
  return words.every(w => text.includes(w)) && (!wanted || state(session)[0].startsWith(wanted));
}

export function sessionsView(root) {
  let sessions = [];
  let wanted = PAGE;
  const more = element('button', { type: 'button', onclick: () => { wanted += PAGE; load(); } }, 'Older sessions');
  const list = element('div');
  const search = element('input', { type: 'search', placeholder: 'app, host, GPU or id',
    'aria-label': 'Search sessions', oninput: draw });
  const filter = element('select', { 'aria-label': 'State', onchange: draw },
    ...[['', 'all'], ['live', 'live'], ['complete', 'complete'], ['gap', 'gap'], ['ended', 'ended'], ['silent', 'silent']]
      .map(([value, text]) => element('option', { value }, text)));

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = sessions.filter(s => matches(s, words, filter.value));
    if (!sessions.length) list.replaceChildren(empty());
    else list.replaceChildren(shown.length ? table(columns, shown) : element('p', {}, 'No session matches.'));
  }

  async function load() {
    sessions = (await get('sessions', { limit: wanted })).sessions;
    more.hidden = sessions.length < wanted || wanted >= MOST;
    draw();
  }

  root.replaceChildren(element('h1', {}, 'Sessions'), element('div', { class: 'bar' }, search, filter), list, more);
  return { title: '', load, changed: load, isLive: () => sessions.some(s => s.state === 'live') };
}
