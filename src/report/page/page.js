// Builds the page from the data in it.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("report");
const views = [];

const sourceOf = (timeline) => `${timeline.name}, ${timeline.source}`;

function section(title, note, ...content) {
  return element("section", {}, element("h2", {}, title), note ? element("p", {class: "note"}, note) : "",
    ...content);
}

function tile(name, value, beside = "") {
  return element("div", {class: "tile"}, element("div", {class: "name"}, name),
    element("div", {class: "value", "data-tile": name}, value), element("div", {class: "beside"}, beside));
}

// The numbers of the measured timeline if there is one, else of the first; the others beside them.
function tiles() {
  const first = data.timelines.find((t) => t.source === "measured") || data.timelines[0];
  if (!first) return "";
  const others = data.timelines.filter((t) => t !== first);
  const beside = (show) => others.slice(0, 3).map((t) => `${show(t.report)} ${t.source === first.source ? t.name : t.source}`).join(", ");
  const add = (name, show) => tile(name, show(first.report), beside(show));
  const list = [
    add("Step", (r) => showSeconds(r.makespan_s)),
    add("Utilization", (r) => showPercent(r.utilization)),
    add("Bubble", (r) => showPercent(r.bubble_ratio)),
  ];
  if (first.report.tokens_per_s !== null) list.push(add("Tokens per second", (r) => orDash(r.tokens_per_s, (v) => Math.round(v).toLocaleString("en"))));
  if (first.report.mfu !== null) list.push(add("MFU", (r) => orDash(r.mfu, showPercent)));
  if (data.comparison && data.comparison.error_percent !== null) {
    list.push(tile("Prediction error", showDifference(data.comparison.error_percent), "of the measured step"));
  }
  return element("div", {class: "tiles"}, ...list);
}

