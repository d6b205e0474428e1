"""Training under mpirun, end to end: the files it leaves, bit-equality, prediction, failures."""

import json
import math
import os
import signal
import struct
import subprocess
import sys

from cli import (CONFIGS, ENVIRONMENT, PENSTOCK, ROOT, TINY, mpirun, penstock, run, scratch,
                 scratch_folder, train)
from tap import case, main

TIMING = CONFIGS / "training" / "timing-p2.json"
SLEEP = CONFIGS / "training" / "sleep-p8.json"


@case
def a_run_leaves_its_files_and_they_agree():
    summary, folder, result = train(2, steps=6)
    assert sorted(os.listdir(folder)) == ["measured.trace.json", "metrics.jsonl",
                                          "predicted.trace.json", "report.html", "summary.json"]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in lines] == summary["losses"]
    assert summary["steps"] == 6 and len(summary["actors"]) == 2
    for actor in summary["actors"]:
        assert actor["bytes_sent"] > 0 and actor["messages_sent"] > 0
    measured = penstock("report", folder / "measured.trace.json", "--json", "-").json()
    predicted = penstock("report", folder / "predicted.trace.json", "--json", "-").json()
    assert measured["makespan_s"] > 0 and predicted["makespan_s"] > 0
    assert abs(predicted["makespan_s"] - summary["predicted_s"]) < 1e-9
    expected = 100 * (summary["predicted_s"] - summary["step_s"]) / summary["step_s"]
    assert abs(summary["error_percent"] - expected) < 1e-6
    assert "predicted" in result.out and "replayed" in result.out
    page = (folder / "report.html").read_text()
    assert "src=\"http" not in page and "href=\"http" not in page


@case
def the_loss_falls_on_real_text():
    summary, _, _ = train(2, steps=30)
    losses = summary["losses"]
    assert abs(losses[0] - math.log(256)) < 0.5, losses[0]  # an untrained model knows nothing
    assert losses[-1] < 0.75 * losses[0], losses


@case
def every_schedule_and_split_gives_the_parameters_of_one_process():
    reference = train(1)[0]
    for processes, settings in [
        (2, ["schedule.name=gpipe"]),
        (4, ["schedule.name=1f1b"]),
        (4, ["schedule.name=eager_1f1b"]),
        (2, ["schedule.name=interleaved_1f1b", "parallel.chunks=2"]),
        (4, ["schedule.name=interleaved_1f1b", "parallel.chunks=2"]),
        (2, ["schedule.name=1f1b", "schedule.layout=Ettt|t*13,L"]),
        (8, ["schedule.name=1f1b"]),
    ]:
        summary = train(processes, *settings)[0]
        what = (processes, settings)
        assert summary["losses"] == reference["losses"], what
        assert summary["parameters_sha256"] == reference["parameters_sha256"], what


@case
def a_schedule_that_reverses_its_backwards_stays_within_rounding():
    reference = train(1)[0]["losses"]
    losses = train(2, "schedule.name=looped_bfs", "parallel.chunks=2")[0]["losses"]
    for ours, theirs in zip(losses, reference):
        assert abs(ours - theirs) <= 1e-5 * theirs, (losses, reference)


@case
def two_routes_over_two_copies_stay_within_rounding():
    reference = train(1)[0]["losses"]
    for processes in [2, 4]:
        summary = train(processes, "schedule.name=dualpipe")[0]
        for ours, theirs in zip(summary["losses"], reference):
            assert abs(ours - theirs) <= 1e-5 * theirs, (processes, summary["losses"], reference)
        assert len(summary["parameters_sha256"]) == 64  # both copies are equal, or there is none


@case
def both_transports_give_the_same_bits():
    folder = scratch_folder()
    hashes = set()
    for transport in ["mpi", "window"]:
        mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--set", "train.steps=3", "--out",
               folder, env={"PENSTOCK_TRANSPORT": transport})
        hashes.add(json.loads((folder / "summary.json").read_text())["parameters_sha256"])
    assert len(hashes) == 1, hashes


def best_of_three(key, processes, **options):
    """The smallest |error| in per cent: other work on the machine only ever adds to it."""
    errors = []
    for _ in range(3):
        errors.append(train(processes, **options)[0][key])
        if abs(errors[-1]) <= 1:
            break
    return min(errors, key=abs)


@case
def the_sleep_device_takes_the_time_that_was_predicted():
    summary, _, _ = train(8, config=SLEEP, steps=4)
    assert summary["prediction_source"] == "file" and summary["parameters_sha256"] is None
    # 3 * 5 ms * (16 + 8 - 1) from the given ops, and the hops that this machine was measured to take
    assert 0.345 <= summary["predicted_s"] < 0.350, summary["predicted_s"]
    for processes in [4, 8]:
        error = best_of_three("error_percent", processes, config=SLEEP, steps=8)
        assert abs(error) <= 3, (processes, error)


