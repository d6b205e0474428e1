"""Verbs, options, exit codes: what a script relies on."""

import json
import os
import subprocess
import sys

from cli import CONFIGS, PENSTOCK, penstock, run, scratch, scratch_folder
from tap import case, main

VERBS = ["list", "generate", "check", "convert", "draw", "simulate", "profile", "train", "report",
         "compare", "version"]
SIMULATE_FIELDS = {"makespan_s", "bubble_ratio", "bubble_ratio_span", "bubble_over_ideal",
                   "utilization", "mfu", "tokens_per_s", "actors", "critical_path", "schedule",
                   "problems", "baselines"}
ACTOR_FIELDS = {"actor", "busy_s", "utilization", "peak_in_flight", "peak_bytes", "idle"}
IDLE_FIELDS = {"warmup_s", "drain_s", "dependency_s", "p2p_s", "collective_s", "blocked_s", "data_s"}


@case
def help_names_every_verb_and_exits_0():
    text = penstock("--help").out
    assert all(verb in text for verb in VERBS), text


@case
def every_verb_has_help_within_80_columns():
    for verb in VERBS:
        text = penstock(verb, "--help").out
        assert text.startswith(f"usage: penstock {verb}"), text
        assert max(map(len, text.splitlines())) <= 80, text


@case
def no_verb_is_wrong_usage():
    assert "usage:" in penstock(code=2).err


@case
def an_unknown_verb_is_wrong_usage_with_the_nearest_one():
    assert "did you mean 'simulate'?" in penstock("simulat", code=2).err


@case
def a_verb_that_is_not_built_does_not_exist():
    for verb in ["plan", "validate", "calibrate"]:
        penstock(verb, code=2)


@case
def an_unknown_option_is_wrong_usage_with_the_nearest_one():
    result = penstock("draw", "1f1b", "--actor", "4", code=2)
    assert "--actors" in result.err, result.err
    assert result.out == ""