function facts() {
  if (data.facts.length === 0) return "";
  return element("dl", {class: "facts"}, ...data.facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function kindLegend() {
  const used = new Set(data.timelines.flatMap((t) => (t.spans ? t.spans.kind : [])));
  const items = KIND_NAMES.filter((_, k) => used.has(k)).map((kind) => element("li", {},
    swatch(KINDS[kind]), kind.length === 1 ? `${kind} ${KINDS[kind].name}` : KINDS[kind].name));
  if (data.timelines.some((t) => t.routes && t.routes.length > 0)) {
    items.push(element("li", {}, "dark foot: on another route"));
  }
  return element("ul", {class: "legend"}, ...items);
}

function toolbar(range) {
  const button = (text, label, click) => element("button", {type: "button", "aria-label": label, title: label, onclick: click}, text);
  const critical = element("button", {type: "button", "aria-pressed": "false", onclick: () => {
    const on = critical.getAttribute("aria-pressed") !== "true";
    critical.setAttribute("aria-pressed", String(on));
    for (const view of views) {
      view.critical = on;
      view.draw();
    }
  }}, "Critical path");
  const drawn = data.timelines.some((t) => t.spans);
  return element("div", {class: "buttons"}, ...(drawn ? [critical] : []),
    button("−", "Zoom out", () => range.zoom(1 / 1.6)), button("+", "Zoom in", () => range.zoom(1.6)),
    button("Fit", "Show the whole step", () => range.fit()));
}

function timelineBlock(timeline, range, tip) {
  const view = new TimelineView(timeline, range, tip);
  views.push(view);
  new TimelineControl(view);
  const about = `${timeline.actors} actors, ${timeline.microbatches} microbatches, ` +
    `${showTime(timeline.end)}`;
  const summary = timeline.spans ? "" : element("p", {class: "note"},
    `${timeline.ops.toLocaleString("en")} ops are too many to draw here: shade is the share of time that an ` +
    "actor was busy. Open the trace file in ui.perfetto.dev to see each op.");
  return element("div", {class: "timeline"},
    element("header", {}, element("h3", {}, sourceOf(timeline)), element("span", {class: "muted"}, about)),
    summary, view.box);
}

function timelineSection() {
  const range = new Range(Math.max(...data.timelines.map((t) => t.end)));
  const tip = new Tip();
  const drawn = data.timelines.some((t) => t.spans);
  const keys = element("p", {class: "note keys"}, "Drag to pan. Zoom with the buttons, ", element("kbd", {}, "+"), " ",
    element("kbd", {}, "−"), " or the wheel (after a click, or with ", element("kbd", {}, "Ctrl"), ").",
    drawn ? " Click an op to pin it; arrow keys walk from op to op." : "");
  return section("Timeline", "", element("div", {class: "panel"},
    element("div", {class: "bar"}, kindLegend(), toolbar(range)),
    ...data.timelines.map((t) => timelineBlock(t, range, tip)), keys));
}

function actorTable(timeline) {
  const actors = timeline.report.actors;
  const causes = timeline.causes.filter((cause) => actors.some((actor) => actor.idle[`${cause}_s`] > 0));
  const [unit, of] = timeUnit(timeline.report.makespan_s * 1e9);
  const places = decimals((timeline.report.makespan_s * 1e9) / of);
  const time = (s) => (s === 0 ? "0" : ((s * 1e9) / of).toFixed(places));
  const memory = knowsBytes(timeline);
  const head = ["actor", `busy, ${unit}`, "utilization", "in flight", ...(memory ? ["memory"] : []),
    ...causes.map((cause) => CAUSES[cause].name)];
  const rows = actors.map((actor) => [String(actor.actor), time(actor.busy_s), showPercent(actor.utilization),
    showNumber(actor.peak_in_flight), ...(memory ? [orDash(actor.peak_bytes, showBytes)] : []),
    ...causes.map((cause) => time(actor.idle[`${cause}_s`]))]);
  return element("details", actors.length <= 16 ? {open: ""} : {}, element("summary", {}, "Numbers per actor"),
    tableOf(head, rows));
}

function utilizationSection() {
  return section("Where the time goes",
    "Busy time of each actor, and why it idled: before its first op (warm-up) and after its last (drain), while the op " +
    "it needed still ran elsewhere (dependency), while a message travelled (p2p) or waited for its channel (blocked), and " +
    "in the exchanges at the step's end (collective).",
    element("div", {class: "charts"}, ...data.timelines.map((t) => element("div", {class: "panel"},
      element("h3", {}, sourceOf(t)), utilizationChart(t), actorTable(t)))));
}

function memorySection() {
  const some = data.timelines.some((t) => t.actors > SERIES.length) ? ` ${SERIES.length} of the actors are drawn.` : "";
  const what = data.timelines.some(knowsBytes) ? "Weights and the activations kept for a backward, per actor."
    : "Microbatches whose activations are kept for a backward, per actor.";
  return section("Memory", what + some,
    element("div", {class: "charts"}, ...data.timelines.map((t) =>
      element("div", {class: "panel"}, element("h3", {}, sourceOf(t)), memoryChart(t)))));
}

function trialRow(trial, several, memory) {
  const head = several ? [String(trial.microbatches), trial.schedule] : [trial.schedule];
  const cells = [orDash(trial.makespan_s, showSeconds), orDash(trial.bubble_ratio, showPercent),
    orDash(trial.bubble_ratio_span, showPercent), orDash(trial.peak_in_flight, showNumber),
    orDash(trial.weight_copies, (copies) => `${showNumber(copies)}×`), orDash(trial.messages, String)];
  return [...head, ...cells, ...(memory ? [orDash(trial.peak_bytes, showBytes)] : [])];
}

function trialsSection() {
  if (!data.trials) return "";
  const {trials, overtakings} = data.trials;
  const several = new Set(trials.map((trial) => trial.microbatches)).size > 1;
  const memory = trials.some((trial) => trial.peak_bytes !== null);
  const head = [...(several ? ["microbatches", "schedule"] : ["schedule"]), "step", "bubble", "(span)", "in flight",
    "weights", "messages", ...(memory ? ["memory"] : [])];
  const table = tableOf(head, trials.map((trial) => trialRow(trial, several, memory)));
  const note = overtakings.map((one) => `${one.winner} overtakes ${one.loser} at ${one.microbatches} microbatches.`).join(" ");
  return section(several ? "Over the number of microbatches" : "Schedules", note,
    ...(several ? [element("div", {class: "panel"}, trialsChart(trials))] : []),
    element("div", {class: "panel"}, several ? element("details", {}, element("summary", {}, "Numbers"), table) : table));
}

function lossSection() {
  const finite = data.losses.filter((loss) => loss !== null);
  if (finite.length === 0) return "";
  const note = `${finite[0].toFixed(3)} at the first step, ${finite[finite.length - 1].toFixed(3)} at step ${data.losses.length}.`;
  return section("Loss", note, element("div", {class: "panel"}, lossChart(data.losses)));
}

function comparisonRows(comparison) {
  const line = (name, both, show) => [name, orDash(both.a, show), orDash(both.b, show), showDifference(both.difference_percent)];
  const ratio = (name, both) => [name, orDash(both.a, showPercent), orDash(both.b, showPercent), showPoints(both)];
  const group = (row) => Object.assign(row, {group: true});
  const rows = [line("step", comparison.makespan_s, showSeconds), ratio("utilization", comparison.utilization),
    ratio("bubble", comparison.bubble_ratio)];
  const rate = comparison.tokens_per_s;
  if (rate.a !== null || rate.b !== null) rows.push(line("tokens/s", rate, (value) => Math.round(value).toLocaleString("en")));
  if (comparison.transfer_s.a !== null || comparison.transfer_s.b !== null) rows.push(line("mean transfer", comparison.transfer_s, showSeconds));
  comparison.kinds.forEach((kind, k) => {
    const row = line(`mean ${kind.kind}`, kind.mean_s, showSeconds);
    rows.push(k === 0 ? group(row) : row);
  });
  comparison.actors.slice(0, 32).forEach((actor, k) => {
    const row = line(`actor ${actor.actor} busy`, actor.busy_s, showSeconds);
    rows.push(k === 0 ? group(row) : row, line(`actor ${actor.actor} idle`, actor.idle_s, showSeconds));
  });
  comparison.stages.slice(0, 32).forEach(({stage, kinds}) => kinds.forEach((kind, k) => {
    const row = line(`stage ${stage} mean ${kind.kind}`, kind.mean_s, showSeconds);
    rows.push(stage === 0 && k === 0 ? group(row) : row);
  }));
  return rows;
}

function comparisonSection() {
  const comparison = data.comparison;
  if (!comparison) return "";
  const judged = comparison.error_percent !== null;
  const nameB = judged ? "predicted" : `${comparison.b.schedule} (b)`;
  const nameA = judged ? "measured" : `${comparison.a.schedule} (a)`;
  const note = judged ? "Differences are predicted − measured, in per cent of the measured value; of ratios in points."
    : "Differences are b − a, in per cent of a; of ratios in points.";
  const other = comparison.ops_only_in_a + comparison.ops_only_in_b;
  const warning = other > 0 ? element("p", {class: "note"}, `Not the same schedule: ${other} ops are in only one of the two.`) : "";
  return section(judged ? "Predicted beside measured" : "Side by side", note, warning, element("div", {class: "charts"},
    element("div", {class: "panel"}, tableOf(["", nameA, nameB, "difference"], comparisonRows(comparison))),
    element("div", {class: "panel"}, element("h3", {}, "Mean duration per op kind"), kindChart(comparison.kinds, nameA, nameB))));
}

function redraw() {
  for (const view of views) view.draw();
  drawCharts();
}

main.replaceChildren(
  element("h1", {}, data.title), facts(), ...(data.trials ? [trialsSection()] : [tiles()]),
  ...(data.timelines.length > 0 ? [timelineSection(), comparisonSection(), utilizationSection(), memorySection()] : []),
  lossSection(),
  element("footer", {}, "Made by Penstock. This file holds all of its data and opens without a network."));
redraw();
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.matchMedia("print").addEventListener("change", redraw);
document.documentElement.dataset.ready = "true";
