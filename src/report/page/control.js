// Mouse, touch and keyboard of one timeline, and its tooltip.

const DRAG = 4;  // pixels before a press becomes a pan

class Tip {
  constructor() {
    this.box = element("div", {class: "tip", role: "status", "aria-live": "polite", hidden: ""});
    document.body.append(this.box);
  }

  show({title, meaning, times, wait}, x, y, pinned) {
    this.box.replaceChildren(
      element("div", {}, element("strong", {}, title), ` ${meaning}`),
      element("div", {class: "times"}, times), element("div", {class: "muted"}, wait));
    this.box.classList.toggle("pinned", pinned);
    this.box.hidden = false;
    const size = this.box.getBoundingClientRect();
    const left = Math.min(Math.max(x + 14, 8), window.innerWidth - size.width - 8);
    const below = y + 18 + size.height < window.innerHeight;
    this.box.style.left = `${Math.max(left, 8)}px`;
    this.box.style.top = `${below ? y + 18 : Math.max(y - size.height - 12, 8)}px`;
  }

  hide() {
    this.box.hidden = true;
  }
}

class TimelineControl {
  constructor(view) {
    this.view = view;
    this.pressed = null;
    this.pinned = false;
    const lanes = view.lanes;
    lanes.addEventListener("pointermove", (event) => this.move(event));
    lanes.addEventListener("pointerdown", (event) => this.press(event));
    lanes.addEventListener("pointerup", (event) => this.release(event));
    lanes.addEventListener("pointercancel", () => this.endDrag());
    lanes.addEventListener("pointerleave", () => this.leave());
    lanes.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    lanes.addEventListener("keydown", (event) => this.key(event));
    lanes.addEventListener("blur", () => this.unpin());
    window.addEventListener("scroll", () => this.unpin(), {passive: true});
  }

  point(event) {
    const box = this.view.lanes.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  move(event) {
    const {x, y} = this.point(event);
    if (this.pressed && Math.abs(event.clientX - this.pressed.x) > DRAG) this.pressed.dragging = true;
    if (this.pressed && this.pressed.dragging) {
      this.view.lanes.classList.add("dragging");
      const by = ((this.pressed.last - event.clientX) / this.view.width) * this.view.range.length;
      this.pressed.last = event.clientX;
      this.hover(null);
      this.view.range.pan(by);
      return;
    }
    this.hover(this.view.hit(x, y), event.clientX, event.clientY);
  }

  hover(chosen, x, y) {
    this.view.hovered = chosen;
    this.view.draw();
    if (this.pinned) return;
    if (chosen) this.view.tip.show(this.view.describe(chosen), x, y, false);
    else this.view.tip.hide();
  }

  press(event) {
    if (event.button !== 0) return;
    this.pressed = {x: event.clientX, last: event.clientX, dragging: false};
    this.view.lanes.setPointerCapture(event.pointerId);
  }

  release(event) {
    const dragged = this.pressed && this.pressed.dragging;
    this.endDrag();
    if (dragged) return;
    const {x, y} = this.point(event);
    const chosen = this.view.hit(x, y);
    this.pinned = false;
    if (!chosen) return this.unpin();
    this.pin(chosen, event.clientX, event.clientY);
  }

  endDrag() {
    this.pressed = null;
    this.view.lanes.classList.remove("dragging");
  }

  leave() {
    this.view.hovered = null;
    this.view.draw();
    if (!this.pinned) this.view.tip.hide();
  }

  pin(chosen, x, y) {
    this.pinned = true;
    this.view.selected = chosen;
    this.view.tip.show(this.view.describe(chosen), x, y, true);
    this.view.draw();
  }

  unpin() {
    if (!this.pinned && !this.view.selected) return;
    this.pinned = false;
    this.view.selected = null;
    this.view.tip.hide();
    this.view.draw();
  }

  // The page scrolls unless the timeline was clicked, or Ctrl is held.
  wheel(event) {
    const range = this.view.range;
    const active = event.ctrlKey || event.metaKey || document.activeElement === this.view.lanes;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !range.whole) {
      event.preventDefault();
      return range.pan((event.deltaX / this.view.width) * range.length);
    }
    if (!active || (range.whole && event.deltaY > 0)) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    range.zoom(Math.exp(-event.deltaY * lines * 0.0018), this.view.time(this.point(event).x));
  }

  key(event) {
    const range = this.view.range;
    const actions = {
      "+": () => range.zoom(1.5, this.anchor()), "=": () => range.zoom(1.5, this.anchor()),
      "-": () => range.zoom(1 / 1.5, this.anchor()), "0": () => range.fit(),
      Escape: () => this.unpin(),
      ArrowLeft: () => this.step(event.shiftKey, -1, 0), ArrowRight: () => this.step(event.shiftKey, 1, 0),
      ArrowUp: () => this.step(false, 0, -1), ArrowDown: () => this.step(false, 0, 1),
    };
    if (!actions[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  anchor() {
    const chosen = this.view.selected;
    const s = this.view.timeline.spans;
    return chosen && chosen.span !== undefined ? (s.start[chosen.span] + s.end[chosen.span]) / 2 : undefined;
  }

  // Moves the selection to the next op of the actor, or to the op at the same time of the next one.
  step(pan, along, across) {
    const view = this.view;
    if (pan || !view.timeline.spans) return view.range.pan(along * view.range.length * 0.2);
    const s = view.timeline.spans;
    const now = view.selected && view.selected.span !== undefined ? view.selected.span : -1;
    let next = now;
    if (now < 0) {
      next = view.spansOf[0][view.firstVisible(view.spansOf[0])];
    } else if (along !== 0) {
      const list = view.spansOf[s.actor[now]];
      next = list[list.indexOf(now) + along];
    } else {
      const list = view.spansOf[s.actor[now] + across] || [];
      next = list.find((i) => s.end[i] > s.start[now]) ?? list[list.length - 1];
    }
    if (next === undefined) return;
    view.range.show(s.start[next], s.end[next]);
    const box = view.boxOf(next);
    const canvas = view.lanes.getBoundingClientRect();
    this.pin({span: next}, canvas.left + Math.max(box.x, 0), canvas.top + box.y + box.height - 8);
  }
}
