"""Files and names of any kind: links, bytes that are no text, floods of problems."""

import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

from cli import PENSTOCK, ROOT, penstock, scratch, scratch_folder
from tap import case, main


@case
def a_link_is_written_through():
    folder = scratch_folder()
    (folder / "real.txt").write_text("old")
    (folder / "link.txt").symlink_to("real.txt")
    (folder / "new.txt").symlink_to("not_there_yet.txt")
    for name, target in [("link.txt", "real.txt"), ("new.txt", "not_there_yet.txt")]:
        penstock("generate", "1f1b", "-o", folder / name)
        assert (folder / name).is_symlink()
        assert "0F0" in (folder / target).read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["link.txt", "new.txt",
                                                             "not_there_yet.txt", "real.txt"]
    assert "0F0" in penstock("generate", "1f1b", "--to", "text", "-o", "/dev/stdout").out
    assert pathlib.Path("/dev/stdout").is_symlink()


@case
def names_of_any_bytes_make_an_svg_that_opens():
    schedule = json.loads(penstock("generate", "1f1b", "--to", "json").out)
    for name in ["\u00e9" * 200, "x" + "\u00e9" * 200, "\U0001f40e" * 99, "xyz" + "\U0001f40e" * 99,
                 "a\ufffeb\uffffc\u0000d\u007f<&\"", "\ud83d\udc0e"]:
        path = scratch("named.json", json.dumps({**schedule, "name": name}))
        svg = path.parent / "named.svg"
        penstock("draw", path, "--svg", svg)
        xml.etree.ElementTree.fromstring(svg.read_bytes())
        penstock("draw", path).out.encode()
    path = os.fsencode(scratch_folder()) + b"/caf\xe9.txt"
    pathlib.Path(os.fsdecode(path)).write_text("0: 0F0 0B0\n")
    svg = scratch_folder() / "bytes.svg"
    subprocess.run([PENSTOCK.encode(), b"draw", path, b"--svg", bytes(svg)], check=True, cwd=ROOT)
    xml.etree.ElementTree.fromstring(svg.read_bytes())


@case
def a_thoroughly_wrong_file_is_told_in_short():
    count = 20000
    flood = {"flood.txt": "0: " + "x " * count, "flood.csv": "0F0," + "x," * count,
             "flood.json": json.dumps({"penstock_schedule": 1, "actors": 1, "microbatches": 1,
                                       "stages": [{"actor": 0, "part": 0}], "order": [["x"] * count]}),
             "keys.json": json.dumps({"penstock_schedule": 1, **{f"k{i}": 0 for i in range(count)}}),
             "far.txt": "0: " + "0F2000000 " * count}
    for name, content in flood.items():
        text = penstock("check", scratch(name, content), code=1).err
        assert text.count(name) == 100, (name, text.count(name))
        assert "there may be more problems" in text, name


@case
def help_names_every_format_and_every_cost():
    def known(*words, code):
        return penstock(*words, code=code).err.split("known: ")[1].splitlines()[0].split(", ")

    formats = known("convert", "x.json", "--to", "zzzzzzzzzzz", code=2)
    text = penstock("convert", "--help").out
    assert len(formats) > 5 and all(f" {name}" in text for name in formats), (formats, text)
    costs = known("simulate", "--schedule", "1f1b", "--costs", "zzzzzzzz=1", code=1)
    text = penstock("simulate", "--help").out
    assert len(costs) > 10 and all(f"{name}=" in text for name in costs), (costs, text)


if __name__ == "__main__":
    sys.exit(main())
