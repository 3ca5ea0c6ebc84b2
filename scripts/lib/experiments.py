# SPDX-License-Identifier: MIT
"""The parts of scripts/experiments: experiments.py PART BUILD."""

import contextlib
import dataclasses
import json
import math
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src/analysis"))

from inference import aa  # noqa: E402
from inference.analysis import analyse, log_ratios  # noqa: E402
from inference.verdict import is_decided, judge  # noqa: E402
from record.results import Results, load  # noqa: E402

PYTHON = "/usr/bin/python3"
PROGRAMS = ROOT / "tests/experiments/programs"
DATA = ROOT / "tests/experiments/data"
THINK_MS = 2
EFFECTS = (5, 20, 100)  # percent
ROUNDS = 20             # of one experiment
EXPERIMENTS = 200


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def server(think_ms=0, pieces=1):
    """The test server; its port."""
    port = free_port()
    with subprocess.Popen([PYTHON, PROGRAMS / "server.py", str(port), str(think_ms), str(pieces)]) as child:
        try:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.02)
            yield port
        finally:
            child.kill()


def ab(build, *words, env=None, check=(0, 2)):
    """`unstall ab WORD...`: its output and its file of results."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.json"
        done = subprocess.run([build / "src/cli/unstall", "ab", "--json", path, *map(str, words)],
                              capture_output=True, text=True, env={**os.environ, **(env or {})},
                              check=False)
        if done.returncode not in check:
            sys.exit(f"unstall ab {' '.join(map(str, words))}: {done.returncode}\n{done.stderr}{done.stdout}")
        return done.stdout, json.loads(path.read_text())


def delay_library(folder):
    """The preload that makes an arm slower by a known time."""
    made = Path(folder) / "delay.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE", "-o", made, PROGRAMS / "delay.c"],
                   check=True)
    return made


def keep(name, value):
    """A recording, reduced to the values that the resampling uses."""
    for unit in value["units"]:
        unit.pop("histogram", None)
    value["analysis"] = None
    text = json.dumps({**value, "units": None}, indent=1).replace(f"{ROOT}/", "")
    units = ",\n  ".join(json.dumps(unit) for unit in value["units"])
    DATA.mkdir(exist_ok=True)
    (DATA / f"{name}.json").write_text(text.replace('"units": null', f'"units": [\n  {units}\n ]') + "\n")


def record(build):
    """Real rounds into tests/experiments/data."""
    with server(THINK_MS) as port, tempfile.TemporaryDirectory() as folder:
        client = [PYTHON, PROGRAMS / "client.py", port]
        _, value = ab(build, "--aa", "--rounds", 200, "--", *client, 20, "polite", check=(0, 6))
        keep("aa-thinking", value)
        library = delay_library(folder)
        for effect in EFFECTS:
            env = {"LD_PRELOAD": str(library), "DELAY_MODE": "auto",
                   "DELAY_US": str(round(THINK_MS * 1000 * effect / 100))}
            _, value = ab(build, "--arms", "off,auto", "--rounds", 200, "--", *client, 20, "polite", env=env)
            keep(f"ab-{effect}", value)
            print(f"ab-{effect}: recorded")
    with server() as port:
        client = [PYTHON, PROGRAMS / "client.py", port]
        _, value = ab(build, "--aa", "--rounds", 200, "--", *client, 100, "one", check=(0, 6))
        keep("aa-fast", value)
        _, value = ab(build, "--aa", "--rounds", 60, "--", *client, 12, "two", check=(0, 6))
        keep("aa-stalling", value)


def live_aa(build):
    """20 live experiments, off against off."""
    named = 0
    for number in range(20):
        with server() as port:
            _, value = ab(build, "--arms", "off,observe", "--rounds", ROUNDS, "--seed", number, "--",
                          PYTHON, PROGRAMS / "client.py", port, 50, "one") if number % 2 else \
                ab(build, "--aa", "--rounds", ROUNDS, "--seed", number, "--",
                   PYTHON, PROGRAMS / "client.py", port, 50, "one", check=(0, 6))
            named += value["analysis"]["verdict"]["kind"] == "winner"
    print(f"20 live experiments of {ROUNDS} rounds, nothing to find: {named} named a winner")


def draw(recorded, dice, rounds, shift=0.0):
    """An experiment: rounds drawn with replacement.  For A/A the arms are exchanged at random."""
    if shift is None:
        return aa.resample(recorded, dice)
    made = Results(recorded.kind, recorded.experiment, recorded.machines)
    keys = list(recorded.rounds().items())
    for block in range(rounds):
        _, units = dice.choice(keys)
        for arm, unit in units.items():
            made.units.append(dataclasses.replace(unit, block=block))
    return made


def outcome(recorded, dice, truth, sure, most=ROUNDS):
    """One resampled experiment: (verdict, does the interval cover the truth, rounds)."""
    recorded.experiment["until_sure"] = sure
    drawn = draw(recorded, dice, most)
    if truth is None or truth == 0.0:  # A/A: which of the two is called the first is chance
        for units in drawn.rounds().values():
            if dice.random() < 0.5:
                first, second = units.values()
                first.arm, second.arm = second.arm, first.arm
    used = most
    if sure:
        whole = drawn.units
        per_round = len(drawn.arms)
        for used in range(1, most + 1):
            drawn.units = whole[:used * per_round]
            if used > 5 and is_decided(analyse(drawn, describing=False), recorded.experiment["margin"]):
                break
    found = analyse(drawn, describing=False)
    contrast = found.against[0].contrast
    return judge(found, drawn), contrast.low <= truth <= contrast.high, used


def line(name, outcomes):
    """One row of the table."""
    kinds = [verdict.kind for verdict, _, _ in outcomes]
    right = sum(covers for _, covers, _ in outcomes)
    rounds = statistics.median(used for _, _, used in outcomes)
    print(f"{name:<34}{kinds.count('winner'):>7}{kinds.count('no difference'):>9}"
          f"{kinds.count('not enough data'):>8}{right:>9}{rounds:>9.0f}")


def validity(_build):
    """Resampled experiments: the arm that is found, and whether the interval covers the truth."""
    print(f"{EXPERIMENTS} experiments each{'':<16}{'winner':>8}{'no diff.':>9}{'open':>8}"
          f"{'covers':>9}{'rounds':>9}")
    names = sorted(path.stem for path in DATA.glob("*.json"))
    plans = [(name, False, ROUNDS, 0.1) for name in names] + [("ab-5", False, 200, 0.1)]
    # An effect of 5 % is `no difference larger than 10 %`: to look on, the margin must be smaller.
    plans += [(name, True, 600, 0.02) if name == "ab-5" else (name, True, 200, 0.1) for name in names]
    for name, sure, most, margin in plans:
        recorded = load(DATA / f"{name}.json")
        recorded.experiment.update(aa=False, margin=margin)
        ratios, _ = log_ratios(recorded, recorded.arms[1], recorded.arms[0], "mean")
        truth = statistics.median(ratios) if name.startswith("ab") else 0.0
        dice = random.Random(1)
        how = "until sure" if sure else f"{most} rounds"
        how += f", margin {margin * 100:g} %" if margin != 0.1 else ""
        line(f"{name}, {how}", [outcome(recorded, dice, truth, sure, most) for _ in range(EXPERIMENTS)])
    for effect in EFFECTS:
        recorded = load(DATA / f"ab-{effect}.json")
        ratios, _ = log_ratios(recorded, "auto", "off", "mean")
        print(f"truth of ab-{effect}: {THINK_MS * 10 * effect} us added, ratio "
              f"{math.exp(statistics.median(ratios)):.3f} over {len(ratios)} rounds")


@contextlib.contextmanager
def nginx():
    """The nginx of scripts/demo; its port."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)
        port = free_port()
        text = (ROOT / "scripts/demo.d/nginx.conf.in").read_text()
        conf = Path(folder) / "nginx.conf"
        conf.write_text(text.replace("@PREFIX@", folder).replace("@PORT@", str(port)))
        with subprocess.Popen(["nginx", "-p", folder, "-c", conf, "-e", f"{folder}/error.log"],
                              stderr=subprocess.DEVNULL) as child:
            time.sleep(1)
            try:
                yield port
            finally:
                child.terminate()


