// SPDX-License-Identifier: Apache-2.0
// Scopes as nested bars on the time axis of the charts.
import { get } from './api.js';
import { AXIS_WIDTH } from './chart.js';
import { duration, element } from './format.js';

const ROW = 18;

function hue(name) {
  let hash = 0;
  for (const c of name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
  return hash % 360;
}

export class Lane {
  constructor(session, axis) {
    this.session = session;
    this.axis = axis;
    this.told = element('span', { class: 'legend' });
    this.canvas = element('canvas', { class: 'lane', role: 'img', 'aria-label': 'Scopes over time',
      onmousemove: event => this.tell(event), onmouseleave: () => { this.told.textContent = ''; } });
    this.node = element('section', { class: 'chart' },
      element('h3', {}, 'Scopes', this.told), this.canvas);
  }

  async load(range) {
    this.data = await get(`sessions/${this.session}/scopes`,
      { points: Math.min(10000, Math.max(200, this.canvas.clientWidth)), ...range });
    this.axis.shows(this.data);
    this.node.hidden = this.data.scopes.length === 0;
    this.draw();
  }

  // [x, width] of a scope in pixels.
  place([, , begin, end]) {
    const span = Math.max(1, this.data.to_ns - this.data.from_ns);
    const width = this.canvas.clientWidth - AXIS_WIDTH;
    const x = AXIS_WIDTH + Math.max(0, begin / span) * width;
    const to = AXIS_WIDTH + Math.min(1, (end ?? span) / span) * width;
    return [x, Math.max(1, to - x)];
  }

  draw() {
    const depth = this.data.scopes.reduce((most, s) => Math.max(most, s[1]), 0);
    const ratio = window.devicePixelRatio || 1;
    const height = Math.min(depth + 1, 24) * ROW;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = this.canvas.clientWidth * ratio;
    this.canvas.height = height * ratio;
    const draw = this.canvas.getContext('2d');
    draw.scale(ratio, ratio);
    draw.font = '11px system-ui';
    draw.textBaseline = 'middle';
    for (const scope of this.data.scopes) {
      const [x, width] = this.place(scope);
      const name = this.data.names[scope[0]] || '';
      draw.fillStyle = `hsl(${hue(name)} 55% 62%)`;
      draw.fillRect(x, scope[1] * ROW + 1, width, ROW - 2);
      if (width > 40) {
        draw.fillStyle = '#111';
        draw.fillText(name.slice(0, 200), x + 4, scope[1] * ROW + ROW / 2, width - 8);
      }
    }
  }

  tell(event) {
    const depth = Math.floor(event.offsetY / ROW);
    const hit = this.data?.scopes.findLast(scope => {
      const [x, width] = this.place(scope);
      return scope[1] === depth && event.offsetX >= x && event.offsetX <= x + width;
    });
    this.told.textContent = hit ? `${(this.data.names[hit[0]] || '').slice(0, 120)}  ${
      hit[3] === null ? 'open' : duration(hit[3] - hit[2])}` : '';
  }
}
