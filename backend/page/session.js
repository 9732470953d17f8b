// SPDX-License-Identifier: Apache-2.0
// One session: its facts, charts and scopes on one time axis, and tables.
import { get } from './api.js';
import { Axis } from './axis.js';
import { Chart } from './chart.js';
import { bytes, count, counted, duration, element, name, percent, table, time } from './format.js';
import { Lane } from './lane.js';
import { state } from './sessions.js';

const PAGE = 50;
const NOT_CHARTED = new Set(['total_mib', 'ram_total_mib']);

const bar = share => {
  const made = element('span', { class: 'share' });
  made.style.width = `${Math.max(1, 60 * share)}px`;
  return element('span', {}, made, ` ${percent(share)}`);
};

const kernelColumns = [
  { title: 'Kernel', class: 'name', cell: r => name(r.name) },
  { title: 'Calls', number: true, cell: r => count(r.calls) },
  { title: 'Total', number: true, cell: r => duration(r.total_ns) },
  { title: 'Mean', number: true, cell: r => duration(r.mean_ns) },
  { title: 'Min', number: true, cell: r => duration(r.min_ns) },
  { title: 'Max', number: true, cell: r => duration(r.max_ns) },
  { title: 'Share', cell: r => bar(r.share) },
];
const launchColumns = title => [
  { title, class: 'name', cell: r => name(r.from.replaceAll('|', ' | ') || 'unknown') },
  { title: 'Launches', number: true, cell: r => count(r.calls) },
  { title: 'Total', number: true, cell: r => duration(r.total_ns) },
  { title: 'Max', number: true, cell: r => duration(r.max_ns) },
  { title: 'Share', cell: r => bar(r.share) },
];
const copyColumns = [
  { title: 'Direction', cell: r => r.direction },
  { title: 'Count', number: true, cell: r => count(r.count) },
  { title: 'Bytes', number: true, cell: r => bytes(r.bytes) },
  { title: 'Total', number: true, cell: r => duration(r.total_ns) },
  { title: 'Throughput', number: true, cell: r => r.bytes_per_s ? `${(r.bytes_per_s / 1e9).toFixed(2)} GB/s` : '' },
];
const syncColumns = [
  { title: 'Waits on', cell: r => r.waits_for },
  { title: 'Count', number: true, cell: r => count(r.count) },
  { title: 'Total', number: true, cell: r => duration(r.total_ns) },
  { title: 'Max', number: true, cell: r => duration(r.max_ns) },
];
const allocationColumns = [
  { title: 'Operation', cell: r => `${r.operation}, ${r.memory}` },
  { title: 'Count', number: true, cell: r => count(r.count) },
  { title: 'Bytes', number: true, cell: r => bytes(r.bytes) },
];
const hotspotColumns = [
  { title: 'Function', class: 'name', cell: r => name(r.function) },
  { title: 'Samples', number: true, cell: r => count(r.samples) },
  { title: 'Share', cell: r => bar(r.share) },
  { title: 'Stall reasons', class: 'name', cell: r => r.reasons.slice(0, 4)
    .map(x => `${x.reason || 'unknown'} ${percent(x.samples / r.samples)}`).join(', ') },
];
const lineColumns = [
  { title: 'Line', class: 'name', cell: r => name(`${r.file}:${r.line}`) },
  { title: 'Samples', number: true, cell: r => count(r.samples) },
  { title: 'Share', cell: r => bar(r.share) },
  { title: 'Source', class: 'name', cell: r => r.text === null
    ? element('span', { class: 'dim' }, 'source not recorded') : element('code', {}, r.text) },
];
const channelColumns = [
  { title: 'Channel', cell: r => r.channel },
  { title: 'Batches', number: true, cell: r => count(r.bodies) },
  { title: 'Lines', number: true, cell: r => count(r.lines) },
  { title: 'Sequence', number: true, cell: r => r.last_sequence ? `${r.first_sequence} to ${r.last_sequence}` : 'none' },
  { title: 'Missing', cell: r => element('span', { class: r.missing ? 'bad' : 'dim' }, r.missing
    ? `${count(r.missing)}: ${r.gaps.slice(0, 5).map(([a, b]) => a === b ? a : `${a} to ${b}`).join(', ')}` : 'none') },
];
const latencyColumns = [
  { title: 'Delay', cell: r => r.up_to_ms === null ? 'longer' : `up to ${duration(r.up_to_ms * 1e6)}` },
  { title: 'Batches', number: true, cell: r => count(r.bodies) },
  { title: 'Share', cell: r => bar(r.share) },
];

// The devices in job_start, with their static properties.
function inventory(start) {
  const fixed = new Map((start.gpu_static_devices || []).map(d => [d.uuid, d]));
  return (start.devices || []).map(device => {
    const more = fixed.get(device.uuid) || {};
    const known = [device.total_mib && `${count(device.total_mib)} MiB`, more.architecture,
      more.multi_processor_count > 0 && `${more.multi_processor_count} SMs`, device.uuid];
    return `GPU ${device.id}: ${[device.name, ...known].filter(Boolean).join(', ')}`;
  });
}

