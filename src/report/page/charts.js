// Curves and bars by Chart.js, in the page's own colours.

const charts = [];

function chartBox(height, label, make) {
  const canvas = element("canvas", {role: "img", "aria-label": label});
  charts.push({canvas, make, chart: null});
  return element("div", {class: "chart", style: `height:${height}px`}, canvas);
}

// Draws every chart; again after the colours changed. An object, so that printing can be light.
function drawCharts() {
  Chart.defaults.animation = false;
  Chart.defaults.font.family = "system-ui, sans-serif";
  Chart.defaults.font.size = 11;
  Chart.defaults.color = css("--muted");
  Chart.defaults.borderColor = css("--line");
  Chart.defaults.maintainAspectRatio = false;
  for (const entry of charts) {
    if (entry.chart) entry.chart.destroy();
    entry.chart = new Chart(entry.canvas, entry.make());
  }
}

const axisTitle = (text) => ({display: true, text});
const legend = {position: "bottom", labels: {boxWidth: 12, boxHeight: 12, padding: 14}};

// Busy and idle time of every actor, as parts of the step.
function utilizationChart(timeline) {
  const actors = timeline.report.actors;
  const causes = Object.keys(CAUSES).filter(
    (cause) => cause === "busy" || actors.some((actor) => actor.idle[`${cause}_s`] > 0));
  const share = (actor, cause) =>
    (100 * (cause === "busy" ? actor.busy_s : actor.idle[`${cause}_s`])) / timeline.report.makespan_s;
  const make = () => ({
    type: "bar",
    data: {
      labels: actors.map((actor) => `actor ${actor.actor}`),
      datasets: causes.map((cause) => ({
        label: CAUSES[cause].name,
        data: actors.map((actor) => share(actor, cause)),
        backgroundColor: fillOf(CAUSES[cause]),
        borderColor: css("--panel"),
        borderWidth: actors.length <= 32 ? {right: 1} : 0,
        borderSkipped: false,
      })),
    },
    options: {
      indexAxis: "y",
      interaction: {mode: "index", axis: "y", intersect: false},
      scales: {
        x: {stacked: true, min: 0, max: 100, title: axisTitle("% of the step"), grid: {display: false}},
        y: {stacked: true, grid: {display: false}},
      },
      datasets: {bar: {categoryPercentage: 0.86, barPercentage: 1, maxBarThickness: 26}},
      plugins: {
        legend,
        tooltip: {callbacks: {label: (item) => `${item.dataset.label}: ${item.parsed.x.toFixed(1)} %`}},
      },
    },
  });
  const height = Math.min(Math.max(actors.length * 30, 60), 640) + 96;
  return chartBox(height, "Busy time and idle causes of every actor, in per cent of the step", make);
}

// At most eight curves can be told apart: the first and last actor and some between.
function chosenActors(count) {
  if (count <= SERIES.length) return Array.from({length: count}, (_, actor) => actor);
  return Array.from({length: SERIES.length}, (_, k) => Math.round((k * (count - 1)) / (SERIES.length - 1)));
}

// The last sample holds until the step ends.
function toTheEnd(samples, end) {
  if (samples.length === 0) return samples;
  return [...samples, [end, ...samples[samples.length - 1].slice(1)]];
}

function knowsBytes(timeline) {
  return timeline.report.actors.some((actor) => actor.peak_bytes !== null);
}