@case
def a_full_disk_is_a_failure():
    for words in [["list", "schedules"], ["draw", "1f1b", "--actors", "2"], ["--help"],
                  ["simulate", "--schedule", "1f1b", "--json", "-"]]:
        with open("/dev/full", "w") as full:
            process = subprocess.run([PENSTOCK, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        assert process.returncode == 3 and "standard output" in process.stderr, (words, process)


@case
def names_that_are_not_utf8_are_printed():
    folder = scratch_folder()
    path = os.fsencode(folder) + b"/caf\xe9.txt"
    with open(path, "w") as file:
        file.write("0: 0F0 0B0\n")
    for words in [[b"simulate", path, b"--json", b"-"], [b"check", path, b"--json"]]:
        json.loads(run([os.fsencode(PENSTOCK), *words], "", 0, 60).out)


@case
def wrong_values_of_options_are_wrong_usage():
    penstock("draw", "1f1b", "--actors", "four", code=2)
    penstock("draw", "1f1b", "--actors", "4.5", code=2)
    penstock("draw", "1f1b", "--actors", code=2)
    penstock("draw", "1f1b", "--actors", "4", "--actors", "5", code=2)
    penstock("draw", "1f1b", "extra", code=2)
    penstock("generate", "1f1b", "--to", "yaml", code=2)
    penstock("simulate", "--schedule", "1f1b", "--p2p", "sometimes", code=2)
    penstock("simulate", "--schedule", "1f1b", "--lowering", "lineal", code=2)
    penstock("simulate", "--schedule", "1f1b", "--slow-down", "9=2", code=2)
    penstock("simulate", "--schedule", "1f1b", "--slow-down", "0=5000", code=2)
    penstock("simulate", "--schedule", "1f1b", "--jitter", "1001", code=2)
    penstock("simulate", "--schedule", "1f1b", "--jitter", "0.1", "--seed", "-1", code=2)
    penstock("simulate", "--schedule", "1f1b", "--costs", "F=1,B=2", "--costs-file", "x", code=2)


@case
def impossible_sizes_are_the_inputs_fault():
    for words in [("--actors", "0"), ("--actors", "-3"), ("--microbatches", "0"),
                  ("--chunks", "0"), ("--microbatches", "2000000000")]:
        result = penstock("generate", "1f1b", *words, code=1)
        assert result.err.strip() and result.out == "", result.err


@case
def simulate_reads_standard_input_once():
    schedule = penstock("generate", "1f1b", "--actors", 4, "--microbatches", 8).out
    report = penstock("simulate", "-", "--costs", "F=1,B=2", "--json", "-", stdin=schedule).json()
    assert abs(report["makespan_s"] - 0.033) < 1e-12
    experiment = (CONFIGS / "training" / "sleep-p8.json").read_text()
    penstock("simulate", "-", stdin=experiment)


@case
def what_is_no_schedule_is_refused_in_bounded_memory():
    for content in ["[" * 20_000_000, '{"penstock": 1, "name": ' + "[" * 20_000_000]:
        path = scratch("deep.json", content)
        for verb in ["check", "simulate", "draw", "report"]:
            command = ["prlimit", "--as=400000000", PENSTOCK, verb, str(path)]
            assert str(path) in run(command, "", 1, 60).err
        path.unlink()


@case
def simulate_says_what_a_json_file_is_instead():
    text = penstock("simulate", CONFIGS / "models" / "tiny-gpt.json", code=1).err
    assert "neither an experiment nor a schedule" in text and len(text.splitlines()) == 2, text
    trace = scratch_folder() / "a.trace.json"
    penstock("simulate", "--schedule", "gpipe", "--trace", trace)
    assert "penstock report" in penstock("simulate", trace, code=1).err


@case
def what_takes_a_schedule_says_that_a_file_is_an_experiment():
    for verb in ["check", "draw"]:
        text = penstock(verb, CONFIGS / "training" / "tiny-gpt.json", code=1).err
        assert "an experiment, not a schedule" in text and len(text.splitlines()) == 2, text


@case
def an_unknown_schedule_is_the_inputs_fault_with_the_nearest_one():
    assert "1f1b" in penstock("generate", "1f1d", code=1).err


@case
def json_on_standard_output_is_json_alone_and_holds_the_contract():
    report = penstock("simulate", "--schedule", "1f1b", "--actors", 8, "--microbatches", 32,
                      "--costs", "F=1,B=2", "--json", "-").json()
    assert SIMULATE_FIELDS <= report.keys(), SIMULATE_FIELDS - report.keys()
    assert abs(report["makespan_s"] - 0.117) < 1e-12
    assert report["mfu"] is None and report["problems"] == [] and report["baselines"] == []
    assert len(report["actors"]) == 8
    for actor in report["actors"]:
        assert ACTOR_FIELDS <= actor.keys()
        assert IDLE_FIELDS <= actor["idle"].keys()
        total = actor["busy_s"] + sum(actor["idle"].values())
        assert abs(total - report["makespan_s"]) < 1e-9


@case
def messages_go_to_standard_error_when_json_goes_to_standard_output():
    result = penstock("simulate", "--schedule", "gpipe", "--actors", 2, "--microbatches", 2,
                      "--json", "-")
    json.loads(result.out)
    assert "no costs given" in result.err


@case
def list_json_names_every_schedule():
    names = [entry["name"] for entry in penstock("list", "schedules", "--json").json()]
    assert {"gpipe", "1f1b", "eager_1f1b", "interleaved_1f1b", "looped_bfs"} <= set(names), names
    for kind in ["models", "clusters", "configs"]:
        assert penstock("list", kind, "--json").json(), kind
    penstock("list", "schedule", code=2)


@case
def list_models_says_how_large_they_are():
    sizes = {entry["name"]: entry["summary"] for entry in penstock("list", "models", "--json").json()}
    assert sizes["gpt3-175b"].startswith("175 B parameters, 96 layers, hidden 12288"), sizes
    assert sizes["mixtral-8x7b-v0.1"].startswith("46.7 B parameters (12.9 B active), 32 layers"), sizes
    assert sizes["deepseek-v3"].startswith("671 B parameters (37.6 B active), 61 layers"), sizes
    assert sizes["gpt2-124m"].startswith("124 M parameters"), sizes


@case
def several_schedules_make_a_table_and_a_list():
    words = ["simulate", "--schedule", "gpipe,1f1b,eager_1f1b", "--actors", 4, "--microbatches", 8,
             "--costs", "F=1,B=2"]
    text = penstock(*words).out
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["gpipe", "1f1b", "eager_1f1b"]
    reports = penstock(*words, "--json", "-").json()["schedules"]
    assert [report["schedule"] for report in reports] == ["gpipe", "1f1b", "eager_1f1b"]


@case
def a_schedule_that_cannot_be_tried_leaves_the_others_their_table():
    result = run([PENSTOCK, "simulate", "--schedule", "dualpipe,1f1b", "--actors", "3", "--microbatches",
                  "8", "--costs", "F=1,B=2"], "", (1,), 60)
    rows = [line.split()[:2] for line in result.out.splitlines()[1:3]]
    assert rows == [["dualpipe", "-"], ["1f1b", "30.000"]], result.out
    assert result.err.startswith("dualpipe: actors: "), result.err
    nothing = run([PENSTOCK, "simulate", "--schedule", "dualpipe,1f1b", "--actors", "0"], "",
                  (1,), 60)
    assert nothing.out == "", nothing.out


@case
def a_large_simulation_stays_small():
    # 131,072 ops and 129,024 messages: no copy of the timeline is made. A process begins with the peak of the one
    # that started it, so that a fresh interpreter does.
    words = [PENSTOCK, "simulate", "--schedule", "1f1b", "--actors", "64", "--microbatches", "1024", "--costs",
             "F=1,B=2"]
    start = ("import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); "
             "print(os.wait4(pid, 0)[2].ru_maxrss)")
    result = run([sys.executable, "-c", start, *words], "", 0, 60)
    assert int(result.out.splitlines()[-1]) <= 40_000, result.out


@case
def schedules_of_several_steps_are_compared_by_the_step():
    one, many = penstock("simulate", "--schedule", "1f1b,pipedream_2bw", "--actors", 4,
                         "--microbatches", 8, "--costs", "F=1,B=2", "--json", "-").json()["trials"]
    assert one["makespan_s"] == 0.033
    assert abs(many["makespan_s"] - (3 * 8 * 3 + 9) / 3 / 1000) < 1e-9, many
    assert one["messages"] == many["messages"] == 48
    assert one["weight_copies"] == 1 and many["weight_copies"] == 2
    assert many["bubble_ratio"] < one["bubble_ratio"] / 2


@case
def a_sweep_says_who_overtakes_whom():
    words = ["simulate", "--schedule", "gpipe,interleaved_1f1b:chunks=2", "--actors", 4,
             "--sweep", "4:16", "--costs", "F=1,B=2,latency=0.6", "--per-actor"]
    result = penstock(*words, "--json", "-").json()
    assert [t["microbatches"] for t in result["trials"]] == [4, 4, 8, 8, 16, 16]
    assert result["schedules"] == []
    rows = penstock(*words, "--csv", "-").out.splitlines()
    assert len(rows) == 7 and rows[1].startswith("4,gpipe,"), rows
    assert "trials" in penstock(*words, "--html", "-").out
    assert penstock(*words[:6], "4:8:2", *words[7:]).out.splitlines()[3].split()[0] == "8"


@case
def a_wrong_list_of_schedules_or_sizes_is_wrong_usage():
    for schedule, sweep in [("1f1b,,gpipe", "4"), ("1f1b:chunks", "4"), ("1f1b:chunks=x", "4"),
                            ("1f1b", "0"), ("1f1b", "8:4"), ("1f1b", "a"), ("1f1b", "1:2:3:4"),
                            ("1f1b", "1:100000:1")]:
        penstock("simulate", "--schedule", schedule, "--sweep", sweep, code=2)
    penstock("simulate", "--schedule", "1f1b", "--sweep", "4:8", "--trace", "x", code=2)
    penstock("simulate", "--schedule", "1f1b", "--sweep", "4", "--microbatches", "4", code=2)
    penstock("simulate", "--schedule", "1f1b", "--per-actor", code=2)
    text = penstock("simulate", "--schedule", "1f1b,1g1b,interleaved_1f1b:grup=2", "--actors", 4,
                    "--sweep", "4", code=1).err
    assert "'1g1b'" in text and "'group'" in text, text


@case
def version_names_what_was_found():
    text = penstock("version").out
    assert text.startswith("penstock ") and "BLAS" in text and "MPI" in text, text


@case
def output_is_the_same_twice_and_has_no_colour_when_it_is_not_a_terminal():
    words = ["draw", "interleaved_1f1b", "--actors", 4, "--chunks", 2, "--microbatches", 8]
    first = penstock(*words).out
    assert first == penstock(*words, env={"TERM": "xterm-256color"}).out
    assert "\033" not in first and max(map(len, first.splitlines())) <= 80


@case
def a_name_of_a_file_that_is_not_there_says_so():
    assert "No such file" in penstock("draw", "missing/file.json", code=1).err
    assert "No such file" in penstock("simulate", "missing.json", code=1).err


@case
def help_of_a_verb_reads_either_way():
    assert penstock("help", "draw").out == penstock("draw", "--help").out
    penstock("help", "drow", code=2)
    text = penstock("version", "--json", code=2).err
    assert "it takes none" in text and "[options]" not in text, text


@case
def a_number_too_large_and_a_format_nobody_knows_say_so():
    text = penstock("generate", "1f1b", "--actors", "99999999999999999999", code=2).err
    assert "too large" in text, text
    text = penstock("generate", "1f1b", "--to", "torch-comm", code=2).err
    assert "did you mean 'torch-comms'?" in text, text


@case
def one_output_has_standard_output_for_itself():
    words = ["simulate", "--schedule", "gpipe", "--actors", 2, "--costs", "F=1,B=2"]
    for two in [("json", "html"), ("html", "trace"), ("json", "trace")]:
        penstock(*words, f"--{two[0]}", "-", f"--{two[1]}", "-", code=2)
    page = penstock(*words, "--html", "-").out
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>"), page[-200:]
    json.loads(penstock(*words, "--trace", "-").out)


@case
def options_that_would_be_ignored_are_wrong_usage():
    file = scratch("mine.txt", "0: 0F0 0B0\n")
    for words in [("simulate", file, "--actors", 4), ("draw", file, "--microbatches", 2),
                  ("simulate", CONFIGS / "training" / "sleep-p8.json", "--chunks", 2),
                  ("simulate", file, "--set", "batch.global=8"),
                  ("simulate", "--schedule", "1f1b", "--set", "batch.global=8"),
                  ("simulate", "--schedule", "1f1b,gpipe", "--trace", "/dev/null"),
                  ("simulate", "--schedule", "1f1b,gpipe", "--explain", 0)]:
        penstock(*words, code=2)


@case
def the_note_on_costs_comes_once_and_not_before_wrong_usage():
    note = "no costs given"
    assert penstock("simulate", "--schedule", "gpipe,1f1b").err.count(note) == 1
    assert note not in penstock("simulate", "--schedule", "gpipe", "--jitter", "-1", code=2).err


@case
def generate_writes_what_the_ending_says():
    folder = scratch_folder()
    sizes = ["--actors", "2", "--microbatches", "2"]
    for ending, to in [("json", "json"), ("txt", "text"), ("csv", "torch-compute"), ("other", "json")]:
        written = folder / f"s.{ending}"
        penstock("generate", "1f1b", *sizes, "-o", written)
        assert written.read_text() == penstock("generate", "1f1b", *sizes, "--to", to).out, ending


@case
def only_searched_schedules_are_made_for_costs():
    sizes = ["--actors", 3, "--microbatches", 4, "--to", "text"]
    found = penstock("generate", "zb_1p", *sizes, "--costs", "F=1,I=1,W=1").out
    assert found.startswith("# schedule: zb_1p\n0: 0F0 0F1 0F2 0I0"), found
    result = penstock("generate", "1f1b", *sizes, "--costs", "F=1,I=1,W=1", code=2)
    assert "1f1b is the same for all costs" in result.err, result.err


@case
def writing_where_nobody_can_is_a_run_failure():
    result = penstock("generate", "1f1b", "-o", "/proc/nothing/here.json", code=3)
    assert "/proc/nothing/here.json" in result.err



@case
def a_step_that_is_verified_in_the_next_one_is_called_a_period():
    words = ["simulate", "--schedule", "zb_h2", "--actors", 4, "--microbatches", 8, "--costs",
             "F=1,I=1,W=1,update=1"]
    text = penstock(*words, "--synchronization", "post_validation").out
    assert text.startswith("zb_h2 (predicted, post-validation): ") and "\nperiod " in text, text
    text = penstock(*words).out
    assert text.startswith("zb_h2 (predicted): ") and "\nstep " in text, text


@case
def a_report_on_several_schedules_says_what_it_assumed():
    words = ["simulate", "--schedule", "gpipe,1f1b", "--actors", 4, "--costs", "F=1,B=2.5"]
    for size in [["--sweep", "4:16"], ["--microbatches", 8]]:
        page = penstock(*words, *size, "--html", "-").out
        command = " ".join(map(str, ["penstock", *words[:5], *size, *words[5:]]))
        for fact in [f'["command","{command}"]', '["actors","4"]', '["costs","F=1,B=2.5"]']:
            assert fact in page, fact
    page = penstock(*words[:5], "--html", "-").out
    assert '["costs","F=1,B=2,I=1,W=1 (none given)"]' in page


@case
def what_two_costs_lack_is_hinted_at_once():
    text = penstock("simulate", "--schedule", "zb_h1", "--actors", 2, "--costs", "F=1,B=2", code=1).err
    assert text.count("hint:") == 1 and text.count("has no duration") == 2, text
    assert "give I and W" in text, text


if __name__ == "__main__":
    sys.exit(main())