function facts(session) {
  const [text, kind] = state(session);
  const start = session.job_start || {};
  const list = element('dl');
  const add = (title, value) => list.append(element('dt', {}, title), element('dd', {}, value));
  add('State', element('span', { class: kind }, text));
  add('Session', session.session_id);
  add('Host', name([session.hostname, start.ip_addr].filter(Boolean).join(', ')));
  const { pod, namespace, node } = start.kubernetes || {};
  if (pod) add('Pod', name(`${[namespace, pod].filter(Boolean).join('/')}${node ? ` on ${node}` : ''}`));
  const devices = inventory(start);
  for (const device of devices.length ? devices : ['none found']) add('GPUs', name(device));
  if (start.host?.ram_total_mib) add('Memory', `${count(start.host.ram_total_mib)} MiB`);
  add('Kind', [session.session_kind, start.profiling_engine].filter(Boolean).join(', ') || 'unknown');
  add('Started', time(session.start_ns));
  add('Lines', `${count(session.lines)}, ${bytes(session.raw_bytes)}, stored in ${bytes(session.stored_bytes)}`);
  if (session.rejected) add('Rejected', element('span', { class: 'bad' }, counted(session.rejected, 'line', 'lines')));
  if (session.duplicates) add('Duplicates', `${counted(session.duplicates, 'batch was', 'batches were')} sent again and stored once`);
  for (const c of session.capture_capabilities?.capabilities || []) {
    if (c.requested && !['collected', 'not_requested'].includes(c.status)) {
      add(c.feature, `${c.status}${c.message ? `: ${c.message}` : ''}`);
    }
  }
  return list;
}

// The buckets from the first to the last that is not empty.
function histogram(latency) {
  const total = latency.reduce((sum, l) => sum + l.bodies, 0);
  const last = latency.findLastIndex(l => l.bodies);
  return latency.slice(Math.max(0, latency.findIndex(l => l.bodies)), last + 1)
    .map(l => ({ ...l, share: l.bodies / total }));
}

// A section that stays hidden while it has no rows.
function section(title, columns) {
  const body = element('div');
  const node = element('section', {}, element('h2', {}, title), body);
  node.hidden = true;
  return { node, show(rows, ...more) {
    node.hidden = rows.length === 0;
    body.replaceChildren(table(columns, rows), ...more);
  } };
}

export function sessionView(root, id) {
  const charts = new Map();
  const grid = element('div', { class: 'charts' });
  const top = element('div');
  const axis = new Axis(range => Promise.all([lane, ...charts.values()].map(part => part.load(range))));
  const lane = new Lane(id, axis);
  const kernels = section('Kernels', kernelColumns);
  const byScope = section('GPU time by scope', launchColumns('Scope'));
  const byStack = section('GPU time by caller', launchColumns('Caller'));
  const copies = section('Memory copies', copyColumns);
  const syncs = section('Synchronisation', syncColumns);
  const allocations = section('Memory allocations', allocationColumns);
  const hotspots = section('Hotspots', hotspotColumns);
  const lines = section('Hot source lines', lineColumns);
  const channels = section('Delivery', channelColumns);
  const latency = section('Delay from recording to storage', latencyColumns);
  let kernelRows = PAGE;
  let live = false;

  async function loadKernels() {
    const shown = await get(`sessions/${id}/kernels`, { limit: Math.min(1000, kernelRows) });
    const more = element('button', { type: 'button', onclick: () => { kernelRows += 200; loadKernels(); } },
      `${count(shown.kernels - shown.rows.length)} more`);
    kernels.show(shown.rows, ...(shown.rows.length < shown.kernels && kernelRows < 1000 ? [more] : []));
  }

  async function loadTables() {
    const [memory, samples, hot, delivery] = await Promise.all(['memory', 'hotspots', 'hotlines', 'delivery']
      .map(part => get(`sessions/${id}/${part}`)));
    const [scopes, stacks] = await Promise.all(['scope', 'stack']
      .map(by => get(`sessions/${id}/launches`, { by, limit: PAGE })));
    for (const [part, { rows }] of [[byScope, scopes], [byStack, stacks]]) {
      part.show(rows.some(r => r.from && r.from !== 'global') ? rows : []); // a single row without a name says nothing
    }
    copies.show([...memory.copies, ...memory.sets]);
    syncs.show(memory.synchronisation);
    allocations.show(memory.allocations);
    hotspots.show(samples.rows);
    lines.show(hot.rows);
    channels.show(delivery.channels);
    latency.show(histogram(delivery.latency));
  }

  async function load() {
    const session = await get(`sessions/${id}`);
    live = session.state === 'live';
    top.replaceChildren(element('h1', {}, name(session.app || id)), facts(session));
    for (const metric of session.metrics) {
      if (!charts.has(metric.metric) && !NOT_CHARTED.has(metric.metric)) {
        const chart = new Chart(id, metric, axis);
        charts.set(metric.metric, chart);
        grid.append(chart.node);
      }
    }
    await Promise.all([axis.isWhole ? axis.load() : null, loadKernels(), loadTables()]);
  }

  axis.node.append(lane.node, grid);
  root.replaceChildren(top, axis.node, kernels.node, byScope.node, byStack.node, hotspots.node, lines.node, copies.node, syncs.node,
    allocations.node, channels.node, latency.node);
  return { title: id, load, isLive: () => live,
    changed: changed => changed === null || changed === id ? load() : null };
}
