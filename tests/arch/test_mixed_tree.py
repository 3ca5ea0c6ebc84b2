# SPDX-License-Identifier: MIT
"""One command cures 64-bit and 32-bit programs of a process tree, and ld.so prints no line about any program
of it: 64-bit, 32-bit, static, setuid."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from architectures import judged

from harness import COMMAND, LIB, SOURCE_ROOT, bare_env, compile_c, patiently, run, skip

pytestmark = pytest.mark.no_library

STALLS_MS = 20
NOBODY = 65534
LINKERS = {64: "/lib64/ld-linux-x86-64.so.2", 32: "/lib/ld-linux.so.2"}


def folder_of(bits):
    """This linker's value of $LIB."""
    said = subprocess.run([LINKERS[bits], "--list-diagnostics"], check=True, capture_output=True, text=True)
    return re.search(r'^dl_dst_lib="(.*)"$', said.stdout, re.M).group(1)


@pytest.fixture(name="prefix", scope="module")
def a_prefix():
    """An installation of both libraries, and the program as 64-bit, 32-bit, static and setuid."""
    judged("i386")
    build = SOURCE_ROOT / "build-i386"
    source = SOURCE_ROOT / "tests/arch/exchange.c"
    folder = Path(tempfile.mkdtemp(prefix="unstall-mixed-"))  # where another user may go, too
    try:
        folder.chmod(0o755)
        for name in ("bin", folder_of(64), folder_of(32)):
            (folder / name).mkdir(parents=True)
        shutil.copy(COMMAND, folder / "bin/unstall")
        shutil.copy(LIB, folder / folder_of(64))
        shutil.copy(build / "src/preload/libunstall.so", folder / folder_of(32))
        shutil.copy(compile_c(source), folder / "bin/of-64")
        shutil.copy(build / "exchange", folder / "bin/of-32")
        shutil.copy(compile_c(source, "-static"), folder / "bin/static")
        shutil.copy(folder / "bin/of-64", folder / "bin/setuid")
        yield folder
    finally:
        shutil.rmtree(folder)


def command(prefix, *words, **more):
    return run([prefix / "bin/unstall", *words], bare_env(), check=False, **more)


def medians(prefix, tree, **more):
    """Of each line `NAME MS ...` that the tree prints; nothing else is printed."""
    done = command(prefix, "run", *tree, **more)
    assert (done.returncode, done.stderr) == (0, "")
    return {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines()}


def shell_of(prefix, *names):
    """A 64-bit shell that starts these programs."""
    return ["/bin/sh", "-c", "".join(f'echo {name} "$({prefix}/bin/{name})";' for name in names)]


def cured(times):
    return {name for name, ms in times.items() if ms < STALLS_MS}


def until_cured(prefix, tree, names):
    """A single machine beside load may be slow once; a program that the library does
    not reach stalls always."""
    def attempt():
        assert cured(medians(prefix, tree)) == set(names)
    patiently(attempt, 3)


def test_the_entry_of_ld_preload_has_lib(prefix):
    done = command(prefix, "run", "/bin/sh", "-c", 'echo "$LD_PRELOAD"')
    assert done.stdout == f"{prefix}/$LIB/libunstall.so\n"


def test_an_experiment_and_an_observation_name_it_likewise(prefix, tmp_path):
    """ld.so complains into the output that an experiment shows."""
    seen = tmp_path / "seen"
    script = tmp_path / "program"
    script.write_text(f'#!/bin/sh\necho "$LD_PRELOAD" >>{seen}\nexec {prefix}/bin/of-32\n')
    script.chmod(0o755)
    library = prefix / folder_of(64) / "libunstall.so"
    done = run([COMMAND, "ab", "--library", library, "--arms", "observe,auto", "--rounds", "1", "--warmup",
                "0", "--show-output", "--quiet", script], bare_env(), check=False)
    assert "ld.so" not in done.stdout + done.stderr
    done = command(prefix, "observe", script)
    assert "ld.so" not in done.stderr
    assert set(seen.read_text().split()) == {f"{prefix}/$LIB/libunstall.so"}


def test_a_64_bit_shell_that_starts_all_kinds(prefix):
    names = ["of-64", "of-32", "static"]
    if os.geteuid() == 0 and not os.statvfs(prefix).f_flag & os.ST_NOSUID:
        setuid = prefix / "bin/setuid"
        os.chown(setuid, NOBODY, NOBODY)
        setuid.chmod(0o4755)
        names.append("setuid")
    until_cured(prefix, shell_of(prefix, *names), ["of-64", "of-32"])


def test_the_whole_path_of_the_64_bit_library_is_complained_about(prefix):
    """The fault that the other tests look for can be seen."""
    library = prefix / folder_of(64) / "libunstall.so"
    done = run(shell_of(prefix, "of-32"), bare_env(LD_PRELOAD=library), check=False)
    assert done.stderr.count("wrong ELF class: ELFCLASS64") == 1


def test_a_32_bit_program_at_the_top(prefix):
    """It loads the library of its own size; without one it is refused."""
    def attempt():
        done = command(prefix, "run", prefix / "bin/of-32")
        assert done.stderr == "" and float(done.stdout.split()[0]) < STALLS_MS
    patiently(attempt, 3)
    assert command(prefix, "doctor", prefix / "bin/of-32").returncode == 0


