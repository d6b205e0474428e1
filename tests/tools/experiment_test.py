"""Experiment files: every problem at once, each with its place and a hint."""

import json
import sys

from cli import CONFIGS, penstock, scratch
from tap import case, main

GOOD = {
    "penstock": 1,
    "parallel": {"pipeline": 4},
    "batch": {"global": 8, "micro": 1},
    "schedule": {"name": "1f1b"},
    "costs": {"uniform": {"forward_ms": 1, "backward_ms": 2}},
}


def experiment(**changes):
    return scratch("experiment.json", json.dumps({**GOOD, **changes}))


def complaint(**changes):
    path = experiment(**changes)
    return penstock("simulate", path, code=1).err.replace(str(path), "FILE")


@case
def a_good_one_simulates():
    report = penstock("simulate", experiment(), "--json", "-").json()
    assert abs(report["makespan_s"] - 0.033) < 1e-12


@case
def set_overrides_a_key():
    report = penstock("simulate", experiment(), "--set", "batch.global=16", "--set",
                      "schedule.name=gpipe", "--json", "-").json()
    assert abs(report["makespan_s"] - 0.057) < 1e-12
    assert report["schedule"] == "gpipe"


@case
def set_without_a_key_or_through_a_number_is_refused():
    for setting in ["nothing", "=4", "penstock.x=1", "a..b=1"]:
        assert setting in penstock("simulate", experiment(), "--set", setting, code=1).err


@case
def unknown_keys_come_with_the_nearest():
    text = complaint(paralel={}, batch={"globl": 3})
    assert "FILE:/paralel: unknown key 'paralel'\n  hint: did you mean 'parallel'?" in text, text
    assert "FILE:/batch/globl: unknown key 'globl'\n  hint: did you mean 'global'?" in text, text


@case
def what_names_no_file_is_reported_at_its_place():
    for changes, place in [({"model": 7}, "/model"), ({"model": ""}, "/model"),
                           ({"costs": {"file": 7}}, "/costs/file"),
                           ({"costs": {"file": ""}}, "/costs/file"),
                           ({"schedule": {"file": ""}}, "/schedule/file")]:
        text = complaint(**changes)
        assert text.startswith(f"FILE:{place}: ") and "cannot be read" not in text, text


@case
def a_layout_without_a_model_is_refused():
    text = complaint(schedule={"name": "1f1b", "layout": "Et|t|t|tL"})
    assert "no 'model'" in text, text


@case
def sizes_that_do_not_divide_name_both_numbers():
    assert "global (8) is not a multiple of micro (3)" in complaint(batch={"global": 8, "micro": 3})


@case
def what_is_not_supported_is_refused_by_name():
    assert "FILE:/baselines: 'baselines' is not supported" in complaint(baselines=["fsdp"])
    path = experiment(parallel={"pipeline": 2, "tensor": 2, "data": 2, "context": 2, "expert": 2,
                                "sequence": True, "zero": 1}, precision="bf16")
    for verb in ["train", "profile"]:
        text = penstock(verb, path, code=1).err.replace(str(path), "FILE")
        for key in ["parallel/tensor", "parallel/data", "parallel/context", "parallel/expert",
                    "parallel/sequence", "parallel/zero", "precision"]:
            assert f"FILE:/{key}: " in text, (key, text)


@case
def wrong_types_and_ranges_are_all_reported():
    text = complaint(parallel={"pipeline": -4, "chunks": "two"}, batch={"global": 1e30, "micro": 0},
                     schedule=7)
    for key in ["parallel/pipeline", "parallel/chunks", "batch/global", "batch/micro", "schedule"]:
        assert f"FILE:/{key}" in text, (key, text)


@case
def a_refused_number_is_not_reasoned_about():
    for batch in [{"global": 0, "micro": 4}, {"global": "8", "micro": 4}, {"global": 9, "micro": 0}]:
        assert complaint(batch=batch).count("FILE:") == 1, complaint(batch=batch)


