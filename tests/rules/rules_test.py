"""The house rules that a machine can check: layers, sizes, headers, formatting, words."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from tap import Skip, case, main  # noqa: E402

CODE = ["include", "src", "sim", "exec", "tools"]
# What each layer may include besides itself: include < src < sim and exec < tools.
MAY_SEE = {
    "include": [],
    "src": ["include"],
    "sim": ["include"],
    "exec": ["include"],
    "tools": ["include"],
}
LONGEST_FILE = 400
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def files(folders, *endings):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings and path.is_file():
                yield path


def tracked():
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode != 0:
        raise Skip("not a git checkout")
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


@case
def every_include_follows_the_one_way_rule():
    wrong = []
    for path in files(CODE, ".h", ".cc"):
        layer = path.relative_to(ROOT).parts[0]
        for included in INCLUDE.findall(path.read_text()):
            candidates = [ROOT / layer / included, path.parent / included]
            candidates += [ROOT / other / included for other in MAY_SEE[layer]]
            if not any(c.exists() for c in candidates):
                wrong.append(f"{path.relative_to(ROOT)} includes {included}")
    assert not wrong, "\n".join(wrong)


@case
def public_headers_pull_in_no_heavy_library():
    allowed = re.compile(r"^(penstock/[a-z0-9_]+\.h|[a-z_]+|nlohmann/json_fwd\.hpp)$")
    wrong = []
    for path in files(["include"], ".h"):
        for included in re.findall(r'#include [<"]([^>"]+)[>"]', path.read_text()):
            if not allowed.match(included):
                wrong.append(f"{path.name} includes {included}")
    assert not wrong, "\n".join(wrong)


@case
def every_header_says_what_it_is():
    wrong = [
        str(path.relative_to(ROOT))
        for path in files(CODE, ".h")
        if not path.read_text().startswith(f"// File: {path.name}.")
        or "#pragma once" not in path.read_text()
    ]
    assert not wrong, "no '// File: NAME.' line or no #pragma once: " + ", ".join(wrong)


@case
def files_stay_short():
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for path in files(CODE + ["tests"], ".h", ".cc", ".py", ".js")
        if (lines := len(path.read_text().splitlines())) > LONGEST_FILE
    ]
    assert not long, f"longer than {LONGEST_FILE} lines: " + ", ".join(long)


@case
def boost_graph_is_where_a_graph_is_needed():
    users = [p for p in files(CODE, ".h", ".cc") if "#include <boost/graph" in p.read_text()]
    needed = [ROOT / "src/clusters/link_graph.cc", ROOT / "src/deadlock_ring.cc"]
    assert users == needed, ", ".join(map(str, users))


def without_comments(text):
    return re.sub(r"^\s*//.*$|\s//(?=[ /]).*$", "", text, flags=re.M)


@case
def no_schedule_is_known_by_name_outside_the_generators():
    catalogue = (ROOT / "src/generate/catalogue.cc").read_text()
    table = catalogue[catalogue.index("kGenerators[]"):catalogue.index("};")]
    names = re.findall(r'^ {4}\{"([a-z0-9_]+)",', table, re.M)
    assert names, "the catalogue lists no schedule"
    # "local" and "forward_only" are ways to learn, too: learning.h.
    words = "|".join(re.escape(name) for name in names if name not in {"local", "forward_only"})
    word = re.compile(rf'"(?:[^"\\]|\\.)*(?<![a-z0-9_])(?:{words})(?![a-z0-9_])(?:[^"\\]|\\.)*"')
    wrong = [
        f"{path.relative_to(ROOT)}: {found.group(0)}"
        for path in files(CODE, ".h", ".cc")
        if path.parent != ROOT / "src/generate" and (found := word.search(without_comments(path.read_text())))
    ]
    assert not wrong, "\n".join(wrong)


@case
def code_is_formatted():
    tool = shutil.which("clang-format") or shutil.which("clang-format-14")
    if tool is None:
        raise Skip("clang-format is not installed")
    sources = [str(p) for p in files(CODE + ["tests"], ".h", ".cc")]
    run = subprocess.run([tool, "--dry-run", "-Werror", *sources], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[:2000]


@case
def the_repository_speaks_of_the_project_alone():
    # Written in pieces so that this file does not match itself.
    words = ["deb." + "debian.org", "pypi." + "org", "files.python" + "hosted", "registry." + "npmjs",
             "/work" + "/main", "/work" + "/wt", "/work" + "/shared"]
    wrong = []
    for path in tracked():
        if path.suffix in {".png", ".bin", ".idx"}:
            continue
        text = path.read_text(errors="replace")
        wrong += [f"{path.relative_to(ROOT)}: {word}" for word in words if word in text]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main())
