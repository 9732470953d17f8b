// SPDX-License-Identifier: Apache-2.0
// Requests go to paths relative to the page, so that a proxy may serve both below any prefix. fetch()
// refuses a URL with credentials, so the URL is built without those of the page's address.

const api = path => new URL(`api/v1/${path}`, location.origin + location.pathname);

export async function get(path, query = {}) {
  const reply = await fetch(api(`${path}?${new URLSearchParams(query)}`));
  if (!reply.ok) {
    const told = await reply.json().catch(() => ({}));
    throw new Error(told.message || `the backend answered ${reply.status}`);
  }
  return reply.json();
}

// Calls changed(id) when part of a session was stored, changed(null) when anything may have changed,
// and state(connected).
export function watch(changed, state) {
  const source = new EventSource(api('changes'));
  source.onopen = () => { state(true); changed(null); };
  source.onerror = () => state(false);
  source.onmessage = event => changed(event.data || null);
}
