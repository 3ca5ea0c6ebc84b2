# SPDX-License-Identifier: MIT
"""The cases of same/, each bare and in every mode: a program sees the same with the library as without.

`off` among them is the proof of the surface: there an exported name forwards, and does nothing else.
"""

import functools
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import MODES, bare_env, compile_c, mode_env

FILES = sorted((Path(__file__).parent / "same").glob("*.c"))
STATES = ("cold", "warm", "holding")
AT_ONCE = 4
LIMIT = 30  # seconds for a case
WINDOW_US = 100000  # long enough that what is held is held while the case runs

# Limits that libunstall(7) names: case -> modes.
DOCUMENTED = {
    # an inline system call; the value read back is the one that we saw set
    "set_unseen": ("nodelay", "cork", "coalesce", "auto"),
}


def outcome(binary, case, state, env):
    """(exit code or minus the signal, output, errors) of one run."""
    try:
        done = subprocess.run([binary, case, state], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return ("no end", "", "")
    return (done.returncode, done.stdout, done.stderr)


@functools.cache
def cases(source):
    """The binary of a file of cases, and their names."""
    binary = compile_c(source)
    listed = subprocess.run([binary], env=bare_env(), capture_output=True, text=True, check=True)
    return binary, listed.stdout.split()


@functools.cache
def bare(source, case, state):
    """What the bare program does."""
    return outcome(cases(source)[0], case, state, bare_env())


def without(found, line):
    """An outcome without the lines of its output that begin so."""
    code, output, errors = found
    return code, "".join(kept for kept in output.splitlines(True) if not kept.startswith(line)), errors


# In coalesce a program with one thread has a second one while bytes are held.
TASKS_AT_ONCE = "tasks at once: "


def differences(source, state, env, but=()):
    """The cases of `source` that do not do what the bare program does, each with both outcomes."""
    binary, names = cases(source)
    names = [name for name in names if name not in but]

    def compare(case):
        before, now = bare(source, case, state), outcome(binary, case, state, env)
        if env.get("UNSTALL_MODE") == "coalesce":
            before, now = without(before, TASKS_AT_ONCE), without(now, TASKS_AT_ONCE)
        return None if before == now else f"{case}\n  bare: {before}\n  now:  {now}"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [found for found in pool.map(compare, names) if found]


# In `off` the library is asleep: a connection has no state there.
IN_STATES = [(state, mode) for state in STATES for mode in MODES if mode != "off" or state == "cold"]


@pytest.mark.parametrize("state, mode", IN_STATES)
@pytest.mark.parametrize("source", FILES, ids=lambda source: source.stem)
def test_a_program_sees_the_same(source, state, mode):
    limits = [case for case, modes in DOCUMENTED.items() if mode in modes]
    found = differences(source, state, mode_env(mode, UNSTALL_WINDOW_US=WINDOW_US), limits)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("source", FILES, ids=lambda source: source.stem)
@pytest.mark.parametrize("state", STATES)
def test_the_bare_program_does_what_the_case_is_about(source, state):
    """A case that its own preparation ends compares nothing."""
    ended = [case for case in cases(source)[1] if bare(source, case, state)[0] in (2, "no end")]
    assert not ended


def test_a_difference_is_found():
    """A library that changes five calls: the cases that make them differ, and no other."""
    folder = Path(__file__).parent / "programs"
    liar = compile_c(folder / "liar.c", "-shared", "-fPIC")
    found = differences(folder / "truth.c", "cold", bare_env(LD_PRELOAD=liar))
    assert {text.split()[0] for text in found} == {
        "a_call_that_fails", "a_call_that_ends", "a_call_that_sets_an_option", "a_call_that_drops_privileges",
        "a_call_that_starts_a_task"}