def said(title, output):
    """The last lines of an experiment's output."""
    print(f"== {title}")
    print(output.rstrip().replace(f"{ROOT}/", ""))
    print()


def jdk(folder, port):
    """The command that runs the JDK's own HTTP server."""
    source = ROOT / "tests/victims/jdk-httpserver/SmallServer.java"
    subprocess.run(["javac", "-d", folder, source], check=True)
    return ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp",
            folder, "SmallServer", str(port)]


def real(build):
    """Real programs."""
    with nginx() as port:
        output, _ = ab(build, "--rounds", 12, "--", PYTHON, ROOT / "scripts/demo.d/client.py", port, 40)
        said("an unmodified Python client against nginx", output)
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = jdk(folder, port)
        wrk = ["wrk", "-t1", "-c8", "-d2s", f"http://127.0.0.1:{port}/"]
        output, _ = ab(build, "--server", " ".join(command), "--ready", port, "--arms", "bare,off,auto",
                       "--rounds", 8, "--", *wrk)
        said("the JDK's HTTP server under wrk, --server", output)
        with subprocess.Popen(["sh", "-c", "sleep 3; for i in 1 2 3 4 5 6; do " + " ".join(wrk) + "; done"],
                              stdout=subprocess.DEVNULL):
            output, _ = ab(build, "--live", "--time", 14, "--", *command)
        said("the same, --live", output)
    with server() as port:
        output, _ = ab(build, "--arms", "bare,off,nodelay,auto", "--rounds", 20, "--", PYTHON,
                       PROGRAMS / "client.py", port, 200, "one")
        said("a well-behaved client", output)


def page(build):
    """A page of a real experiment in a headless Chromium: the checks of tests/pages, and pictures."""
    sys.path.insert(0, str(ROOT / "tests/pages"))
    from browser import Browser, Page, program
    from checks import SCHEMES, WIDTHS, faults
    if program() is None:
        sys.exit("page: no Chromium is installed; apt-get install chromium")
    with server() as port, tempfile.TemporaryDirectory() as folder, Browser() as browser:
        html = Path(folder) / "page.html"
        ab(build, "--html", html, "--rounds", 8, "--", PYTHON, PROGRAMS / "client.py", port, 20)
        shown = Page(browser, html)
        found = faults(shown)
        for width in WIDTHS:
            for scheme in SCHEMES:
                shown.show(width, scheme)
                picture = build / f"experiments-page-{width}-{scheme}.png"
                picture.write_bytes(shown.screenshot())
                print(picture)
    print("\n".join(found) or "no fault")
    if found:
        sys.exit(1)


PARTS = {"record": record, "aa": live_aa, "validity": validity, "real": real, "page": page}

if __name__ == "__main__":
    PARTS[sys.argv[1]](Path(sys.argv[2]))