@case
def recompute_is_an_op_of_the_schedule():
    costs = {"uniform": {"forward_ms": 1, "backward_ms": 2, "recompute_ms": 0.5,
                         "activation_bytes": 100, "message": {"bytes": 10}}}
    for choice, seconds in [("none", 0), ("selective", 0.004), ("full", 0.004)]:
        report = penstock("simulate", experiment(costs=costs, recompute=choice), "--json", "-").json()
        for actor in report["actors"]:
            assert abs(actor["recompute_s"] - seconds) < 1e-12, actor
    assert report["actors"][1]["peak_bytes"] == 3 * 10 + 90, report["actors"]
    text = complaint(recompute="ful")
    assert "FILE:/recompute: unknown choice 'ful'\n  hint: did you mean 'full'?" in text, text
    assert "FILE:/recompute: expected a string" in complaint(recompute=1)
    assert "R of stages 0 to 3 has no duration" in complaint(recompute="full")


@case
def asynchronous_steps_count_their_tokens():
    report = penstock("simulate", experiment(schedule={"name": "pipedream_2bw", "option": {"steps": 4}},
                                             batch={"global": 8, "micro": 2, "sequence": 16}),
                      "--json", "-").json()
    assert abs(report["makespan_s"] - 0.003 * (4 * 4 + 3)) < 1e-12
    assert abs(report["tokens_per_s"] * report["makespan_s"] - 4 * 8 * 16) < 1e-6
    assert [actor["weight_versions"] for actor in report["actors"]] == [2, 2, 2, 2]


@case
def costs_are_checked():
    assert "FILE:/costs" in complaint(costs={"uniform": {"forward_ms": -1, "backward_ms": 2}})
    assert "FILE:/costs" in complaint(costs={"uniform": {"forward_ms": 1}})
    assert "absent.json" in complaint(costs={"file": "absent.json"})


@case
def costs_of_no_stage_count_beside_uniform():
    one = {"forward_ms": 1, "backward_ms": 2}
    rest = {"latency_ms": 3, "overlap_fb_ms": 7, "global_norm_ms": 5, "machine": {"cores": 2}}
    reports = [penstock("simulate", experiment(costs={**rest, **costs}), "--json", "-").json()
               for costs in [{"uniform": one}, {"stages": [one] * 4}]]
    file = scratch("costs.json", json.dumps({**rest, "stages": [one] * 4}))
    reports.append(penstock("simulate", experiment(costs={"file": str(file)}), "--json", "-").json())
    assert reports[0] == reports[1] == reports[2]
    plain = penstock("simulate", experiment(), "--json", "-").json()["makespan_s"]
    assert reports[0]["makespan_s"] > plain + 6 * 0.003 + 0.005 - 1e-9, reports[0]["makespan_s"]


@case
def problems_of_costs_stand_at_their_place():
    for costs, place in [({"uniform": {"forward_msx": 1}}, "/costs/uniform/forward_msx"),
                         ({"stages": [{"forward_msx": 1}]}, "/costs/stages/0/forward_msx"),
                         ({"uniform": 7}, "/costs/uniform"),
                         ({"uniform": {"forward_ms": -1}}, "/costs/uniform/forward_ms"),
                         ({"uniform": {}, "latency": 1}, "/costs/latency"),
                         ({"uniform": {}, "stages": []}, "/costs"), ({"latency_ms": 1}, "/costs")]:
        assert complaint(costs=costs).startswith(f"FILE:{place}: "), complaint(costs=costs)
    text = complaint(costs={"file": "c.json", "latency_ms": 1})
    assert "FILE:/costs/latency_ms: stands beside 'file'\n  hint: it belongs into that file" in text


