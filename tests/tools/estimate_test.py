"""Experiments on clusters: costs estimated from sizes, and everything that is wrong with them."""

import json
import sys

from cli import CONFIGS, penstock, scratch
from tap import case, main

GOOD = {
    "penstock": 1,
    "model": str(CONFIGS / "models/gpt2-124m.json"),
    "cluster": {"file": str(CONFIGS / "clusters/h100-dgx.json"), "nodes": 1},
    "parallel": {"pipeline": 2, "tensor": 2, "data": 2},
    "batch": {"global": 32, "micro": 4, "sequence": 1024},
    "precision": "bf16",
    "schedule": {"name": "1f1b"},
    "costs": {"source": "estimate"},
}


def experiment(**changes):
    return scratch("experiment.json", json.dumps({**GOOD, **changes}))


def complaint(**changes):
    path = experiment(**changes)
    return penstock("simulate", path, code=1).err.replace(str(path), "FILE")


def report(*arguments, code=0, **changes):
    return penstock("simulate", experiment(**changes), "--json", "-", *arguments, code=code).json()


@case
def the_published_experiments_are_predicted():
    listed = penstock("list", "configs").out
    for file, devices in [("gpt3-175b-jaxpp", 128), ("llama-2-70b-jaxpp", 64)]:
        run = penstock("simulate", CONFIGS / f"experiments/{file}.json", "--json", "-").json()
        assert file in listed, listed
        assert run["devices"] == devices and run["fits"] and run["problems"] == [], run
        assert 0.2 < run["mfu"] < 0.8, run["mfu"]


@case
def utilisation_follows_from_the_step():
    run = report()
    # model_full: s (6 N + 12 L h s) of 32 sequences, N without the positions, on 8 devices
    flops = 32 * 1024 * (6 * (12 * 12 * 768**2 + 768 * 50257) + 12 * 12 * 768 * 1024)
    tflops = flops / run["makespan_s"] / 8 / 1e12
    assert abs(run["tflops_per_device"] - tflops) < 1e-6 * tflops, (run["tflops_per_device"], tflops)
    assert abs(run["mfu"] - tflops / 989.4) < 1e-6
    assert abs(run["tokens_per_s"] - 32 * 1024 / run["makespan_s"]) < 1e-3
    assert run["flops_convention"] == "model_full"


@case
def microbatches_are_those_of_one_replica():
    assert report()["microbatches"] == 4
    assert report(parallel={"pipeline": 2, "tensor": 4})["microbatches"] == 8


@case
def the_parts_of_a_microbatch_add_up_to_what_its_actor_is_busy():
    run = report(recompute="full")
    for actor in run["actors"]:
        ops = 4 * sum(actor["microbatch"].values())
        assert ops <= actor["busy_s"] < 1.05 * ops, (ops, actor["busy_s"])  # and the update


@case
def replicas_add_up_their_gradients():
    alone = report(parallel={"pipeline": 8})
    shared = report(parallel={"pipeline": 2, "data": 4})
    assert all(actor["idle"]["collective_s"] > 0 for actor in shared["actors"])
    assert alone["actors"][3]["idle"]["collective_s"] < shared["actors"][1]["idle"]["collective_s"]


@case
def people_read_it_too():
    text = penstock("simulate", experiment()).out
    for words in ["MFU ", "tokens/s", "8 devices", "TFLOP/s each (model_full)", "time in ops: products"]:
        assert words in text, (words, text)


@case
def what_does_not_fit_says_by_how_much_and_what_would():
    big = {"model": str(CONFIGS / "models/gpt3-175b.json"), "batch": {"global": 128, "micro": 4, "sequence": 2048},
           "parallel": {"pipeline": 8, "tensor": 8, "data": 2},
           "cluster": {"file": str(CONFIGS / "clusters/h100-dgx.json"), "nodes": 16}}
    text = complaint(**big)
    assert "FILE: actor 0: each device needs " in text, text
    assert " GiB, H100 SXM 80 GB has 80.0 GiB: " in text and " too much\n  hint: would fit: " in text, text
    run = report(code=1, **big)
    assert run["fits"] is False and len(run["problems"]) == 1 and run["makespan_s"] > 0
    # What it proposes does fit.
    change = run["problems"][0]["hint"].removeprefix("would fit: ").split(" (")[0]
    settings = [word for one in change.split(" and ") for word in ("--set", one)]
    assert report(*settings, **big)["fits"], change


@case
def every_problem_has_place_values_and_hint():
    for changes, expected in [
        ({"parallel": {"pipeline": 2, "tensor": 2}},
         "FILE:/parallel: tensor 2 x context 1 x data 1 x pipeline 2 are 4 devices, 1 nodes of h100-dgx have 8\n"
         "  hint: all of them are used where 'nodes' is given"),
        ({"parallel": {"pipeline": 1, "tensor": 8}},
         "FILE:/parallel/tensor: 12 heads do not divide by 8\n  hint: a divisor of 12"),
        ({"parallel": {"pipeline": 2, "tensor": 2, "data": 2, "expert": 2}},
         "FILE:/parallel/expert: the model has no experts"),
        ({"parallel": {"pipeline": 8, "chunks": 2}, "schedule": {"name": "interleaved_1f1b"}},
         "FILE:/parallel: "),
        ({"precision": "bf8"}, "FILE:/precision: unknown precision 'bf8'\n  hint: known: fp32, fp16, bf16, fp8"),
        ({"gradients": "fp8"}, "FILE:/gradients: no sums are kept in fp8\n  hint: fp32, fp16 or bf16"),
        ({"precision": 16}, "FILE:/precision: expected a string"),
        ({"cluster": None}, "FILE: estimated costs need a 'cluster'\n  hint: as in"),
        ({"model": None}, "FILE: estimated costs need a 'model'\n  hint: as in"),
        ({"cluster": {"nodes": 1}}, "FILE:/cluster: 'file' is missing"),
        ({"cluster": {"file": GOOD["cluster"]["file"], "nodes": 577}}, "FILE:/cluster/nodes: 577 is out of range"),
        ({"cluster": "nowhere.json"}, "nowhere.json: "),
        ({"cluster": GOOD["cluster"]["file"], "parallel": {"pipeline": 2, "tensor": 4, "data": 1024},
          "batch": {"global": 4096, "micro": 4, "sequence": 1024}},
         "FILE:/parallel: tensor 4 x context 1 x data 1024 x pipeline 2 devices, but h100-dgx has 4608"),
        ({"cluster": str(CONFIGS / "clusters/a100-sxm-80-hdr.json"), "precision": "fp8"},
         "FILE:/precision: A100"),
        ({"batch": {"global": 36, "micro": 4, "sequence": 1024}},
         "FILE: batch.global (36) is not a multiple of batch.micro x parallel.data (4 x 2 = 8)\n"
         "  hint: 8 or 40, for example"),
        ({"parallel": {"pipeline": 2, "tensor": 2, "data": 2, "zero": 4}}, "FILE:/parallel/zero: 4 is out of range"),
        ({"parallel": {"pipeline": 2, "tensor": 2, "data": 2, "order": "tp-dp"}},
         "FILE:/parallel: 'tp-dp' is no order of ranks"),
        ({"costs": {"source": "estimat"}}, "FILE:/costs/source: unknown source 'estimat'"),
        ({"costs": {"source": "estimate", "file": "c.json"}}, "FILE:/costs: give one of"),
    ]:
        text = complaint(**changes)
        assert expected in text, (expected, text)


if __name__ == "__main__":
    sys.exit(main())
