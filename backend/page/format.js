// SPDX-License-Identifier: Apache-2.0
// Formats numbers and builds elements from data; text is only ever set as text.

const counts = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = n => counts.format(n);
export const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; Math.abs(n) >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i ? n.toFixed(1) : n} ${units[i]}`;
}

export function duration(ns) {
  const s = ns / 1e9;
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  if (s >= 60) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s >= 1) return `${s.toFixed(2)} s`;
  if (s >= 1e-3) return `${(s * 1e3).toFixed(2)} ms`;
  if (s >= 1e-6) return `${(s * 1e6).toFixed(2)} µs`;
  return `${Math.round(ns)} ns`;
}

export const time = ns => ns > 0 ? new Date(ns / 1e6).toLocaleString() : 'unknown';

export const percent = share => `${(100 * share).toFixed(1)} %`;

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') made.className = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// columns: [{title, number, cell(row)}]; a cell is a text or a node.
export function table(columns, rows) {
  const head = element('tr', {}, ...columns.map(
    c => element('th', { scope: 'col', class: c.number ? 'number' : '' }, c.title)));
  const body = rows.map(row => element('tr', {}, ...columns.map(
    c => element('td', { class: c.number ? 'number' : c.class || '' }, c.cell(row)))));
  return element('div', { class: 'wide' },
    element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)));
}

const LONG = 300;

// A name of any length, in any script.
export function name(text) {
  const shown = text.length > LONG ? `${text.slice(0, LONG)}…` : text;
  return element('span', { title: text.slice(0, 4096), dir: 'auto' }, shown || '(no name yet)');
}
