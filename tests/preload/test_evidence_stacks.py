# SPDX-License-Identifier: MIT
"""The writers of the pieces: patterns, their stacks and the modules, in the statistics file."""

import json
import re
import struct
import subprocess
from pathlib import Path

import pytest

from harness import (AnsweringPeer, IS_32, SOURCE_ROOT, compile_c, patiently, preload_env, program, refuses,
                     run, run_client, run_strace, stats_directory, stats_flag)

COUNT = 12
MOST = 24576
SECRET = "no-business-of-anybody"


def all_stacks_in(directory):
    """The output of dump_stacks.c for each statistics file there."""
    tool = compile_c(SOURCE_ROOT / "tests/harness/dump_stacks.c", stats_flag())
    return [json.loads(subprocess.run([tool, path], check=True, capture_output=True, text=True).stdout)
            for path in Path(directory).iterdir()]


def stacks_in(directory):
    """... of the one statistics file there."""
    (found,) = all_stacks_in(directory)
    return found


def two_places(mode, *more, count=COUNT, **variables):
    """Run two_places; gives its facts, and the writers of the pieces."""
    with stats_directory() as directory, AnsweringPeer() as peer:
        done = run_client(program("two_places"), mode, *peer.target, count, 0, *more,
                          UNSTALL_STATS=directory, SECRET=SECRET, **variables)
        return done.facts, stacks_in(directory)


