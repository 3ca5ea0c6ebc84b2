# SPDX-License-Identifier: MIT
"""Instructions of the hot paths under callgrind, against the numbers in instructions.json.

They are the same in every run of one binary that other processes do not delay, so that 5 % more is a fact and
not noise; another compiler, libc or optimisation makes others, which are shown but not judged.

A pause of more than 5 ms between two pieces is different: the library takes another path in the rest of that
run.  So callgrind goes before other processes where the user may set that, and `risen_for_good` counts again
what has risen.
"""

import functools
import json
import os
import platform
import re
import subprocess
import tempfile
from pathlib import Path

from .machine import BUILD, LIB, environment, program

RECORD = Path(__file__).resolve().parents[1] / "instructions.json"
ROUNDS = 256  # paths.c's own number
LIMIT = 0.05
TRIES = 8
MODES = ["auto", "coalesce", "cork", "off"]
# mode -> the most that these calls together may cost more than bare.  A new record may not exceed them.
BUDGETS = {
    "auto": {("plain_write", "plain_read"): 560, ("first_of_two", "last_of_two", "read_after_two"): 1100,
             ("pipe_read",): 16, ("pipe_write",): 16, ("poll_with_nothing_held",): 16},
    "off": {("plain_write",): 160, ("plain_read",): 60, ("plain_poll",): 16},
}


def compiled_by():
    """The machine and the compiler on which the numbers depend."""
    with open(LIB, "rb") as file:
        compiler = re.search(rb"(GCC: \([^)]*\) [\d.]+|[\w ]*clang version [\w.:+~-]+)", file.read())
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))
    chosen = {o["name"]: o["value"] for o in options}
    return {
        "compiler": compiler.group(1).decode() if compiler else "unknown",
        "optimization": chosen.get("optimization"),
        "lto": chosen.get("b_lto"),
        "sanitize": chosen.get("b_sanitize"),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
    }


@functools.cache
def before_others():
    """The words before a command that give it the processor before other processes, where the user may."""
    words = ["chrt", "--fifo", "1"]
    allowed = subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return words if allowed else []


def count(mode=None):
    """Instructions of each path of paths.c, per call; mode None: bare."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [*before_others(), "valgrind", "--tool=callgrind", "--collect-atstart=no",
                "--separate-threads=yes", f"--callgrind-out-file={folder}/out", program("paths"), str(ROUNDS)]
        env = environment(LIB if mode else None, mode)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"callgrind: {done.stderr[-500:]}")
        paths = {}
        for name in os.listdir(folder):
            dump = re.fullmatch(r"out\.\d+-01", name)
            if not dump:
                continue
            text = Path(folder, name).read_text(encoding="ascii")
            path = re.search(r"Client Request: (\w+)", text)
            if path:
                paths[path.group(1)] = int(re.search(r"^summary: (\d+)", text, re.M).group(1)) / ROUNDS
        return paths


def start(mode=None):
    """Instructions of the whole life of `true`, in a small environment."""
    env = {"PATH": os.environ["PATH"]} | ({"LD_PRELOAD": str(LIB), "UNSTALL_MODE": mode} if mode else {})
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "/bin/true"],
                          env=env, capture_output=True, text=True, timeout=120, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


@functools.cache
def bare():
    return count(), start()


def added(modes=tuple(MODES)):
    """mode -> path -> instructions added to the bare call, or to a start."""
    calls, whole = bare()
    return {mode: {path: round(n - calls[path], 1) for path, n in count(mode).items()}
            | {"start": start(mode) - whole} for mode in modes}


def recorded():
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None


def record(now):
    text = json.dumps({"made by": compiled_by(), "added": now}, indent=2, sort_keys=True)
    RECORD.write_text(text + "\n", encoding="utf-8")


def risen(before, now):
    """Lines about the paths that cost more than they did by over 5 %, and at least two
    instructions."""
    lines = []
    for mode, paths in now.items():
        for path, n in paths.items():
            was = before["added"].get(mode, {}).get(path)
            if was is not None and n > was * (1 + LIMIT) and n - was >= 2:
                lines.append(f"{mode} {path}: {was} -> {n} instructions")
    return lines


def risen_for_good(before, measure=added, tries=TRIES):
    """The lines of `risen` about the smallest of up to `tries` counts of each path, and these counts.  A path
    that has grown costs more in every run."""
    now = measure()
    for _ in range(tries - 1):
        modes = {line.split()[0] for line in risen(before, now)}
        for mode, paths in measure(tuple(modes)).items() if modes else ():
            now[mode] = {path: min(n, paths[path]) for path, n in now[mode].items()}
    return risen(before, now), now


def above_budget(counted):
    """Lines about the calls that cost more than BUDGETS allows; `counted`: mode -> path -> instructions."""
    return [f"{mode} {' + '.join(names)}: {cost:.1f} instructions, at most {most}"
            for mode, budgets in BUDGETS.items() for names, most in budgets.items()
            if (cost := sum(counted[mode][name] for name in names)) > most]