@case
def replaying_a_runs_own_durations_gives_its_time():
    error = best_of_three("replay_error_percent", 2, config=TIMING, steps=8)
    assert abs(error) <= 3, error


@case
def a_profile_feeds_the_simulator():
    folder = scratch_folder()
    mpirun(2, "profile", TINY, "--set", "parallel.pipeline=2", "--steps", 2, "-o", folder / "c.json")
    costs = json.loads((folder / "c.json").read_text())
    assert len(costs["stages"]) == 2 and costs["machine"]
    report = penstock("simulate", TINY, "--set", "parallel.pipeline=2", "--costs-file",
                      folder / "c.json", "--json", "-").json()
    assert report["makespan_s"] > 0 and report["tokens_per_s"] > 0


def one_message(text, fragment):
    """`fragment` once among what mpirun's own banner surrounds it with."""
    assert text.count(fragment) == 1, text


@case
def the_wrong_number_of_processes_is_one_message_with_the_command():
    result = mpirun(3, "train", TINY, code=1)
    one_message(result.err, "mpirun -n 4")
    one_message(penstock("train", TINY, code=1).err, "mpirun -n 4")


@case
def input_faults_are_one_message():
    one_message(mpirun(2, "train", "absent.json", code=1).err, "absent.json: ")
    one_message(mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--set",
                       "train.data=/absent.txt", code=1).err, "/absent.txt")
    short = scratch("short.txt", "too short")
    one_message(mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--set",
                       f"train.data={short}", code=1).err, str(short))


@case
def an_output_folder_that_cannot_be_written_is_known_before_training():
    result = mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--out", "/proc/none", code=3)
    one_message(result.err, "/proc/none")
    assert "step " not in result.err


@case
def a_token_that_the_model_lacks_is_refused_wherever_it_stands():
    tokens = [7] * 4 * 64 + [2_000_000_000] * 20 * 64
    data = scratch_folder() / "tokens.bin"
    data.write_bytes(struct.pack(f"<{len(tokens)}I", *tokens))
    settings = ["--set", "parallel.pipeline=1", "--set", f"train.data={data}", "--set",
                "train.token_bytes=4", "--set", "batch.global=2", "--set", "batch.sequence=64"]
    # Only what is read counts: the costs, and one step, are of the good tokens in front.
    penstock("profile", TINY, *settings, "-o", scratch_folder() / "costs.json")
    penstock("train", TINY, *settings, "--set", "train.steps=1")
    for steps in [3, 9]:
        result = penstock("train", TINY, *settings, "--set", f"train.steps={steps}", code=1)
        assert "2000000000" in result.err, result.err


@case
def slices_may_split_their_backwards_differently():
    for order in [["0F0", "0F0.1", "0I0.1", "0W0.1", "0B0"], ["0F0", "0F0.1", "0B0.1", "0I0", "0W0"]]:
        schedule = scratch("mixed.json", json.dumps(
            {"penstock_schedule": 1, "name": "mixed", "actors": 1, "stages": [{"actor": 0, "part": 0}],
             "routes": [[0]], "microbatches": [{"route": 0, "slice_tokens": [32, 32]}],
             "order": [order]}))
        summary, _, _ = train(1, f"schedule={json.dumps({'file': str(schedule)})}", "batch.global=2",
                              steps=2)
        assert summary["losses"][0] > 0


@case
def profiling_learns_nothing():
    # The second step of such a run has no finite loss.
    run = ["--set", "parallel.pipeline=1", "--set", "train.optimizer.lr=1e18", "--set",
           "train.optimizer.warmup_steps=0", "--set", "train.optimizer.clip=0"]
    penstock("train", TINY, *run, "--set", "train.steps=3", code=3)
    penstock("train", TINY, *run, "--set", "train.steps=1")
    penstock("profile", TINY, *run)


@case
def post_validation_gives_the_bits_of_a_flush():
    # Clips in every step of these; then never.
    for clip in [0.5, 100]:
        settings = ["schedule.name=zb_h1", f"train.optimizer.clip={clip}"]
        flush, _, _ = train(4, *settings, steps=4)
        verified, _, _ = train(4, *settings, "train.optimizer.synchronization=post_validation", steps=4)
        for key in ["losses", "gradient_norms", "parameters_sha256"]:
            assert flush[key] == verified[key], (key, flush[key], verified[key])
        resent = sum(actor["messages_resent"] for actor in verified["actors"])
        assert (resent > 0) == (clip < 1), verified["actors"]
        sent = lambda run: [(a["bytes_sent"], a["messages_sent"]) for a in run["actors"]]
        assert sent(flush) == sent(verified)


