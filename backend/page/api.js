// SPDX-License-Identifier: Apache-2.0
// Asks the backend, beside the page, so that a proxy may put both anywhere. An address with a key
// in it is no address for scripts: it is made anew without.

const api = path => new URL(`api/v1/${path}`, location.origin + location.pathname);

export async function get(path, query = {}) {
  const reply = await fetch(api(`${path}?${new URLSearchParams(query)}`));
  if (!reply.ok) {
    const told = await reply.json().catch(() => ({}));
    throw new Error(told.message || `the backend answered ${reply.status}`);
  }
  return reply.json();
}

// Calls changed(id) when something of a session was stored, changed(null) when anything may
// have been, and state(connected).
export function watch(changed, state) {
  const source = new EventSource(api('changes'));
  source.onopen = () => { state(true); changed(null); };
  source.onerror = () => state(false);
  source.onmessage = event => changed(event.data || null);
}
