"""A test program in Python: cases are functions, the output is TAP, which Meson counts."""

import os
import sys
import traceback

_cases = []


def case(function):
    """Decorator: registers `function`; its name, in words, names the case."""
    _cases.append(function)
    return function


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


def main():
    wanted = sys.argv[1:] if not os.environ.get("TAP_ALL") else []
    cases = [c for c in _cases if not wanted or any(w in c.__name__ for w in wanted)]
    print(f"1..{len(cases)}")
    failed = False
    for number, function in enumerate(cases, 1):
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok {number} {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} {name} # SKIP {reason}", flush=True)
        except Exception:
            failed = True
            print(f"not ok {number} {name}", flush=True)
            # Meson shows a TAP test's standard error, not what it prints.
            print(f"not ok {number} {name}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
    return 1 if failed else 0
