"""Training that is not plain backpropagation, under mpirun: end to end by the command line."""

import itertools
import json
import sys

from cli import TINY, mpirun, penstock, scratch, train
from tap import case, main


def actors_of(folder, which):
    return penstock("report", folder / f"{which}.trace.json", "--json", "-").json()["actors"]


@case
def recomputation_changes_no_bit_and_takes_the_predicted_memory():
    plain, folder, _ = train(2, steps=3)
    peak = [actor["peak_bytes"] for actor in actors_of(folder, "measured")]
    peaks = {"none": peak}
    for choice in ["none", "selective", "full"]:
        summary, folder, _ = train(2, f"recompute={choice}", steps=3)
        assert summary["losses"] == plain["losses"], choice
        assert summary["parameters_sha256"] == plain["parameters_sha256"], choice
        measured, predicted = actors_of(folder, "measured"), actors_of(folder, "predicted")
        peaks[choice] = [actor["peak_bytes"] for actor in measured]
        assert peaks[choice] == [actor["peak_bytes"] for actor in predicted], choice
        for actor in measured + predicted:
            assert (actor["recompute_s"] > 0) == (choice != "none"), (choice, actor)
    assert peaks["none"] == peak
    assert peaks["full"][0] < peaks["selective"][0] < peaks["none"][0], peaks


@case
def inference_shows_the_losses_of_the_untrained_model():
    one = train(1, "schedule.name=forward_only", steps=3)[0]
    two, folder, result = train(2, "schedule.name=forward_only", steps=3)
    assert two["losses"] == one["losses"] and two["gradient_norms"] == [None] * 3
    assert two["parameters_sha256"] == one["parameters_sha256"]
    trained = train(2, steps=1)[0]
    assert trained["losses"][0] == two["losses"][0]
    assert trained["parameters_sha256"] != two["parameters_sha256"]
    assert "norm" not in result.err and "loss" in result.err, result.err
    mean = sum(two["losses"]) / 3
    assert f"inference  mean loss {mean:.4f} over 3 steps" in result.out, result.out
    assert "->" not in result.out and "sha256" not in result.out, result.out
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in lines] == two["losses"]
    assert [line["gradient_norm"] for line in lines] == [None] * 3


TWO_BUFFERED = ["schedule.name=pipedream_2bw", 'schedule.option={"steps": 2}',
                "model=../models/tiny-llama.json", "train.optimizer.clip=0", "batch.global=8"]


@case
def asynchronous_training_uses_the_same_versions_on_any_number_of_actors():
    one = train(1, *TWO_BUFFERED, steps=3)[0]
    two, folder, result = train(2, *TWO_BUFFERED, steps=3)
    assert two["losses"] == one["losses"] and len(two["losses"]) == 3
    assert two["parameters_sha256"] == one["parameters_sha256"]
    assert two["gradient_norms"] == [None] * 3 and two["losses"][2] < two["losses"][0]
    measured, predicted = actors_of(folder, "measured"), actors_of(folder, "predicted")
    for key in ["weight_versions", "peak_bytes", "peak_in_flight"]:
        assert [actor[key] for actor in measured] == [actor[key] for actor in predicted], key
    assert [actor["weight_versions"] for actor in measured] == [2, 2]
    # Two batches of 8 sequences of 64 tokens.
    assert abs(two["tokens_per_s"] * two["step_s"] - 2 * 8 * 64) < 1e-6 * 1024
    for actor in two["actors"]:
        assert actor["messages_sent"] == 3 * 8, actor
    flush = train(2, "schedule.name=1f1b", *TWO_BUFFERED[2:], "batch.global=16", steps=3)[0]
    assert flush["losses"] != two["losses"]