function memoryChart(timeline) {
  const inBytes = knowsBytes(timeline);
  const most = Math.max(...timeline.report.actors.map((actor) => actor.peak_bytes || 0));
  const unit = most >= 2 ** 30 ? ["GiB", 2 ** 30] : most >= 2 ** 20 ? ["MiB", 2 ** 20] : ["KiB", 2 ** 10];
  const [time, nanoseconds] = timeUnit(timeline.end);
  const value = ([, bytes, inFlight]) => (inBytes ? bytes / unit[1] : inFlight);
  const make = () => ({
    type: "line",
    data: {
      datasets: chosenActors(timeline.actors).map((actor, k) => ({
        label: `actor ${actor}`,
        data: toTheEnd(timeline.memory[actor], timeline.end).map((sample) => ({x: sample[0] / nanoseconds, y: value(sample)})),
        stepped: true,
        pointRadius: 0,
        borderWidth: 1.75,
        borderColor: SERIES[k],
        backgroundColor: SERIES[k],
        borderDash: DASHES[k % DASHES.length],
      })),
    },
    options: {
      interaction: {mode: "nearest", axis: "x", intersect: false},
      scales: {
        x: {type: "linear", min: 0, max: timeline.end / nanoseconds, title: axisTitle(time),
          grid: {display: false}, ticks: {includeBounds: false}},
        y: {beginAtZero: true, title: axisTitle(inBytes ? unit[0] : "microbatches in flight")},
      },
      plugins: {legend: {...legend, labels: {...legend.labels, boxHeight: 2, boxWidth: 22}}},
    },
  });
  return chartBox(300, `Memory over time of ${timeline.actors} actors`, make);
}

function lossChart(losses) {
  const make = () => ({
    type: "line",
    data: {
      labels: losses.map((_, step) => step + 1),
      datasets: [{
        label: "loss", data: losses, borderColor: css("--accent"), backgroundColor: css("--accent"),
        borderWidth: 2, pointRadius: losses.length <= 40 ? 2 : 0, tension: 0,
      }],
    },
    options: {
      interaction: {mode: "index", intersect: false},
      scales: {x: {title: axisTitle("step"), grid: {display: false}}, y: {title: axisTitle("loss")}},
      plugins: {legend: {display: false}},
    },
  });
  return chartBox(280, `Loss over ${losses.length} steps`, make);
}

// The bubble of each schedule over the number of microbatches.
function trialsChart(trials) {
  const names = [...new Set(trials.map((trial) => trial.schedule))];
  const counts = [...new Set(trials.map((trial) => trial.microbatches))];  // no tick elsewhere
  const make = () => ({
    type: "line",
    data: {
      datasets: names.map((name, k) => ({
        label: name,
        data: trials.filter((trial) => trial.schedule === name && trial.refused === null)
          .map((trial) => ({x: trial.microbatches, y: 100 * trial.bubble_ratio})),
        pointRadius: 3,
        pointStyle: POINTS[k % POINTS.length],
        borderWidth: 1.75,
        borderColor: SERIES[k % SERIES.length],
        backgroundColor: SERIES[k % SERIES.length],
        borderDash: DASHES[k % DASHES.length],
      })),
    },
    options: {
      interaction: {mode: "nearest", axis: "x", intersect: false},
      scales: {
        x: {type: "linear", title: axisTitle("microbatches"), grid: {display: false},
          afterBuildTicks: (axis) => { axis.ticks = counts.map((value) => ({value})); }},
        y: {beginAtZero: true, title: axisTitle("bubble, % of the step")},
      },
      plugins: {legend: {...legend, labels: {...legend.labels, usePointStyle: true}}},
    },
  });
  return chartBox(360, `Bubble of ${names.length} schedules over the number of microbatches`, make);
}

// Mean duration per op kind, two bars each.
function kindChart(kinds, nameA, nameB) {
  const unit = Math.max(...kinds.map((kind) => kind.mean_s.a || 0)) >= 1 ? ["s", 1] : ["ms", 1e3];
  const bars = (label, side, style) => ({
    label,
    data: kinds.map((kind) => (kind.mean_s[side] === null ? null : kind.mean_s[side] * unit[1])),
    backgroundColor: fillOf(style),
  });
  const make = () => ({
    type: "bar",
    data: {
      labels: kinds.map((kind) => kind.kind),
      datasets: [bars(nameA, "a", {color: "#0072b2", texture: "plain"}),
        bars(nameB, "b", {color: "#56b4e9", texture: "hatch"})],
    },
    options: {
      scales: {x: {grid: {display: false}}, y: {beginAtZero: true, title: axisTitle(`mean, ${unit[0]}`)}},
      datasets: {bar: {maxBarThickness: 44}},
      plugins: {legend},
    },
  });
  return chartBox(300, "Mean duration per op kind", make);
}