def test_the_libraries_of_either_size_name_both(prefix):
    for bits in LINKERS:
        named = prefix / folder_of(bits) / "libunstall.so"
        done = command(prefix, "run", "--library", named, "/bin/sh", "-c", 'echo "$LD_PRELOAD"')
        assert done.stdout == f"{prefix}/$LIB/libunstall.so\n"


@pytest.mark.parametrize("there", ["nothing", "the wrong size", "no library"])
def test_without_a_32_bit_library_the_path_is_whole_and_a_32_bit_program_refused(prefix, there):
    library = prefix / folder_of(32) / "libunstall.so"
    kept = library.read_bytes()
    library.unlink()
    if there != "nothing":
        library.write_bytes(LIB.read_bytes() if there == "the wrong size" else b"text")
    try:
        done = command(prefix, "run", "/bin/sh", "-c", 'echo "$LD_PRELOAD"')
        assert done.stdout == f"{prefix}/{folder_of(64)}/libunstall.so\n"
        done = command(prefix, "run", prefix / "bin/of-32")
        assert done.returncode == 125
        assert "it is made for 32-bit x86, the library for x86-64" in done.stderr
    finally:
        library.write_bytes(kept)


def test_a_program_for_musl_gets_the_whole_path(prefix):
    """Its linker does not know $LIB."""
    if shutil.which("musl-gcc") is None:
        skip("musl-gcc is not installed")
    program = compile_c(SOURCE_ROOT / "tests/arch/environment.c", cc="musl-gcc")
    done = command(prefix, "run", program)
    assert done.stdout == f"{prefix}/{folder_of(64)}/libunstall.so\n"


def test_the_blocks_of_the_page_on_deployment(prefix, tmp_path):
    """`./app32` is a 32-bit program; the second block watches it."""
    page = (SOURCE_ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    part = page.split("\n## A closed-source 32-bit program\n")[1].split("\n## ")[0]
    block = "".join(re.findall(r"^```sh\n(.*?)^```$", part, re.M | re.S))
    block = block.replace("/dev/shm/", f"/dev/shm/{os.getpid()}-")  # another run may use the page's own
    (stats,) = re.findall(r"^install -d -m 700 (\S+)", block, re.M)
    shutil.copy(prefix / "bin/of-32", tmp_path / "app32")
    env = bare_env()
    env["PATH"] = f"{prefix}/bin:{env['PATH']}"

    def attempt():
        shutil.rmtree(stats, ignore_errors=True)
        done = run(["bash", "-euc", block], env, check=False, cwd=tmp_path)
        assert done.returncode == 0, done
        times = map(float, re.findall(r"^(\d+\.\d+) \d+\.\d+ [01]$", done.stdout, re.M))
        assert ["cured" if ms < STALLS_MS else "stalls" for ms in times] == \
            re.findall(r"# (cured|stalls)\b", block)
        assert "Cured" in done.stdout and done.stderr == ""
    patiently(attempt, 3)


@pytest.fixture(name="printed", scope="module")
def what_each_prints(prefix, tmp_path_factory):
    """(which libraries are there, entry of LD_PRELOAD, program) -> its lines."""
    if os.geteuid() != 0:
        skip("only root may put libraries into the linker's folders of another root")
    root, results = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("results")
    run(["unshare", "--mount", "--propagation", "private",
         SOURCE_ROOT / "tests/arch/standard_folders.sh", root, prefix, folder_of(32), results], bare_env())
    return {tuple(path.name.split(",")): path.read_text().splitlines() for path in results.iterdir()}


# (which libraries are there, entry of LD_PRELOAD, program) -> what ld.so prints; the others print nothing.
COMPLAINTS = {
    ("64", "full", "of-32"): "wrong ELF class: ELFCLASS64",
    ("64", "bare", "of-32"): "cannot open shared object file",
    ("64", "lib", "of-32"): "cannot open shared object file",
    ("both", "full", "of-32"): "wrong ELF class: ELFCLASS64",
    ("64", "bare", "setuid"): "cannot open shared object file",
    ("both", "bare", "setuid"): "cannot open shared object file",
}


def test_ld_so_prints_what_the_page_says(printed):
    """docs/architectures.md: a line for each of these and none for any other."""
    said = {case: re.findall(r"from LD_PRELOAD cannot be preloaded \((.*)\): ignored", "\n".join(lines))
            for case, lines in printed.items()}
    assert len(said) == 24
    assert {case: words for case, words in said.items() if words} == \
        {case: [words] for case, words in COMPLAINTS.items()}
    assert all(len(lines) == 1 + len(said[case]) for case, lines in printed.items())
    page = (SOURCE_ROOT / "docs/architectures.md").read_text(encoding="utf-8")
    assert set(COMPLAINTS.values()) == set(re.findall(r"^\|[^|]*\|[^|]*`([^`|]*)`, one line \|$", page, re.M))


def test_the_bare_name_and_lib_cure_programs_of_both_sizes(printed):
    """In the linker's own folders, as packages put the libraries."""
    setting = {case for case, lines in printed.items() if lines[-1].endswith(" 1")}  # TCP_NODELAY
    assert setting == {(there, entry, program) for there, entry, program in printed
                       if program == "of-64" or (program, there) == ("of-32", "both") and entry != "full"}