@case
def the_traced_step_is_the_one_that_is_reported():
    for steps in [4, 5, 6]:
        summary, folder, _ = train(2, steps=steps)
        traced = penstock("report", folder / "measured.trace.json", "--json", "-").json()
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        times = sorted(json.loads(line)["step_s"] for line in lines[3:])
        assert summary["step_s"] == times[(len(times) - 1) // 2]
        # A makespan begins with the first op, a step when all agreed to begin.
        assert abs(traced["critical_path"][-1]["end_s"] - summary["step_s"]) < 1e-6, summary


@case
def the_experiments_name_may_hold_any_bytes():
    folder = scratch_folder()
    copy = os.fsencode(folder) + b"/caf\xe9.json"
    config = json.loads(TINY.read_text()) | {"model": str(CONFIGS / "models" / "tiny-gpt.json")}
    del config["name"]
    with open(copy, "w") as file:
        json.dump(config, file)
    run([PENSTOCK, b"train", copy, b"--set", b"parallel.pipeline=1", b"--set", b"train.steps=1",
         b"--out", os.fsencode(folder)], "", 0, 60)
    assert json.loads((folder / "summary.json").read_text())["losses"]


@case
def a_metrics_file_that_cannot_be_written_ends_all_processes_alike():
    folder = scratch_folder()
    (folder / "metrics.jsonl").mkdir()
    for _ in range(3):
        result = mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--out", folder, code=3)
        one_message(result.err, str(folder / "metrics.jsonl"))


@case
def a_loss_that_is_no_number_ends_the_run_naming_step_actor_and_op():
    result = mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--set",
                    "train.optimizer.lr=1e18", "--set", "train.optimizer.clip=0", code=3)
    assert "step" in result.err and "actor" in result.err, result.err


@case
def a_stopped_process_ends_the_run_with_one_message():
    for transport in ["window", "mpi"]:
        command = ["mpirun", "-n", "2", PENSTOCK, "train", str(TINY), "--set",
                   "parallel.pipeline=2", "--set", "train.steps=100000"]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env={
            **ENVIRONMENT, "PENSTOCK_WATCHDOG_S": "1", "PENSTOCK_TRANSPORT": transport})
        for line in process.stderr:
            if line.startswith("step"):
                break
        children = subprocess.run(["pgrep", "-P", str(process.pid), "penstock"], text=True,
                                  capture_output=True, check=True).stdout.split()
        os.kill(int(children[1]), signal.SIGSTOP)
        err = process.communicate(timeout=60)[1]
        assert process.returncode != 0
        one_message(err, f"(process {children[1]}) has been stopped for 1 s")
        one_message(err, "the actors were")


@case
def the_command_to_use_can_be_pasted():
    result = mpirun(2, "train", TINY, "--set", 'schedule={"name": "gpipe"}', code=1)
    assert """--set 'schedule={"name": "gpipe"}'""" in result.err, result.err


@case
def what_only_other_processes_lack_is_said_too():
    # Two applications under one mpirun: rank 1 is told another file.
    result = run(["mpirun", "-n", "1", PENSTOCK, "train", str(TINY), ":", "-n", "1", PENSTOCK,
                  "train", "absent.json"], "", (1, 3), 60)
    assert result.err.strip(), "nobody spoke"


@case
def a_model_that_does_not_fit_is_refused_before_it_is_allocated():
    model = json.loads((CONFIGS / "models" / "tiny-gpt.json").read_text())
    model.update(n_embd=65536, n_layer=1000)
    path = scratch("huge.json", json.dumps(model))
    for processes in [1, 2]:
        result = mpirun(processes, "train", TINY, "--set", f"parallel.pipeline={processes}",
                        "--set", f"model={path}", code=1)
        one_message(result.err, "GiB are free")
    one_message(mpirun(2, "train", TINY, "--set", "parallel.pipeline=2", "--set",
                       "batch.global=8388608", "--set", "batch.micro=4194304", code=1).err,
                "GiB are free")


@case
def the_sleep_device_has_no_loss_to_show():
    costs = '{"uniform": {"forward_ms": 1, "backward_ms": 2}}'
    summary, _, result = train(2, "train.device=sleep", f"costs={costs}", steps=2)
    assert summary["losses"] == summary["gradient_norms"] == [None, None]
    assert "nan" not in result.err + result.out, result.err


@case
def an_empty_output_folder_is_wrong_usage():
    one_message(mpirun(2, "train", TINY, "--out", "", code=2).err, "--out needs a folder")


@case
def one_process_needs_no_launcher():
    result = run([PENSTOCK, "train", str(TINY), "--set", "parallel.pipeline=1", "--set",
                  "train.steps=1"], "", 0, 60)
    assert "measured" in result.out


if __name__ == "__main__":
    sys.exit(main())
