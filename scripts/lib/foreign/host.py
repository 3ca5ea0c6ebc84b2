# SPDX-License-Identifier: MIT
"""Where a test runs: its environment in each mode, the warm-up beside it, a bound on its time."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODES = ("off", "auto", "cork", "coalesce")
WARM_UP = Path(__file__).resolve().parents[3] / "tests/company/warm_up.c"


@dataclass(frozen=True)
class Host:
    """LD_PRELOAD of a run: the library in every mode but `bare`, the warm-up (None: without) always."""
    library: Path
    warm_up: Path | None = None

    def variables(self, mode, reports=None):
        """The variables of a run beside this process's own."""
        preloads = [self.warm_up] if self.warm_up else []  # in front: constructors run from the back
        env = {}
        if mode != "bare":
            preloads.append(self.library)
            env["UNSTALL_MODE"] = mode
            if reports:
                env["UNSTALL_REPORT"] = f"{reports}/%p.json"
        if preloads:
            env["LD_PRELOAD"] = ":".join(map(str, preloads))
        return env

    def environment(self, mode, reports=None):
        """All of a run's environment."""
        return plain_environment() | self.variables(mode, reports)

    def complaint(self):
        """The faults of the preloads, asked before any result is believed; empty if there are none."""
        probe = "print(open('/proc/self/maps').read())"
        for mode in ("bare", "auto", "coalesce"):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, "-c", probe], env=self.environment(mode, folder),
                                      capture_output=True, text=True, check=False)
                facts = list(reports(folder))
            if (self.library.name in done.stdout) != (mode != "bare") or done.returncode != 0:
                return f"{self.library} is not loaded into {sys.executable} as {mode} asks for"
            if self.warm_up and self.warm_up.name not in done.stdout:
                return f"{self.warm_up} is not loaded into {sys.executable}"
            if self.warm_up and mode != "bare" and not any(kept(one) + one["late_pushes"] for one in facts):
                return f"the warm-up leaves the library asleep in {mode}"
        return ""


def plain_environment():
    """This process's variables, except any that could change a test."""
    return {name: value for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("UNSTALL_", "PYTHON"))}


def compile_warm_up(folder):
    """The warm-up's library, made in `folder`."""
    made = Path(folder, "warm-up.so")
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-shared", "-fPIC", str(WARM_UP),
                    "-o", str(made)], check=True)
    return made


def reports(folder):
    """The sums of the library's own reports of all processes."""
    for path in Path(folder).glob("*.json"):
        try:
            yield json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue


def kept(facts):
    """The writes that were held or buffered, of a report."""
    return facts["held_writes"] + facts["buffered_writes"]


def run_bounded(command, env, limit, cwd=None):
    """Run a command in a session of its own; (exit status or None when its time was up, its output).

    Processes that the command leaves behind are ended.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        with subprocess.Popen([str(word) for word in command], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=output, start_new_session=True) as process:
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end_session(process)
        output.seek(0)
        return status, output.read()


def end_session(process):
    """End a command and all processes that it left behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
