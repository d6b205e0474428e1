"""Golden outputs: each file in tests/golden begins with a command; what it prints must follow.

UPDATE_GOLDEN=1 rewrites the files; read the diff like code.
"""

import os
import shlex
import sys

from cli import PENSTOCK, ROOT, run
from tap import case, main


def output_of(command):
    words = shlex.split(command.removeprefix("$ penstock "))
    result = run([PENSTOCK, *words], "", (0, 1, 2), 60)
    tail = f"exit code {result.code}\n" if result.code else ""
    return result.out + result.err + tail


def add(path):
    def golden():
        command, _, expected = path.read_text().partition("\n")
        assert command.startswith("$ penstock "), f"{path}: line 1 is no command"
        actual = output_of(command)
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(command + "\n" + actual)
            return
        assert actual == expected, f"{command}\nexpected:\n{expected}\nprinted:\n{actual}"
        wide = "exit code" in actual or "--columns" in command  # messages wrap where they are read
        assert wide or max(map(len, actual.splitlines())) <= 80, command

    golden.__name__ = path.stem
    case(golden)


for file in sorted((ROOT / "tests" / "golden").glob("*.txt")):
    add(file)

if __name__ == "__main__":
    sys.exit(main())
