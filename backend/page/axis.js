// SPDX-License-Identifier: Apache-2.0
// The time axis that the charts and scopes of a session share, and the part of it that is shown.
import { element } from './format.js';

const STEP = 0.2; // of what is shown
const LEAST_MS = 0.001;
const KEYS = 'Drag over a chart to zoom. Keyboard: + and - zoom, the arrow keys move, 0 shows everything.';

export class Axis {
  // load(range) loads everything on the axis and calls shows() with each answer.
  constructor(load) {
    this.loadParts = load;
    this.range = {};
    this.all = element('button', { type: 'button', hidden: '', onclick: () => this.show() }, 'Whole session');
    this.told = element('span', { role: 'alert', class: 'bad' });
    this.node = element('section', { tabindex: 0, role: 'group', 'aria-label': `Charts. ${KEYS}`,
      onkeydown: event => this.onKey(event) }, element('p', { class: 'dim' }, `${KEYS} `, this.all, this.told));
  }

  get isWhole() {
    return this.range.from_ns === undefined;
  }

  // The range of an answer: only the backend knows where a whole session begins and ends.
  shows(data) {
    this.from = data.from_ns / 1e6;
    this.to = data.to_ns / 1e6;
  }

  // From and to are in ms; without them, the whole session.
  show(from, to) {
    this.range = from === undefined ? {}
      : { from_ns: Math.max(1, Math.round(from * 1e6)), to_ns: Math.max(1, Math.round(to * 1e6)) };
    this.all.hidden = this.isWhole;
    this.told.textContent = '';
    this.load().catch(error => { this.told.textContent = `Cannot show this part: ${error.message}.`; });
  }

  // One load at a time; requests that come meanwhile share one load afterwards.
  async load() {
    if (this.loading) {
      this.again = true;
      return;
    }
    this.loading = true;
    try {
      do {
        this.again = false;
        await this.loadParts(this.range);
      } while (this.again);
    } finally {
      this.loading = false;
    }
  }

  onKey(event) {
    const width = this.to - this.from;
    const steps = { '+': [STEP, -STEP], '=': [STEP, -STEP], '-': [-STEP, STEP],
      ArrowLeft: [-STEP, -STEP], ArrowRight: [STEP, STEP] };
    const step = steps[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key === '0' || step) || !(width >= 0)) return;
    event.preventDefault();
    if (event.key === '0') {
      this.show();
    } else if (width > LEAST_MS || step[0] < 0) {
      this.from += step[0] * width;
      this.to += step[1] * width;
      this.show(this.from, this.to);
    }
  }
}