@case
def a_schedule_file_brings_its_own_sizes():
    path = scratch("mine.txt", "0: 0F0 2F0 2B0 0B0\n1: 1F0 3F0 3B0 1B0\n")
    sizes = {"parallel": {"pipeline": 2}, "batch": {"global": 1}}
    good = experiment(schedule={"file": str(path)}, **sizes)
    assert penstock("simulate", good, "--json", "-").json()["schedule"] == "mine"
    text = complaint(schedule={"file": str(path), "option": {"nonsense": 1}, "slices": 4}, **sizes)
    for key in ["option", "slices"]:
        assert f"FILE:/schedule/{key}: is for a schedule that is generated" in text, text
    penstock("simulate", good, "--set", "parallel.chunks=2")
    text = complaint(schedule={"file": str(path)}, batch={"global": 1},
                     parallel={"pipeline": 2, "chunks": 7})
    assert "FILE:/parallel/chunks: asks for 14 stages, but" in text and "has 4" in text, text


@case
def whole_numbers_are_compared_as_such():
    for seed in [2**63, 2**64 - 1, 2**70, 9.3e18, -1]:
        assert "FILE:/train/seed: " in complaint(train={"seed": seed}), seed
    for seed in [0, 4.0, 2**63 - 1]:
        penstock("simulate", experiment(train={"seed": seed}))


@case
def without_costs_simulate_says_how_to_measure_them():
    changed = {k: v for k, v in GOOD.items() if k != "costs"}
    text = penstock("simulate", scratch("e.json", json.dumps(changed)), code=1).err
    assert "penstock profile" in text, text


@case
def a_broken_file_names_line_and_column():
    path = scratch("broken.json", '{"penstock": 1,\n  "name": }\n')
    assert f"{path}:2:11" in penstock("simulate", path, code=1).err


@case
def deep_nesting_and_other_json_are_refused():
    for content in ["[" * 100000, "[]", "7", "", "{}", '{"penstock": 2}', '{"penstock": "1"}']:
        penstock("simulate", scratch("odd.json", content), code=1)


@case
def a_schedule_file_must_agree_with_the_sizes():
    penstock("generate", "1f1b", "--actors", 2, "--microbatches", 4, "-o",
             (path := experiment(schedule={"file": "mine.json"})).parent / "mine.json")
    text = penstock("simulate", path, code=1).err
    assert "asks for 4 actors" in text and "asks for 8 microbatches" in text, text


@case
def more_parts_than_layers_is_refused():
    text = penstock("simulate", CONFIGS / "training" / "tiny-gpt.json", "--set",
                    "parallel.pipeline=40", code=1).err
    assert "40" in text and "16" in text, text


@case
def a_generators_refusal_names_the_experiment():
    assert "FILE:/schedule" in complaint(schedule={"name": "interleaved_1f1b"},
                                         parallel={"pipeline": 4, "chunks": 2},
                                         batch={"global": 11})


@case
def slices_are_the_sequence():
    text = complaint(schedule={"name": "seq1f1b", "option": {"tokens": [3, 3]}},
                     batch={"global": 8, "micro": 1, "sequence": 8})
    assert "FILE:/schedule: slices of 3, 3 tokens add up to 6, the sequence has 8" in text, text
    assert "hint: 4, 4 would do" in text, text


@case
def slices_of_a_file_are_the_sequence():
    path = experiment(schedule={"file": "sliced.json"}, batch={"global": 8, "sequence": 64})
    for lengths, hint in [("30,30", "32 tokens each"), ("20,20,20", "21 tokens, and 22 for the first 1")]:
        penstock("generate", "seq1f1b", "--actors", 4, "--microbatches", 8, "--option",
                 f"tokens={lengths}", "-o", path.parent / "sliced.json")
        text = penstock("simulate", path, code=1).err
        assert "sliced.json:/microbatches/7/slice_tokens: the slices of microbatch 7 add up to 60" in text, text
        assert "batch.sequence is 64" in text and hint in text, text


SPLIT = {"uniform": {"forward_ms": 1, "backward_input_ms": 1, "backward_weight_ms": 1}}


