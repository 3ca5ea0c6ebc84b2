# SPDX-License-Identifier: MIT
"""The command explains itself in one form, and refuses unknown words."""

import json
import re
import shlex
import subprocess

import pytest

from harness import BUILD_ROOT, CC, SOURCE_ROOT, bare_env, filled_manual, run, unstall
from stats_files import make_stats_file


def verbs():
    """The names in `unstall --help`."""
    return re.findall(r"^  (\w+) ", unstall("--help").stdout, re.MULTILINE)


VERBS = verbs()


def test_help_lists_the_verbs_by_what_they_are_for():
    lines = unstall("--help").stdout.splitlines()
    titles = {line: lines[n + 1].split()[0] for n, line in enumerate(lines)
              if re.fullmatch(r"[A-Z][a-z]+:", line)}
    assert titles == {"Look:": "scan", "Cure:": "run", "Watch:": "status", "Prove:": "ab"}
    assert len(VERBS) == len(set(VERBS)) == 15


def test_the_overview_fits_a_terminal():
    assert [line for line in unstall("--help").stdout.splitlines() if len(line) > 80] == []


def test_version():
    assert re.fullmatch(r"unstall \d+\.\d+\.\d+\n", unstall("--version", check=True).stdout)
    assert unstall("-V", check=True).stdout == unstall("--version").stdout


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself_in_the_same_form(verb):
    done = unstall(verb, "--help", check=True)
    usage, summary, empty, *_ = done.stdout.splitlines()
    assert usage.startswith(f"Usage: unstall {verb} ")
    assert summary.endswith(".") and not summary.endswith("..")
    assert empty == ""
    assert done.stdout.endswith("\n\nThe manual: man unstall\n")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert summary[0].isupper()
    assert done.stderr == ""
    assert unstall("help", verb).stdout == done.stdout


@pytest.mark.parametrize("form, words", [
    ("report", ["report", "FILE"]), ("report-folder", ["report", "FOLDER"]), ("status", ["status"]),
    ("doctor", ["doctor", "/bin/true"]), ("explain", ["explain", "/etc/hostname"]),
    ("scan", ["scan", "--time", "1"])])
def test_json_names_its_form_and_the_version_of_it(form, words, tmp_path):
    """Nothing in it told a scan from a report (observe --json has both), nor a newer form from this one."""
    places = {"FILE": make_stats_file(tmp_path / "1.unstall"), "FOLDER": tmp_path}
    verb, *rest = [str(places.get(word, word)) for word in words]
    told = json.loads(unstall(verb, "--json", *rest).stdout)
    told, = told if isinstance(told, list) else [told]
    assert list(told)[:3] == ["unstall", "format", "version"]
    assert (told["format"], told["version"]) == (f"unstall-{form}", 1)
    assert f"_unstall-{form}_" in filled_manual("unstall.1").replace("\\", "")


@pytest.mark.parametrize("words, message", [
    *[([verb, "--no-such-option"], f"unstall {verb}: --no-such-option: no such option; try --help\n")
      for verb in VERBS],
    *[(line.split(), f"unstall {line.split()[0]}: {line.split()[1]}: no such option; {advice}\n")
      for line, advice in (("scan --tim 3", "did you mean --time? (--help lists all)"),
                           ("observe --tmie 3", "did you mean --time? (--help lists all)"),
                           ("run --moed off", "did you mean --mode? (--help lists all)"),
                           ("scan --j", "try --help"), ("scan --nonsense", "try --help"))],
    (["--fast"], "unstall: --fast: no such option; try --help\n"),
    (["walk"], "unstall: walk: no such verb; try --help\n"),
    (["help", "walk"], "unstall: walk: no such verb; try --help\n"),
    # "did you mean top?" for foo, stop and log; nothing for a process id
    (["foo"], "unstall: foo: no such verb; try --help\n"),
    (["stop"], "unstall: stop: no such verb; did you mean disable? (--help lists all)\n"),
    (["stats"], "unstall: stats: no such verb; did you mean status? (--help lists all)\n"),
    *[([word], f"unstall: {word}: no such verb; did you mean {verb}? (--help lists all)\n")
      for word, verb in (("check", "doctor"), ("diagnose", "doctor"), ("cure", "run"), ("list", "status"),
                         ("off", "set"))],
    (["4711"], "unstall: 4711: no such verb; for a process: unstall doctor 4711\n"),
    (["obsrve"], "unstall: obsrve: no such verb; did you mean observe? (--help lists all)\n"),
    (["help", "docter"], "unstall: docter: no such verb; did you mean doctor? (--help lists all)\n"),
    (["x" * 1000], "unstall: " + "x" * 1000 + ": no such verb; try --help\n"),
    ([""], "unstall: : no such verb; try --help\n"),
    (["env"], "unstall: env: no such verb; to run a program: unstall run -- env\n"),
    (["/usr/bin/env", "x"],
     "unstall: /usr/bin/env: no such verb; to run a program: unstall run -- /usr/bin/env\n"),
    (["--", "env"], "unstall: a verb is missing; to run a program: unstall run -- PROGRAM\n"),
])
def test_what_is_unknown_is_named(words, message):
    done = unstall(*words)
    assert (done.returncode, done.stdout, done.stderr) == (125, "", message)


def test_without_a_verb_it_says_how_to_go_on():
    done = unstall()
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr == unstall("--help").stdout


@pytest.fixture(scope="module")
def without_bpf(tmp_path_factory):
    """The command as it is built without clang: linked from the same objects, but for those with BPF."""
    folder = tmp_path_factory.mktemp("without-bpf")
    includes = [f"-I{SOURCE_ROOT}/src/{name}"
                for name in ("cli/attach", "cli/scan", "stats_file", "cli/base", "cli/stats")]
    stand_ins = []
    for source in ("attach/kernel_none.c", "scan/exact_none.c"):
        stand_ins.append(str(folder / f"{len(stand_ins)}.o"))
        run([*CC, "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *includes, "-c",
             SOURCE_ROOT / "src/cli" / source, "-o", stand_ins[-1]], bare_env(), check=True)
    told = subprocess.run(["ninja", "-C", BUILD_ROOT, "-t", "commands", "-s", "src/cli/unstall"], check=True,
                          capture_output=True, text=True).stdout
    command = [word for word in shlex.split(told.splitlines()[-1])
               if word != "-lz" and not word.endswith("/libbpf.a")]
    at = command.index("-o")
    # Those that come first decide: nothing of the archives with BPF is then asked for.
    command[at:at + 2] = ["-o", str(folder / "unstall"), *stand_ins]
    subprocess.run(command, cwd=BUILD_ROOT, check=True)
    return folder / "unstall"


@pytest.mark.parametrize("words, before", [
    (["attach", "--list"], "unstall attach: "),
    (["attach", "--port", "1"], "unstall attach: "),
    (["detach", "--all"], "unstall detach: "),
    (["scan", "--source", "exact", "--time", "1"], "unstall scan: --source exact: "),
])
def test_without_bpf_one_sentence_says_what_would_bring_it(without_bpf, words, before):
    done = run([without_bpf, *words], bare_env(), check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(before + "this build has no BPF programs; build it with clang, bpftool and "
                                  "libbpf (scripts/setup --full)")
    assert done.stderr.count("\n") == 1
