"""What the report page says: a trace file's rows, and numbers as they are written."""

import json


def four_digits(value):
    size = abs(value)
    return f"{value:.{0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 3}f}"


def show_time(nanoseconds):
    for unit, size in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)]:
        if abs(nanoseconds) >= size:
            return f"{four_digits(nanoseconds / size)} {unit}"
    return f"{nanoseconds:.0f} ns"


def show_percent(ratio):
    return f"{100 * ratio:.1f} %"


def show_difference(percent):
    sign = "" if f"{abs(percent):.1f}" == "0.0" else "−" if percent < 0 else "+"
    return f"{sign}{abs(percent):.1f} %"


class Trace:
    """The rows of a trace file, by name."""

    def __init__(self, file):
        data = json.loads(file.read_text())["penstock"]
        self.actors = data["actors"]
        self.transfers = data["transfers"]
        self.spans = [dict(zip(["label", "actor", "start", "end", "awaits"], row)) for row in data["spans"]]
        for before, span in zip([None] + self.spans, self.spans):
            first = before is None or before["actor"] != span["actor"]
            span["free"] = 0 if first else before["end"]
            span["kind"] = span["label"].split()[0] if " " in span["label"] else "".join(
                c for c in span["label"] if c in "FBIW")

    def find(self, label):
        return next(span for span in self.spans if span["label"] == label)

    def awaited(self, span):
        producer, kind, source = self.transfers[span["awaits"]][:3]
        return f"{kind} {producer} from actor {source}"
