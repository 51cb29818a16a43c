// Replaces the charts that the server has drawn by interactive ones of uPlot, with axes and with figures under the pointer.
'use strict';

(() => {
  const colour = (figure, name) => {
    // The style sheet's colours depend on the theme; only the style of an element has the result.
    const probe = document.createElement('span');
    probe.className = 'key ' + name;
    figure.append(probe);
    const value = getComputedStyle(probe).backgroundColor;
    probe.remove();
    return value;
  };
  const faint = (value, alpha) => value.replace(/^rgb\((.*)\)$/, (_, parts) => 'rgba(' + parts + ', ' + alpha + ')');

  const duration = (ms) => {
    for (const [unit, size] of [['h', 3600e3], ['min', 60e3], ['s', 1e3]]) {
      if (ms >= size) return +(ms / size).toFixed(ms < 10 * size ? 1 : 0) + ' ' + unit;
    }
    return +ms.toFixed(ms < 10 ? 1 : 0) + ' ms';
  };
  const said = (unit, value) => value == null ? '–' : unit === 'ms' ? duration(value) : value.toLocaleString('en');
  const clock = (seconds) => new Date(seconds * 1e3).toISOString().slice(11, 16);

  const few = (line) => line.values.filter((value) => value != null).length <= 20;

  const draw = (figure) => {
    const chart = JSON.parse(figure.dataset.chart);
    const muted = getComputedStyle(figure.querySelector('.scale')).color;
    const grid = getComputedStyle(figure.querySelector('.grid')).stroke;
    const font = '11px ' + getComputedStyle(figure).fontFamily;
    const drawn = figure.querySelector('.drawn');
    const height = drawn.offsetHeight;

    const tip = document.createElement('div');
    tip.className = 'tip';
    tip.hidden = true;
    const tell = (plot) => {
      const at = plot.cursor.idx;
      tip.hidden = at == null || plot.cursor.left < 0;
      if (tip.hidden) return;
      const time = document.createElement('p');
      time.textContent = clock(chart.times[at]) + ' to ' + clock(chart.times[at] + chart.step) + ' UTC';
      tip.replaceChildren(time, ...chart.lines.map((line) => {
        const row = document.createElement('p');
        const key = document.createElement('span');
        const value = document.createElement('strong');
        key.className = 'key ' + line.class;
        value.textContent = said(chart.unit, line.values[at]);
        row.append(key, line.name, value);
        return row;
      }));
      const left = plot.bbox.left / devicePixelRatio + plot.cursor.left;
      const room = figure.clientWidth - tip.offsetWidth;
      tip.style.left = Math.max(0, Math.min(room, left < room - 16 ? left + 16 : left - 16 - tip.offsetWidth)) + 'px';
    };

    drawn.hidden = true;
    const plot = new uPlot({
      width: figure.clientWidth,
      height,
      legend: {show: false},
      cursor: {y: false, points: {size: 6}, drag: {x: false, y: false}},
      scales: {y: {range: (_, low, high) => [0, Math.max(high || 0, 1) * 1.06]}},
      axes: [
        {stroke: muted, font, size: 24, gap: 6, grid: {show: false}, ticks: {show: false}, space: 70,
          incrs: [1, 2, 5, 10, 15, 30, 60, 120, 180, 360].map((minutes) => minutes * 60), values: (_, list) => list.map(clock)},
        {stroke: muted, font, size: 50, gap: 6, grid: {stroke: grid, width: 1}, ticks: {show: false}, space: 26,
          values: (_, list) => list.map((value) => chart.unit === 'ms' ? duration(value) : Number.isInteger(value) ? said('', value) : '')},
      ],
      series: [{}, ...chart.lines.map((line) => {
        const stroke = colour(figure, line.class);
        return {label: line.name, stroke, width: 1.6, fill: line.area ? faint(stroke, 0.13) : undefined, spanGaps: false,
          // Few values are drawn as dots, and so is a single one between two gaps.
          points: {show: true, size: 7, width: 0, fill: stroke, filter: () => line.values.flatMap((value, i) => value != null && (few(line) ? value > 0 : line.values[i - 1] == null && line.values[i + 1] == null) ? [i] : [])}};
      })],
      hooks: {setCursor: [tell]},
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), 'Etc/UTC'),
    }, [chart.times, ...chart.lines.map((line) => line.values)], figure);
    figure.append(tip);
    return () => {
      plot.destroy();
      tip.remove();
      drawn.hidden = false;
    };
  };

  for (const figure of document.querySelectorAll('[data-chart]')) {
    let undo = draw(figure);
    let drawnAs = figure.dataset.chart;
    const again = () => {
      undo();
      undo = draw(figure);
      drawnAs = figure.dataset.chart;
    };
    figure.addEventListener('figures', () => {
      if (figure.dataset.chart !== drawnAs && !figure.matches(':hover')) again();
    });
    let width = figure.clientWidth;
    new ResizeObserver(() => {
      if (figure.clientWidth === width) return;
      width = figure.clientWidth;
      again();
    }).observe(figure);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  }
})();
