// Numbers as people read them, and elements made without ever parsing text as HTML.

function decimals(value) {
  const size = Math.abs(value);
  return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
}

const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

// [name, nanoseconds] of the unit that fits.
function timeUnit(ns) {
  return TIME_UNITS.find(([, of]) => Math.abs(ns) >= of) || TIME_UNITS[3];
}

// Four significant digits in the unit that fits: "850 ns", "12.35 µs", "117.0 ms".
function showTime(ns) {
  const [unit, of] = timeUnit(ns);
  return `${(ns / of).toFixed(of === 1 ? 0 : decimals(ns / of))} ${unit}`;
}

const showSeconds = (s) => showTime(s * 1e9);

function showBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${units[unit]}`;
}

const showPercent = (ratio) => `${(100 * ratio).toFixed(1)} %`;

function showDifference(percent) {
  if (percent === null) return "–";
  const size = Math.abs(percent).toFixed(1);
  return `${size === "0.0" ? "" : percent < 0 ? "−" : "+"}${size} %`;
}

// Of two ratios: per cent of per cents would mislead.
function showPoints({a, b}) {
  if (a === null || b === null) return "–";
  const size = Math.abs(100 * (b - a)).toFixed(1);
  return `${size === "0.0" ? "" : b < a ? "−" : "+"}${size} points`;
}

const showNumber = (value) => String(Math.round(value * 100) / 100);

const orDash = (value, show) => (value === null || value === undefined ? "–" : show(value));

// element("td", {class: "x"}, "text", child): text stays text, whatever it holds.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// rows: arrays of cells. A row may carry `group = true`: a line above it.
function tableOf(head, rows) {
  const cells = (row, tag) => row.map((cell) => element(tag, tag === "th" ? {scope: "col"} : {}, cell));
  const body = rows.map((row) => element("tr", row.group ? {class: "group"} : {}, ...cells(row, "td")));
  return element("div", {class: "table"},
    element("table", {}, element("thead", {}, element("tr", {}, ...cells(head, "th"))),
      element("tbody", {}, ...body)));
}