@case
def a_searched_schedule_is_made_for_the_runs_costs():
    path = experiment(schedule={"name": "zb_1p"}, costs=SPLIT)
    report = penstock("simulate", path, "--json", "-").json()
    assert abs(report["makespan_s"] - 0.027) < 1e-12, report["makespan_s"]
    # Of the command line where it gives some: as generated for them.
    costs = ["--costs", "F=1,I=3,W=2,latency=0.5"]
    sizes = ["--actors", 4, "--microbatches", 8]
    wanted = penstock("simulate", "--schedule", "zb_1p", *sizes, *costs, "--json", "-").json()
    report = penstock("simulate", path, *costs, "--json", "-").json()
    assert report["makespan_s"] == wanted["makespan_s"]
    assert report["critical_path"] == wanted["critical_path"]


@case
def a_searched_schedule_without_costs_says_where_to_give_them():
    changed = {k: v for k, v in GOOD.items() if k != "costs"} | {"schedule": {"name": "zb_2p"}}
    path = scratch("searched.json", json.dumps(changed))
    text = penstock("simulate", path, code=1).err
    assert f"{path}:/costs: zb_2p is made for given costs, and there are none" in text, text
    assert '{"file": "costs.json"}' in text, text
    text = complaint(schedule={"name": "zb_2p"})
    assert "FILE:/costs: I of stages 0 to 3 has no duration" in text, text


@case
def slices_of_unknown_length_are_even():
    costs = {"uniform": {"forward_ms": [1, 1, 1], "backward_ms": [2, 2, 2]}}
    path = experiment(schedule={"file": "sliced.txt"}, costs=costs,
                      batch={"global": 8, "sequence": 64})
    penstock("generate", "seq1f1b", "--actors", 4, "--microbatches", 8, "--slices", 3, "--to", "text",
             "-o", path.parent / "sliced.txt")
    report = penstock("simulate", path, "--json", "-").json()
    assert abs(report["tokens_per_s"] * report["makespan_s"] - 8 * 64) < 1e-6, report
    text = penstock("simulate", path, "--set", "batch.sequence=2", code=1).err
    assert "add up to 3 tokens, batch.sequence is 2\n  hint: at most 2 slices" in text, text



def own_schedule():
    return scratch("mine.txt", "0: 0F0 0F1 0F2 0B0 0B1 0B2\n1: 1F0 1B0 1F1 1B1 1F2 1B2\n")


@case
def a_schedules_file_and_its_name_replace_each_other():
    mine = f"schedule.file={own_schedule()}"
    sizes = ["--set", "parallel.pipeline=2", "--set", "batch.micro=1", "--set", "batch.global=3"]
    for choice in [{"name": "1f1b"}, {"name": "interleaved_1f1b", "option": {"group": 4}},
                   {"name": "seq1f1b", "slices": 2}]:
        file = experiment(schedule=choice)
        assert penstock("simulate", file, *sizes, "--set", mine).out.startswith("mine "), choice
    file = experiment(schedule={"file": str(own_schedule())})
    assert penstock("simulate", file, "--set", "schedule.name=gpipe").out.startswith("gpipe ")
    both = penstock("simulate", file, *sizes, "--set", mine, "--set", "schedule.name=gpipe", code=1)
    assert "give either 'name' or 'file'" in both.err, both.err


@case
def sizes_that_do_not_fit_a_schedule_file_come_with_the_ones_that_do():
    file = experiment(schedule={"file": str(own_schedule())}, parallel={"pipeline": 4},
                      batch={"global": 8, "micro": 2})
    text = penstock("simulate", file, code=1).err
    assert "hint: set parallel.pipeline to 2" in text and "hint: set batch.global to 6" in text, text
    settings = ["--set", "parallel.pipeline=2", "--set", "batch.global=6"]
    assert penstock("simulate", file, *settings).out.startswith("mine ")


@case
def a_schedule_file_that_is_not_there_says_from_where_it_was_taken():
    text = penstock("simulate", experiment(), "--set", "schedule.file=nowhere.txt", code=1).err
    assert ":/schedule/file: there is no file" in text and "$PWD" in text, text


if __name__ == "__main__":
    sys.exit(main())
