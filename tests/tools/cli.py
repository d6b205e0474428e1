"""Runs the program for the command-line tests."""

import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENSTOCK = os.environ.get("PENSTOCK", str(ROOT / "build" / "tools" / "penstock"))
CONFIGS = ROOT / "configs"
TINY = CONFIGS / "training" / "tiny-gpt.json"


def environment():
    """The caller's, plus what tools/env.sh sets, without colour."""
    script = ". tools/env.sh && env -0"
    listing = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, check=True).stdout
    pairs = (entry.split("=", 1) for entry in listing.decode().split("\0") if "=" in entry)
    return dict(pairs)


ENVIRONMENT = environment()
SCRATCH = tempfile.TemporaryDirectory(prefix="penstock-")


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        return json.loads(self.out)


def penstock(*words, stdin="", code=0, timeout=60, env=None):
    """Runs one verb; fails unless it exits with `code`."""
    return run([PENSTOCK, *map(str, words)], stdin, code, timeout, env)


def mpirun(processes, *words, code=0, timeout=120, env=None):
    return run(["mpirun", "-n", str(processes), PENSTOCK, *map(str, words)], "", code, timeout, env)


def run(command, stdin, code, timeout, env=None):
    process = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout,
                             cwd=ROOT, env={**ENVIRONMENT, **(env or {})})
    result = Result(process)
    codes = code if isinstance(code, tuple) else (code,)
    assert result.code in codes, (
        f"{' '.join(command)}\nexit code {result.code}, expected {code}\n"
        f"stdout: {result.out[-3000:]}\nstderr: {result.err[-3000:]}")
    return result


def scratch(name, content):
    """A file with `content` in a fresh folder."""
    path = scratch_folder() / name
    path.write_text(content)
    return path


def scratch_folder():
    """A fresh folder, gone when the tests end."""
    return pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name))


def train(processes, *settings, config=TINY, steps=5):
    """Trains under mpirun; the summary, the folder with all files, and what was printed."""
    folder = scratch_folder()
    words = [word for setting in settings for word in ("--set", setting)]
    result = mpirun(processes, "train", config, "--set", f"parallel.pipeline={processes}", "--set",
                    f"train.steps={steps}", *words, "--out", folder)
    return json.loads((folder / "summary.json").read_text()), folder, result
