// SPDX-License-Identifier: Apache-2.0
// One metric over time, a line for each device; the band spans the minimum and maximum of each slice.
/* global Dygraph */
import { get } from './api.js';
import { element } from './format.js';

export const AXIS_WIDTH = 52; // left of each plot, in pixels; 6 are the ticks

const titles = {
  gpu_util: 'GPU utilisation', mem_util: 'Memory utilisation', temp_c: 'Temperature', power_mw: 'Power',
  used_mib: 'Memory used', clock_sm: 'SM clock', fan_speed_pct: 'Fan', temp_mem_c: 'Memory temperature',
  temp_junction_c: 'Junction temperature', voltage_mv: 'Voltage', energy_uj: 'Energy',
  clock_mem: 'Memory clock', pcie_bw_bps: 'PCIe', ecc_corrected: 'ECC corrected',
  ecc_uncorrected: 'ECC uncorrected', cpu_pct_x100: 'Host CPU', ram_used_mib: 'Host memory used',
  cgroup_cpu_pct_x100: 'Job CPU', cgroup_cpu_limit_pct_x100: 'Job CPU limit',
  cgroup_mem_used_mib: 'Job memory used', cgroup_mem_limit_mib: 'Job memory limit',
  throttle_reasons: 'Throttle reasons', own_used_mib: 'Memory used by the process', own_gpu_util: 'GPU utilisation by the process',
  nvlink_rx_bytes: 'NVLink received', nvlink_tx_bytes: 'NVLink sent', xid_count: 'Xid errors',
};
const colours = ['#2a7de1', '#e1702a', '#1f9d55', '#a343c9', '#c9a227', '#d6336c', '#12a5a5', '#7a7f87'];

// The heading holds our legend; the library's sets styles in a way that the page's policy forbids.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);

const titleOf = metric => titles[metric] || metric;

// Rows of [ms, [min, middle, max] for each device]; all devices have the same slices.
function rowsOf(data) {
  const rows = new Map();
  data.series.forEach((series, i) => {
    for (const [dt, min, max] of series.points) {
      const slice = Math.floor(dt / data.slice_ns);
      if (!rows.has(slice)) {
        rows.set(slice, [new Date((data.from_ns + dt) / 1e6), ...data.series.map(() => [null, null, null])]);
      }
      rows.get(slice)[i + 1] = [min, (min + max) / 2, max];
    }
  });
  return [...rows.keys()].sort((a, b) => a - b).map(slice => rows.get(slice));
}

export class Chart {
  constructor(session, metric, axis) {
    this.session = session;
    this.metric = metric;
    this.axis = axis;
    this.legend = element('span', { class: 'legend' });
    this.plot = element('div', { class: 'plot', role: 'img', 'aria-label': titleOf(metric.metric) });
    this.node = element('section', { class: 'chart' },
      element('h3', {}, `${titleOf(metric.metric)}, ${metric.unit}`, this.legend), this.plot);
  }

  // The colour of each device, shown while the pointer is elsewhere.
  showKey(devices) {
    this.legend.replaceChildren(...devices.flatMap((device, i) => {
      const mark = element('span', {}, '■');
      mark.style.color = colours[i % colours.length];
      return [mark, ` ${device} `];
    }));
    this.devices = devices;
  }

  async load(range) {
    const data = await get(`sessions/${this.session}/metrics`,
      { metric: this.metric.metric, points: Math.min(10000, Math.max(200, this.plot.clientWidth)), ...range });
    const rows = rowsOf(data);
    this.axis.shows(data);
    this.node.hidden = rows.length === 0 && !range.from_ns;
    if (rows.length) this.draw(data, rows);
  }

  draw(data, rows) {
    const labels = ['time', ...data.series.map(s => s.device < 0 ? 'host' : `GPU ${s.device}`)];
    this.showKey(labels.slice(1));
    const dateWindow = [data.from_ns / 1e6, data.to_ns / 1e6];
    if (this.graph && this.graph.getLabels().join() === labels.join()) {
      this.graph.updateOptions({ file: rows, dateWindow });
      return;
    }
    this.graph?.destroy();
    this.graph = new Dygraph(this.plot, rows, {
      labels, dateWindow, customBars: true, includeZero: true, connectSeparatedPoints: true,
      colors: labels.slice(1).map((_, i) => colours[i % colours.length]),
      axes: { x: { drawGrid: false }, y: { axisLabelWidth: AXIS_WIDTH - 6 } }, gridLineColor: '#8884', axisLineColor: '#8884',
      animatedZooms: false, highlightCircleSize: 3,
      highlightCallback: (event, x, points) => this.tell(x, points),
      unhighlightCallback: () => this.showKey(this.devices),
      zoomCallback: (from, to) => this.axis.show(from, to),
      interactionModel: { ...Dygraph.defaultInteractionModel, dblclick: () => this.axis.show() },
    });
  }

  tell(x, points) {
    const values = points.map(p => `${p.name} ${+p.yval.toPrecision(4)}`).join('  ');
    this.legend.textContent = `${new Date(x).toLocaleTimeString()}  ${values}`;
  }
}