def words_of(write):
    """The stack as words of the library's size."""
    data = bytes.fromhex(write["stack"])
    size, kind = (4, "I") if IS_32 else (8, "Q")
    return list(struct.unpack(f"={len(data) // size}{kind}", data[:len(data) // size * size]))


def called_within(address, function):
    return function < address < function + 256


def module_of(found, address):
    (module,) = [module for module in found["modules"] if module["start"] <= address < module["end"]]
    return module


@pytest.mark.parametrize("mode", ["observe", "nodelay", "cork", "coalesce", "auto"])
def test_the_two_places_and_their_stacks_are_kept(mode):
    def attempt():
        facts, found = two_places(mode)
        (pattern,) = found["patterns"]
        assert found["stacks_off"] == 0 and pattern["count"] == COUNT
        return facts, pattern
    # A message within which a busy machine stops the program for as long as a stall has no second piece.
    facts, pattern = patiently(attempt)
    assert len(pattern["occurrences"]) == 4
    for number, place in enumerate(("place0", "place1")):
        function, called_from = facts[place]
        assert called_within(pattern["caller"][number], function)
        for occurrence in pattern["occurrences"]:
            write = occurrence[number]
            assert write["bytes"] == (200, 100)[number] and write["fd"] == 3
            assert 0 < len(write["stack"]) / 2 <= MOST
            words = words_of(write)
            # behind the frames of the library, in which words of older calls lie, stand the program's
            assert called_from in words[words.index(pattern["caller"][number]) + 1:]


@pytest.mark.unstarved
def test_the_stalls_are_counted_with_the_places_that_made_them():
    def attempt():
        _, found = two_places("observe", count=30)
        (pattern,) = found["patterns"]
        assert 24 <= pattern["stalls"] <= 30
        assert pattern["stall_ns"] >= 30e6 * pattern["stalls"]
    patiently(attempt)  # a peer that comes late acknowledges the next header at once


@pytest.mark.processors("x86_64", "aarch64")
def test_the_registers_are_those_of_a_function_of_the_library():
    _, found = two_places("observe")
    for occurrence in found["patterns"][0]["occurrences"]:
        for write in occurrence:
            registers = write["registers"]
            if len(registers) == 17:  # x86-64: rsp is 7, rip is 16
                sp, pc = registers[7], registers[16]
            else:
                sp, pc = registers[31], registers[32]
            assert module_of(found, pc)["path"].endswith("libunstall.so")
            assert sp % 8 == 0 and sp != 0


def head_of(path):
    """FNV-1a of the first 4096 bytes (src/stats_file/stats_format.h)."""
    value = 0xcbf29ce484222325
    for byte in Path(path).read_bytes()[:4096].ljust(4096, b"\0"):
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def test_the_modules_are_the_mapped_files_and_tell_them_from_others():
    facts, found = two_places("observe")
    own = module_of(found, facts["place0"][0])
    assert own["path"] == str(program("two_places"))
    assert [module["path"] for module in found["modules"] if re.search(r"/libc[.-]", module["path"])]
    ours = [module for module in found["modules"] if module["path"].endswith("/libunstall.so")]
    assert len(ours) == 1
    assert len({module["start"] for module in found["modules"]}) == len(found["modules"])
    with_file = [module for module in found["modules"] if module["path"].startswith("/")]
    assert len(with_file) >= 3 and all(module["head"] == head_of(module["path"]) for module in with_file)


@pytest.mark.parametrize("more", [[], ["thread"]])
def test_a_stack_ends_where_the_threads_stack_ends(more):
    """Neither the environment nor the thread's control block and the memory behind it are copied."""
    _, found = two_places("observe", *more)
    for occurrence in found["patterns"][0]["occurrences"]:
        for write in occurrence:
            stack = bytes.fromhex(write["stack"])
            assert SECRET.encode() not in stack
            assert 256 < len(stack) < MOST  # these programs' stacks are shallow
            if more:
                assert len(stack) < 8192


def test_it_can_be_forbidden():
    _, found = two_places("observe", UNSTALL_STACKS="0")
    assert found["patterns"] == [] and found["modules"] == [] and found["stacks_off"] == 1


def test_without_a_segment_nothing_is_kept():
    with AnsweringPeer() as peer:
        trace = run_strace([program("two_places"), *peer.target, COUNT], preload_env("observe"))
    assert [call for call in trace.calls if call.name == "process_vm_readv"] == []


def test_a_program_that_writes_whole_messages_is_soon_left_alone():
    with stats_directory() as directory, AnsweringPeer() as peer:
        trace = run_strace([program("one_write"), *peer.target, 100],
                           preload_env("auto", UNSTALL_STATS=directory))
        found = stacks_in(directory)
    assert found["patterns"] == []
    assert sum(call.name == "process_vm_readv" for call in trace.calls) <= 16
    assert [call.name for call in trace.after(60) if call.fd == 3] == ["write", "read"]
    assert [call for call in trace.after(60) if call.name == "process_vm_readv"] == []


def test_complete_patterns_cost_no_call():
    with stats_directory() as directory, AnsweringPeer() as peer:
        trace = run_strace([program("two_places"), *peer.target, 40],
                           preload_env("auto", UNSTALL_STATS=directory))
    assert 8 <= sum(call.name == "process_vm_readv" for call in trace.calls) <= 60
    for index in range(20, 40):
        assert [call for call in trace.after(index) if call.name == "process_vm_readv"] == []


def test_more_pairs_than_there_are_places():
    """Eight are kept, the others counted as lost; a known one still counts, with four stacks at the most."""
    pairs = [*range(1, 11), *[1] * 5]
    def attempt():
        with stats_directory() as directory:
            run_client(program("scripted"), "nodelay", *" ".join(f"o0 o{n} r" for n in pairs).split(),
                       UNSTALL_STATS=directory)
            found = stacks_in(directory)
        assert [pattern["count"] for pattern in found["patterns"]] == [6, *[1] * 7]
        assert [len(pattern["occurrences"]) for pattern in found["patterns"]] == [4, *[1] * 7]
        assert found["lost_patterns"] == 2
    patiently(attempt)  # a busy machine pauses between two writes


def test_descriptors_and_numbers_are_as_without():
    """Looking for modules opens /proc/self/maps for a moment, and closes it."""
    with stats_directory() as directory, AnsweringPeer() as peer:
        trace = run_strace([program("two_places"), *peer.target, COUNT],
                           preload_env("auto", UNSTALL_STATS=directory))
    opened = [call for call in trace.calls if call.name == "openat" and call.has('"/proc/self/maps"')]
    assert opened and all(call.has("O_CLOEXEC") for call in opened)
    for call in opened:
        at = trace.calls.index(call)
        assert any(later.name == "close" and later.fd == call.ret for later in trace.calls[at:at + 200])


def test_a_filter_that_ends_who_asks_too_much_ends_nobody():
    """A seccomp filter from outside may know process_vm_readv as a reason to kill."""
    with stats_directory() as directory, AnsweringPeer() as peer:
        strict = refuses("process_vm_readv", 5, 0)
        env = preload_env("observe", UNSTALL_STATS=directory, UNSTALL_PROGRAMS=f"!{strict.name}")
        run([strict, program("two_places"), *peer.target, COUNT], env)
        found = stacks_in(directory)
    (pattern,) = found["patterns"]
    assert len(pattern["occurrences"]) == 4
    assert all(pattern["caller"][0] in words_of(occurrence[0]) for occurrence in pattern["occurrences"])


def test_a_child_keeps_its_own():
    """Patterns begun before a fork belong to the parent's statistics file; the child's begin anew."""
    with stats_directory() as directory, AnsweringPeer() as peer:
        run_client(program("child_exchanges"), "observe", *peer.target, COUNT, UNSTALL_STATS=directory)
        found = all_stacks_in(directory)
    assert len(found) >= 1
    assert all(len(one["patterns"]) <= 1 for one in found)
    assert sum(len(one["patterns"]) for one in found) >= 1
