"""Files and names of any kind: links, bytes that are no text, floods of problems, other programs' runs."""

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


def torch_trace(name, rank, marks):
    events = [{"ph": "X", "cat": "user_annotation", "name": f"PP:{action}", "pid": 7, "tid": 7,
               "ts": start, "dur": length} for action, start, length in marks]
    return scratch(name, json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))


@case
def a_run_of_torch_becomes_a_trace_and_an_order():
    ranks = [torch_trace("r0.json", 0, [("0F0", 0, 10), ("0SEND_F0", 10, 1), ("0B0", 40, 20)]),
             torch_trace("r1.json", 1, [("1F0", 12, 10), ("1B0", 22, 17)])]
    output = scratch_folder() / "mine.trace.json"
    assert penstock("convert", "--from", "kineto", *ranks, "-o", output).err == ""
    report = penstock("report", output, "--json", "-").json()
    assert report["schedule"] == "mine" and report["makespan_s"] == 60e-6, report
    order = penstock("convert", "--from", "kineto", ranks[1], ranks[0], "--to", "text").out
    assert order == "# torch\n0: 0F0 0B0\n1: 1F0 1B0\n", order
    text = penstock("convert", "--from", "kineto", ranks[0], code=1).err
    assert "names stage 1, which no file ran" in text, text
    # What is wrong with each file at once.
    broken = scratch("broken.json", "{")
    text = penstock("convert", "--from", "kineto", ranks[0], broken, output, code=1).err
    assert "not valid JSON" in text and "a trace of Penstock already" in text, text
    assert "convert --from kineto" in penstock("report", ranks[0], code=1).err
    assert "convert --from kineto" in penstock("check", ranks[0], code=1).err


@case
def reports_are_made_of_other_programs_runs():
    ranks = [torch_trace("r0.json", 0, [("0F0", 0, 10), ("0B0", 40, 20)]),
             torch_trace("r1.json", 1, [("1F0", 12, 10), ("1B0", 22, 17)])]
    report = penstock("report", "--from", "kineto", *ranks, "--json", "-").json()
    assert report["schedule"] == "r0" and report["makespan_s"] == 60e-6, report
    nodes = [[{"type": kind, "microbatch": 0, "start_time": start, "completion_time": start + 2}
              for kind, start in rank] for rank in ([("F", 0), ("BW", 6)], [("F", 2), ("BW", 4)])]
    planned = scratch("planned.json", json.dumps(nodes))
    report = penstock("report", "--from", "sailsg", planned, "--json", "-").json()
    assert report["schedule"] == "planned" and report["makespan_s"] == 8e-3, report
    trace = scratch_folder() / "planned.trace.json"
    penstock("convert", "--from", "sailsg", planned, "--to", "trace", "-o", trace)
    assert penstock("report", trace, "--json", "-").json() == report
    del nodes[1][0]["start_time"]
    text = penstock("report", "--from", "sailsg", scratch("n.json", json.dumps(nodes)), code=1).err
    assert "/1/0: nodes without start_time or completion_time (1)" in text, text
    for words in [("report", "--from", "text", planned), ("report", trace, "--align"),
                  ("report", "--from", "sailsg", planned, planned),
                  ("report", "--from", "sailsg", planned, "--step", 1)]:
        penstock(*words, code=2)


@case
def clocks_of_a_run_are_said_to_differ_or_aligned():
    ranks = [torch_trace("r0.json", 0, [("0F0", 100, 10), ("0B0", 140, 20)]),
             torch_trace("r1.json", 1, [("1F0", 102, 10), ("1B0", 112, 10)])]
    text = penstock("convert", "--from", "kineto", *ranks, "--to", "trace").err
    assert "1F0 starts 8.000 us before 0F0 ends" in text and "--align" in text, text
    text = penstock("convert", "--from", "kineto", *ranks, "--to", "trace", "--align").err
    assert "its clock is shifted by 8.000 us" in text, text
    table = scratch("t.csv", "0F0,0B0\n")
    for words in [("convert", table, "--align", "--to", "json"), ("convert", table, table),
                  ("convert", table, "--step", 1, "--to", "json"),
                  ("convert", "--from", "kineto", ranks[0], "--to", "xml"),
                  ("convert", "--from", "kineto", ranks[0], "--step", "-1"),
                  ("convert", "--from", "kineto", ranks[0], "--merge-backward")]:
        penstock(*words, code=2)


if __name__ == "__main__":
    sys.exit(main())
