// A timeline on a canvas: a row per actor, time to the right.

const AXIS = 24;

function rowHeight(actors) {
  return actors <= 12 ? 30 : actors <= 32 ? 20 : actors <= 96 ? 12 : actors <= 400 ? 6 : 3;
}

class TimelineView {
  constructor(timeline, range, tip) {
    this.timeline = timeline;
    this.range = range;
    this.tip = tip;
    this.row = rowHeight(timeline.actors);
    this.hovered = null;   // {span} or {idle}
    this.selected = null;
    this.critical = false;
    this.onCritical = new Set(timeline.critical || []);
    if (timeline.spans) {
      this.before = idleBySpan(timeline);
      this.spansOf = groupByActor(timeline.spans.actor, timeline.actors);
      this.idleOf = groupByActor(timeline.idle.actor, timeline.actors);
    }
    this.build();
    range.onChange(() => this.draw());
  }

  build() {
    const t = this.timeline;
    this.axis = element("canvas", {class: "axis", "aria-hidden": "true"});
    this.lanes = element("canvas", {
      class: "lanes", tabindex: "0", role: "application", "data-rows": t.actors,
      "aria-label": `Timeline of ${t.actors} actors. Arrow keys move between ops, plus and minus zoom, ` +
        "shift and arrows pan, 0 shows all, escape unpins.",
    });
    this.plot = element("div", {class: "plot"}, this.axis, this.lanes);
    const every = Math.ceil(13 / this.row);
    const labels = Array.from({length: t.actors}, (_, actor) => {
      const text = actor % every === 0 ? String(actor) : "";
      const word = text && this.row >= 20 ? element("span", {class: "word"}, "actor ") : "";
      return element("div", {class: "row", style: `height:${this.row}px`}, element("span", {}, word, text));
    });
    this.box = element("div", {class: "scroller"},
      element("div", {class: "actors"}, element("div", {class: "corner"}), ...labels), this.plot);
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  x(time) {
    return ((time - this.range.from) / this.range.length) * this.width;
  }

  time(x) {
    return this.range.from + (x / this.width) * this.range.length;
  }

  // Sizes a canvas for the screen and returns its pen.
  pen(canvas, height) {
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, height);
    return pen;
  }

  draw() {
    this.width = this.plot.clientWidth;
    if (this.width <= 0) return;
    this.colors = {ink: css("--ink"), muted: css("--muted"), line: css("--line"), track: css("--track"),
      accent: css("--accent")};
    this.drawAxis();
    const pen = this.pen(this.lanes, this.row * this.timeline.actors);
    const gap = this.row >= 12 ? 2 : this.row >= 6 ? 1 : 0;
    this.inner = this.row - gap;
    for (let actor = 0; actor < this.timeline.actors; ++actor) this.drawRow(pen, actor);
    this.lanes.dataset.from = Math.round(this.range.from);
    this.lanes.dataset.to = Math.round(this.range.to);
    if (!this.timeline.spans) return;
    for (const chosen of [this.selected, this.hovered]) this.drawChosen(pen, chosen);
  }

