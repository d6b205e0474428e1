// Colours: Okabe and Ito's palette, which colour-blind people can tell apart. No meaning hangs on
// colour alone: kinds have a letter and a texture, idle causes a texture and an order.

const KINDS = {
  F: {name: "forward", color: "#56b4e9", texture: "plain"},
  B: {name: "backward", color: "#e69f00", texture: "band"},
  I: {name: "backward, input gradient", color: "#cc79a7", texture: "top"},
  W: {name: "backward, weight gradient", color: "#009e73", texture: "hatch"},
  R: {name: "recompute", color: "#d55e00", texture: "hatch"},
  U: {name: "update", color: "#a6a9ad", texture: "band"},
  reduce: {name: "gradient reduction", color: "#f0e442", texture: "hatch"},
  norm: {name: "global norm", color: "#f0e442", texture: "plain"},
  verdict: {name: "verdict on the update", color: "#f0e442", texture: "band"},
  update: {name: "update", color: "#a6a9ad", texture: "plain"},
};

const CAUSES = {
  busy: {name: "busy", color: "#0072b2", texture: "plain"},
  warmup: {name: "warm-up", color: "#c9ccd0", texture: "plain"},
  dependency: {name: "dependency", color: "#e69f00", texture: "plain"},
  p2p: {name: "p2p", color: "#d55e00", texture: "hatch"},
  blocked: {name: "blocked", color: "#f0e442", texture: "plain"},
  collective: {name: "collective", color: "#cc79a7", texture: "hatch"},
  data: {name: "data", color: "#56b4e9", texture: "plain"},
  padding: {name: "padding", color: "#009e73", texture: "hatch"},
  drain: {name: "drain", color: "#8d9299", texture: "hatch"},
};

const SERIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8d9299"];
const POINTS = ["circle", "rect", "triangle", "rectRot", "crossRot"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Diagonal lines over `color`, as a fill for a canvas.
function hatched(color) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.fillStyle = color;
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = "rgb(0 0 0 / 24%)";
  pen.lineWidth = 1.2;
  for (const shift of [-6, 0, 6]) {
    pen.beginPath();
    pen.moveTo(shift - 1, 7);
    pen.lineTo(shift + 7, -1);
    pen.stroke();
  }
  return pen.createPattern(tile, "repeat");
}

const fills = new Map();
function fillOf(style) {
  const key = style.color + style.texture;
  if (!fills.has(key)) fills.set(key, style.texture === "hatch" ? hatched(style.color) : style.color);
  return fills.get(key);
}

// A block in the colour and texture of its kind.
function drawBlock(pen, style, x, y, width, height) {
  pen.fillStyle = fillOf(style);
  pen.fillRect(x, y, width, height);
  if (style.texture !== "band" && style.texture !== "top") return;
  const band = Math.max(1, Math.round(height / 7));
  pen.fillStyle = "rgb(0 0 0 / 34%)";
  pen.fillRect(x, style.texture === "band" ? y + height - band : y, width, band);
}

function swatch(style) {
  const size = 14;
  const canvas = element("canvas", {width: 2 * size, height: 2 * size, style: "width:14px;height:14px"});
  const pen = canvas.getContext("2d");
  pen.scale(2, 2);
  drawBlock(pen, style, 0, 0, size, size);
  return canvas;
}
