#!/usr/bin/env python3
"""Writes files into a C++ source as std::string_view constants.

usage: embed.py OUT.cc NAME=FILE...   (NAME becomes penstock::assets::NAME; files are joined by +)
"""

import pathlib
import sys


def constant(name, content):
    numbers = ",".join(str(byte) for byte in content)
    return (
        f"const unsigned char {name}_bytes[] = {{{numbers}}};\n"
        f"const std::string_view {name}(reinterpret_cast<const char*>({name}_bytes), {len(content)});\n"
    )


def main():
    out, *assets = sys.argv[1:]
    parts = ['#include "report/assets.h"\n\nnamespace penstock::assets {\n']
    for asset in assets:
        name, files = asset.split("=", 1)
        content = b"\n".join(pathlib.Path(file).read_bytes() for file in files.split("+"))
        parts.append(constant(name, content))
    parts.append("}  // namespace penstock::assets\n")
    pathlib.Path(out).write_text("".join(parts))


if __name__ == "__main__":
    main()
