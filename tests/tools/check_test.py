"""check: problems of schedule files, and what their transfers get stuck on."""

import sys

from cli import penstock, scratch
from tap import case, main


@case
def check_json_lists_problems_and_exits_1():
    path = scratch("bad.txt", "0: 0F0 0B0\n1: 1B0 1F0\n")
    result = penstock("check", path, "--json", code=1)
    problems = result.json()["problems"]
    assert problems and all({"where", "what", "hint"} == set(p) for p in problems), problems
    assert str(path) in problems[0]["where"]
    assert result.err == ""


@case
def check_tells_transports_when_asked():
    text = penstock("generate", "1f1b", "--actors", 4, "--microbatches", 8, "--to", "text").out
    good, bad = scratch("good.txt", text), scratch("bad.txt", "0: 0B0 0F0\n")
    assert list(penstock("check", good, "--json").json()) == ["problems"]
    report = penstock("check", good, bad, "--transports", "--json", code=1).json()
    assert len(report["problems"]) == 1, report["problems"]
    assert {trial["file"] for trial in report["transports"]} == {str(good)}
    verdicts = {(t["lowering"], t["transport"]): t for t in report["transports"]}
    assert len(verdicts) == 20 and verdicts["linear", "rendezvous"]["what"] is None
    assert verdicts["naive", "rendezvous"]["verdict"] == "deadlock"
    assert "actor 3 waits at the send" in verdicts["naive", "rendezvous"]["what"]
    assert verdicts["naive", "pair_fifo"]["queues"] == 3
    both = penstock("check", good, good, "--transports", "--lowering", "paired").out
    assert both.count(str(good)) == 2 and "deadlock" in both, both


@case
def check_takes_several_files_and_reports_all():
    good = scratch("good.txt", "0: 0F0 0B0\n")
    bad = scratch("bad.txt", "0: 0F0 0F0 0B0\n")
    absent = "/nonexistent/schedule.json"
    result = penstock("check", good, bad, absent, code=1)
    assert str(bad) in result.err and absent in result.err and str(good) not in result.err
    penstock("check", good)


@case
def a_policy_alone_or_unknown_is_wrong_usage():
    penstock("check", "mine.json", "--lowering", "naive", code=2)
    penstock("check", "mine.json", "--transports", "--lowering", "lineal", code=2)


if __name__ == "__main__":
    sys.exit(main())