  drawAxis() {
    const pen = this.pen(this.axis, AXIS);
    const {step, list} = ticks(this.range, this.width);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const t of list) {
      const x = Math.round(this.x(t)) + 0.5;
      pen.strokeStyle = this.colors.line;
      pen.beginPath();
      pen.moveTo(x, AXIS - 6);
      pen.lineTo(x, AXIS);
      pen.stroke();
      const text = tickText(t, step, this.range.max);
      const size = pen.measureText(text).width;
      pen.fillStyle = this.colors.muted;
      pen.fillText(text, Math.min(Math.max(x - size / 2, 0), this.width - size), AXIS / 2 - 2);
    }
  }

  drawRow(pen, actor) {
    const y = actor * this.row;
    const end = Math.min(this.x(this.timeline.end), this.width);
    pen.fillStyle = this.colors.track;
    pen.fillRect(Math.max(this.x(0), 0), y, end - Math.max(this.x(0), 0), this.inner);
    if (!this.timeline.spans) return this.drawActivity(pen, actor, y);
    const spans = this.spansOf[actor];
    let drawnTo = -1;
    for (let k = this.firstVisible(spans); k < spans.length; ++k) {
      const span = spans[k];
      if (this.timeline.spans.start[span] > this.range.to) break;
      const box = this.boxOf(span);
      // Many ops in one pixel: one of them is enough.
      if (box.x + box.width < drawnTo && box.height === this.inner) continue;
      this.drawSpan(pen, span, box);
      drawnTo = Math.max(drawnTo, Math.ceil(box.x + 0.5));
    }
  }

  drawActivity(pen, actor, y) {
    const shares = this.timeline.activity[actor];
    const bin = this.timeline.end / shares.length;
    pen.fillStyle = CAUSES.busy.color;
    shares.forEach((share, k) => {
      const x = this.x(k * bin);
      const right = this.x((k + 1) * bin);
      if (right < 0 || x > this.width) return;
      pen.globalAlpha = share / 100;
      pen.fillRect(x, y, right - x, this.inner);
    });
    pen.globalAlpha = 1;
  }

  // Index into an actor's list of the first that may reach into the range.
  firstVisible(list, columns = this.timeline.spans) {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (columns.end[list[middle]] < this.range.from) low = middle + 1;
      else high = middle;
    }
    return Math.max(low - 1, 0);  // a pair's longer op may come before its shorter one
  }

  // Where a span is drawn. The two ops of a pair share the row's height.
  boxOf(span) {
    const s = this.timeline.spans;
    const x = this.x(s.start[span]);
    const width = Math.max(this.x(s.end[span]) - x, 0.75);
    const y = s.actor[span] * this.row;
    const half = this.inner / 2;
    if (s.pair[span] === 1) return {x, y, width, height: half};
    if (s.pair[span] === 2) return {x, y: y + half, width, height: half};
    return {x, y, width, height: this.inner};
  }

  drawSpan(pen, span, {x, y, width, height}) {
    const s = this.timeline.spans;
    const kind = KIND_NAMES[s.kind[span]];
    const left = Math.max(x, -2);
    const right = Math.min(x + width, this.width + 2);
    pen.globalAlpha = this.critical && !this.onCritical.has(span) ? 0.22 : 1;
    const seam = width > 4 ? 1 : width > 2 ? 0.5 : 0;
    drawBlock(pen, KINDS[kind], left, y, Math.max(right - left - seam, 0.5), height);
    if (routeOf(this.timeline, span)) this.drawFoot(pen, left, y + height, right - left - seam);
    this.writeLabel(pen, span, kind, left, right, y, height);
    pen.globalAlpha = 1;
  }

  // Tells the ops of another route from those of the first.
  drawFoot(pen, left, bottom, width) {
    if (width < 2) return;
    pen.fillStyle = "#14161a";
    pen.fillRect(left, bottom - 2, width, 2);
  }

  writeLabel(pen, span, kind, left, right, y, height) {
    if (height < 10 || right - left < 14) return;
    const s = this.timeline.spans;
    const full = spanText(this.timeline, span);
    pen.font = `${Math.min(12, height - 1)}px system-ui, sans-serif`;
    const texts = s.kind[span] < OP_KINDS
      ? [full, `${kind}${s.microbatch[span]}${s.slice[span] ? `.${s.slice[span]}` : ""}`, kind]
      : [full, kind];
    const text = texts.find((candidate) => pen.measureText(candidate).width + 6 <= right - left);
    if (!text) return;
    pen.fillStyle = "#14161a";
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.fillText(text, (Math.max(left, 0) + Math.min(right, this.width)) / 2, y + height / 2 + 0.5);
    pen.textAlign = "start";
  }

  // The op under the pointer or pinned, with an arrow from the op that it waited for.
  drawChosen(pen, chosen) {
    if (!chosen || chosen.span === undefined) return;
    const box = this.boxOf(chosen.span);
    pen.lineWidth = 2;
    pen.strokeStyle = this.colors.ink;
    pen.strokeRect(box.x + 1, box.y + 1, Math.max(box.width - 2, 1), Math.max(box.height - 2, 1));
    const input = this.timeline.spans.awaits[chosen.span];
    const from = input < 0 ? -1 : this.timeline.transfers.producer[input];
    if (from < 0) return;
    const source = this.boxOf(from);
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(source.x + source.width, source.y + source.height / 2);
    pen.lineTo(box.x, box.y + box.height / 2);
    pen.stroke();
    pen.fillStyle = this.colors.ink;
    pen.beginPath();
    pen.arc(box.x, box.y + box.height / 2, 3, 0, 7);
    pen.fill();
  }

  // The op or the idle stretch at a point of the lanes: {span}, {idle} or null.
  hit(x, y) {
    if (!this.timeline.spans) return null;
    const actor = Math.floor(y / this.row);
    if (actor < 0 || actor >= this.timeline.actors) return null;
    const time = this.time(x);
    const slack = this.range.length / this.width;  // a pixel: thin ops can be hit
    const span = this.at(this.spansOf[actor], this.timeline.spans, time, slack / 2,
      (s) => Math.abs(this.boxOf(s).y + this.boxOf(s).height / 2 - y) <= this.boxOf(s).height / 2 + 1);
    if (span >= 0) return {span};
    const idle = this.at(this.idleOf[actor], this.timeline.idle, time, 0, () => true);
    return idle >= 0 ? {idle} : null;
  }

  at(list, columns, time, slack, fits) {
    for (let k = this.firstVisible(list, columns); k < list.length; ++k) {
      const i = list[k];
      if (columns.start[i] > time + slack) break;
      if (columns.end[i] + slack >= time && fits(i)) return i;
    }
    return -1;
  }

  describe(chosen) {
    return chosen.span !== undefined ? describeSpan(this.timeline, this.before, chosen.span)
      : describeIdle(this.timeline, chosen.idle);
  }
}

function groupByActor(actorOf, actors) {
  const groups = Array.from({length: actors}, () => []);
  actorOf.forEach((actor, i) => groups[actor].push(i));
  return groups;
}
