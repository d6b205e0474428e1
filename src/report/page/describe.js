// What an op is, when it ran and what it waited for, from the columns of one timeline.

const KIND_NAMES = ["F", "B", "I", "W", "R", "U", "reduce", "norm", "update",
  "verdict"];
const OP_KINDS = 6;

function opText(kind, stage, microbatch, slice) {
  if (kind === "norm" || kind === "verdict") return kind;
  if (kind === "reduce" || kind === "update") return `${kind} ${stage}`;
  return `${stage}${kind}${microbatch}${slice ? `.${slice}` : ""}`;
}

function spanText(timeline, span) {
  const s = timeline.spans;
  return opText(KIND_NAMES[s.kind[span]], s.stage[span], s.microbatch[span], s.slice[span]);
}

function transferText(timeline, transfer) {
  const t = timeline.transfers;
  const what = t.gradient[transfer] ? "gradient" : "activation";
  return `${what} ${opText(KIND_NAMES[t.kind[transfer]], t.stage[transfer], t.microbatch[transfer],
    t.slice[transfer])} from actor ${t.from[transfer]}`;
}

// Of an op, where there are several.
function routeOf(timeline, span) {
  const s = timeline.spans;
  return s.kind[span] < OP_KINDS ? timeline.routes[s.stage[span]] : undefined;
}

function meaning(timeline, span) {
  const s = timeline.spans;
  const kind = KIND_NAMES[s.kind[span]];
  const parts = [KINDS[kind].name];
  if (s.stage[span] >= 0) parts.push(`stage ${s.stage[span]}`);
  if (s.kind[span] < OP_KINDS) parts.push(`microbatch ${s.microbatch[span]}`);
  if (s.slice[span]) parts.push(`slice ${s.slice[span]}`);
  const route = routeOf(timeline, span);
  if (route !== undefined) parts.push(`route ${route}`);
  return parts.join(", ");
}

// Indices into timeline.idle of what this op waited for, made once: idleBefore.get(span).
function idleBySpan(timeline) {
  const before = new Map();
  timeline.idle.span.forEach((span, i) => {
    if (span < 0) return;
    if (!before.has(span)) before.set(span, []);
    before.get(span).push(i);
  });
  return before;
}

// "waited 310 µs for activation 2F5 from actor 2: dependency 210 µs, p2p 100 µs", or how it is.
function waitText(timeline, before, span) {
  const idle = timeline.idle;
  const stretches = before.get(span) || [];
  const input = timeline.spans.awaits[span];
  if (stretches.length === 0) {
    if (input < 0) return "no wait: its input was on this actor";
    return `no wait: ${transferText(timeline, input)} was there at ${showTime(timeline.transfers.end[input])}`;
  }
  const total = stretches.reduce((sum, i) => sum + idle.end[i] - idle.start[i], 0);
  const causes = stretches.map(
    (i) => `${CAUSES[timeline.causes[idle.cause[i]]].name} ${showTime(idle.end[i] - idle.start[i])}`);
  const what = input < 0 ? "" : ` for ${transferText(timeline, input)}`;
  return `waited ${showTime(total)}${what} (${causes.join(", ")})`;
}

// The lines of the tooltip: a title and what follows.
function describeSpan(timeline, before, span) {
  const s = timeline.spans;
  return {
    title: spanText(timeline, span),
    meaning: meaning(timeline, span),
    times: `${showTime(s.start[span])} to ${showTime(s.end[span])}, took ${showTime(s.end[span] - s.start[span])}`,
    wait: waitText(timeline, before, span),
  };
}

function describeIdle(timeline, i) {
  const idle = timeline.idle;
  const transfer = idle.transfer[i];
  const span = idle.span[i];
  const waits = [];
  if (span >= 0) waits.push(`before ${spanText(timeline, span)}`);
  if (transfer >= 0) waits.push(`waiting for ${transferText(timeline, transfer)}`);
  return {
    title: `idle: ${CAUSES[timeline.causes[idle.cause[i]]].name}`,
    meaning: `actor ${idle.actor[i]}`,
    times: `${showTime(idle.start[i])} to ${showTime(idle.end[i])}, ${showTime(idle.end[i] - idle.start[i])}`,
    wait: waits.join(", ") || "nothing left to run",
  };
}