@case
def local_learning_gives_the_parameters_of_one_process():
    for option, windows, model in [
        ({}, 4, "gpt"), ({"variant": "overlapping"}, 3, "gpt"),
        ({"variant": "chunked", "aux": "mlp"}, 2, "llama"),
        ({"variant": "ppll", "aux": "block"}, 4, "llama"),
    ]:
        four = ["schedule.name=local", f"schedule.option={json.dumps(option)}",
                "train.optimizer.clip=0", f"model=../models/tiny-{model}.json"]
        summary, folder, _ = train(4, *four, steps=4)
        assert summary["gradient_norms"] == [None] * 4
        assert [len(losses) for losses in summary["window_losses"]] == [windows] * 4, option
        assert [losses[-1] for losses in summary["window_losses"]] == summary["losses"]
        assert summary["losses"][3] < summary["losses"][0], option
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert [line["window_losses"] for line in lines] == summary["window_losses"]
        one = sequential(option, four[2:])
        for key in ["losses", "window_losses", "parameters_sha256"]:
            assert summary[key] == one[key], (option, key)


def sequential(option, settings):
    """The same ops on one process, microbatch by microbatch: a schedule file."""
    words = [word for item in option.items() for word in ("--option", "=".join(item))]
    schedule = penstock("generate", "local", "--actors", 4, "--microbatches", 16, *words).json()
    order = []
    for microbatch in range(16):
        ops = [op for row in schedule["order"] for op in row if op[2:] == str(microbatch)]
        order += sorted(op for op in ops if op[1] == "F")
        order += sorted((op for op in ops if op[1] != "F"), key=lambda op: (-int(op[0]), "BIWU".index(op[1])))
    schedule.update(actors=1, order=[order],
                    stages=[{"actor": 0, "part": stage} for stage in range(4)])
    path = scratch("sequential.json", json.dumps(schedule))
    return train(1, f"schedule={json.dumps({'file': str(path)})}", *settings, steps=4)[0]


@case
def queues_bound_what_waits():
    costs = json.dumps({"stages": [
        {"forward_ms": 1, "backward_ms": 1, "message": {"bytes": 64}},
        {"forward_ms": 4, "backward_ms": 4, "message": {"bytes": 64}}]})
    for capacity in [1, 3]:
        option = json.dumps({"capacity": str(capacity)})
        _, folder, _ = train(2, "schedule.name=local", f"schedule.option={option}",
                             "train.device=sleep", f"costs={costs}", "batch.global=16", steps=2)
        for which in ["measured", "predicted"]:
            trace = json.loads((folder / f"{which}.trace.json").read_text())["penstock"]
            sent = [(ready_at, 1) for _, _, _, _, _, ready_at, _, _ in trace["transfers"]]
            started = [(span[2], -1) for span in trace["spans"] if span[0].startswith("1F")]
            assert len(sent) == len(started) == 8
            waiting = list(itertools.accumulate(change for _, change in sorted(sent + started)))
            assert 1 <= max(waiting) <= capacity, (which, capacity, waiting)


@case
def what_needs_a_flush_says_so():
    text = mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--set",
                  "schedule.name=pipedream_2bw", code=1).err
    assert text.count("a flush is required") == 1, text
    words = [word for setting in TWO_BUFFERED[:3] for word in ("--set", setting)]
    text = mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", *words, code=1).err
    assert text.count("train.optimizer.clip: gradients are clipped by the norm") == 1, text
    assert "set train.optimizer.clip to 0" in text, text


@case
def a_sleeping_run_recomputes_as_the_costs_say():
    costs = ('{"uniform": {"forward_ms": 0.2, "backward_ms": 0.2, "recompute_ms": 0.4, '
             '"activation_bytes": 1000, "message": {"bytes": 64}}}')
    _, folder, _ = train(2, "train.device=sleep", "recompute=full", f"costs={costs}", steps=2)
    for actor in actors_of(folder, "measured"):
        assert actor["recompute_s"] >= 16 * 0.0004, actor
    lacking = costs.replace('"recompute_ms": 0.4, ', "")
    text = penstock("train", TINY, "--set", "train.device=sleep", "--set", "recompute=full", "--set",
                    f"costs={lacking}", code=1).err
    assert "R of stages 0 to 3 has no duration" in text, text


if __name__ == "__main__":
    sys.exit(main())
