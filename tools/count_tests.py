"""Adds up the test cases of a JUnit file and prints the plain closing line."""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


# Colour codes and the like, which a test printed and XML does not allow.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def main(path):
    passed = failed = skipped = 0
    text = CONTROL.sub("", pathlib.Path(path).read_text(errors="replace"))
    for case in ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
