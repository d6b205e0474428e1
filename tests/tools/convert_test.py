"""penstock convert: formats in and out, and other programs' runs."""

import json
import pathlib
import sys

from cli import ROOT, penstock, scratch, scratch_folder
from tap import case, main


@case
def convert_keeps_the_flavour_of_a_torch_table():
    sizes = ["--actors", 2, "--microbatches", 3]
    for flavour in ["torch-compute", "torch-comms", "torch-fsdp"]:
        table = penstock("generate", "1f1b", *sizes, "--to", flavour).out
        output = scratch_folder() / "out.csv"
        penstock("convert", scratch("in.csv", table), "-o", output)
        assert output.read_text() == table, flavour
    output = scratch_folder() / "out.csv"
    penstock("convert", scratch("in.txt", "0: 0F0 0B0\n1: 1F0 1B0\n"), "-o", output)
    assert output.read_text() == "0F0,0B0\n1F0,1B0\n"


@case
def convert_writes_what_torch_executes():
    folder = ROOT / "tests" / "data" / "torch_csv"
    name = folder / "derived" / "zbv_p2_m4"
    lowered = pathlib.Path(f"{name}.lowered_fsdp.csv").read_text()
    assert penstock("convert", f"{name}.compute.csv", "--to", "torch-fsdp").out == lowered
    zb1p = folder / "upstream_artifacts" / "zb1p_2rank_2stagep_compute.csv"
    merged = penstock("convert", zb1p, "--merge-backward", "--to", "torch-comms").out
    assert merged == zb1p.with_name("zb1p_2rank_2stagep_comms.csv").read_text()
    # What a table cannot hold comes with the reason.
    for words, reason in [(["chimera", "--actors", 4, "--microbatches", 4], "it has 2 routes"),
                          (["dualpipe", "--actors", 4, "--microbatches", 8], "it has 2 routes")]:
        text = penstock("generate", *words, "--to", "torch-fsdp", code=1).err
        assert f"torch-fsdp cannot hold it: {reason}" in text, text


@case
def a_converted_text_is_named_as_its_file():
    folder = scratch_folder()
    (folder / "mine.txt").write_text("0: 0F0 0B0\n")
    penstock("convert", folder / "mine.txt", "-o", folder / "other.json")
    assert json.loads((folder / "other.json").read_text())["name"] == "mine"


@case
def torch_to_torch_keeps_every_cell_of_a_table_that_is_no_schedule():
    table = "0F0,,0I0,0W0\n,1F0,1B0,1W0\n"
    assert penstock("convert", "-", "--to", "torch-compute", stdin=table).out == table
    assert "1B0" in penstock("convert", "-", "--to", "json", stdin=table, code=1).err


@case
def convert_writes_json_by_default():
    mine = scratch("mine.txt", "0: 0F0 0B0\n")
    assert penstock("convert", mine).out == penstock("convert", mine, "--to", "json").out


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
    assert order == "# schedule: torch\n0: 0F0 0B0\n1: 1F0 1B0\n", order
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



# Two actors, 1F1B, three microbatches: what docs/formats.md reads.
SAMPLE = [[("0F0", 0, 10), ("0F1", 10, 10), ("0B0", 40, 20), ("0F2", 60, 10), ("0B1", 80, 20),
           ("0B2", 120, 20)],
          [("1F0", 10, 10), ("1B0", 20, 20), ("1F1", 40, 10), ("1B1", 50, 20), ("1F2", 75, 10),
           ("1B2", 90, 20)]]


def with_sends(marks):
    """torch marks a rank's sends, too: they tell of the stage at the other end."""
    sent = [(f"{op[0]}SEND_{op[1:]}", start + length, 1) for op, start, length in marks
            if op[:2] in ("0F", "1B")]
    return sorted(marks + sent, key=lambda mark: mark[1])



@case
def the_sample_traces_are_a_run():
    folder = ROOT / "tests" / "data" / "kineto"
    files = [folder / f"rank{rank}.json" for rank in range(2)]
    for rank, marks in enumerate(SAMPLE):
        assert json.loads(files[rank].read_text()) == json.loads(
            torch_trace("rank.json", rank, with_sends(marks)).read_text())
    order = penstock("convert", "--from", "kineto", *files, "--to", "text").out
    assert "0: 0F0 0F1 0B0 0F2 0B1 0B2\n1: 1F0 1B0 1F1 1B1 1F2 1B2\n" in order, order
    for one in files:
        text = penstock("report", "--from", "kineto", one, code=1).err
        assert "every rank of the pipeline" in text and "add it there" not in text, text


if __name__ == "__main__":
    sys.exit(main())
