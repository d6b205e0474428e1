// The stretch of time that is shown. All timelines of a report share one, so that prediction and
// measurement zoom together.
class Range {
  constructor(max) {
    this.max = Math.max(max, 1);
    this.from = 0;
    this.to = this.max;
    this.listeners = [];
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  allowed(length) {
    return Math.min(Math.max(length, 20), this.max);
  }

  set(from, to) {
    const length = this.allowed(to - from);
    this.from = Math.min(Math.max(from, 0), this.max - length);
    this.to = this.from + length;
    for (const listener of this.listeners) listener();
  }

  get length() {
    return this.to - this.from;
  }

  get whole() {
    return this.length >= this.max;
  }

  // factor > 1 zooms in; the time `at` stays where it is.
  zoom(factor, at = (this.from + this.to) / 2) {
    const length = this.allowed(this.length / factor);
    const from = at - (at - this.from) * (length / this.length);
    this.set(from, from + length);
  }

  pan(by) {
    this.set(this.from + by, this.to + by);
  }

  fit() {
    this.set(0, this.max);
  }

  // Moves as little as needed to show start..end.
  show(start, end) {
    if (start < this.from) this.pan(start - this.from - this.length * 0.1);
    else if (end > this.to) this.pan(end - this.to + this.length * 0.1);
  }
}

// Round times about `pixels` apart.
function ticks(range, width, pixels = 110) {
  const rough = (range.length * pixels) / width;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((f) => f * power >= rough);
  const list = [];
  for (let t = Math.ceil(range.from / step) * step; t <= range.to; t += step) list.push(t);
  return {step, list};
}

function tickText(t, step, max) {
  const [unit, of] = timeUnit(max);
  const places = Math.max(0, -Math.floor(Math.log10(step / of) + 1e-9));
  return `${(t / of).toFixed(places)} ${unit}`;
}
