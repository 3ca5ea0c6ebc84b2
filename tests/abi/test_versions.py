# SPDX-License-Identifier: MIT
"""A caller who asks for a version of a libc name reaches libc's definition of that version, through us."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from platform import machine

import pytest

from harness import (BUILD_ROOT, CC, LIB, MODES, ROW, SOURCE_ROOT, bare_env, compile_c,
                     mode_env, preload_env, run, skip)


FOLDER = Path(__file__).parent

# These go on to another name, which does the same with arguments that we have collected or checked.
GOES_ON_TO = {"execl": "execv", "execlp": "execvp", "execle": "execve", "dprintf": "vdprintf",
              "__dprintf_chk": "__vdprintf_chk", "__poll_chk": "poll", "__ppoll_chk": "ppoll",
              "eventfd_write": "write"}

# Other names of the same definition in libc, whose callers reach the first name's definition.
SAME_AS = {"_IO_fclose": "fclose", "_IO_fdopen": "fdopen", "_IO_popen": "popen"}


def surface():
    text = (SOURCE_ROOT / "src/preload/sys/surface.def").read_text(encoding="utf-8")
    return set(re.findall(rf"^{ROW}\((\w+),", text, re.M))


def libc_path():
    return subprocess.run([*CC, "-print-file-name=libc.so.6"], check=True, capture_output=True,
                          text=True).stdout.strip()


def definitions():
    """(name, "@" or "@@", version, address) of every definition in libc of a name of the surface."""
    nm = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", libc_path()],
                        check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^([0-9a-f]+) [TWi] (\w+)(@@?)(GLIBC_[0-9.]+)$", nm, re.M)
    names = surface()
    return [(name, at, version, address) for address, name, at, version in rows if name in names]


def age(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def written(suffix, text):
    """A file in the build root that is named after what it holds."""
    path = BUILD_ROOT / "test-bin" / f"versions-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def listed(rows):
    lines = [f'V({number}, {name}, "{at}", "{version}")'
             for number, (name, at, version, _) in enumerate(rows)]
    return written(".h", "#define VERSIONS " + " \\\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def caller():
    return compile_c(FOLDER / "versions_calls.c", "-fno-builtin", "-include", listed(definitions()))


def stand_in(rows, *flags):
    return compile_c(FOLDER / "versions_stand_in.c", "-fno-builtin", "-include", listed(rows), "-shared",
                     "-fPIC", *flags)


@pytest.fixture(scope="module")
def behind():
    """Stands behind the library as libc does: a definition for each version."""
    versions = sorted({version for _, _, version, _ in definitions()}, key=age)
    script = written(".map", "".join(f"{version} {{ }};\n" for version in versions))
    return stand_in(definitions(), f"-Wl,--version-script={script}")


def reached(caller, env):
    """Name with version -> (the file it led to, the definition that answered)."""
    lines = run([caller], env).stdout.splitlines()
    found = {asked: (Path(led).name, answered) for asked, led, answered in map(str.split, lines)}
    assert len(found) == len(definitions())
    return found


def through_us(caller, mode, behind):
    env = preload_env(mode)
    env["LD_PRELOAD"] += f":{behind}"
    return reached(caller, env)


def addresses():
    found = {}
    for name, _, _, address in definitions():
        found.setdefault(name, set()).add(address)
    return found


SEVERAL = {name for name, several in addresses().items() if len(several) > 1}


def test_the_list_holds_names_with_several_definitions():
    assert "pthread_kill" in SEVERAL
    assert len(addresses()) > 100


def test_bare_each_version_reaches_itself(caller, behind):
    found = reached(caller, bare_env(LD_PRELOAD=behind))
    assert {asked: answered for asked, (_, answered) in found.items()} == {asked: asked for asked in found}


@pytest.mark.parametrize("mode", MODES)
def test_each_version_reaches_its_definition_through_us(caller, behind, mode):
    address = {f"{name}@{version}": address for name, _, version, address in definitions()}
    wrong = {}
    for asked, (led, answered) in through_us(caller, mode, behind).items():
        name, answering = asked.partition("@")[0], answered.partition("@")[0]
        right = answering == GOES_ON_TO[name] if name in GOES_ON_TO else address[answered] == address[asked]
        if led != LIB.name or not right:
            wrong[asked] = (led, answered)
    assert wrong == {}


def test_a_definition_without_versions_takes_the_callers_of_every_version(caller):
    """Bare it does, so it does behind us."""
    plain = stand_in([row for row in definitions() if row[1] == "@@"], "-DPLAIN")
    bare = reached(caller, bare_env(LD_PRELOAD=plain))
    several = [asked for asked in bare if asked.partition("@")[0] in SEVERAL]
    assert len(several) >= 2 * len(SEVERAL)
    found = through_us(caller, "off", plain)
    leads_to = {**SAME_AS, **GOES_ON_TO}
    expected = {asked: leads_to.get(bare[asked][1], bare[asked][1]) for asked in several}
    assert {asked: found[asked][1] for asked in several} == expected


OLD_BEHAVIOUR = {
    "posix_spawn": "0, then 7", "posix_spawn now": "ENOEXEC",
    "posix_spawnp": "0, then 7", "posix_spawnp now": "ENOEXEC",
    "quick_exit": "ran the thread's destructor, ended with 5", "quick_exit now": "ended with 5",
    "pthread_kill": "ESRCH", "pthread_kill now": "0",
    "pthread_cond_wait": "0", "pthread_cond_timedwait": "ETIMEDOUT", "behind the condition": "untouched",
}


@pytest.mark.processors("x86", "x86_64")
@pytest.mark.parametrize("mode", ("bare", *MODES))
def test_a_program_that_was_linked_long_ago_finds_what_it_was_linked_with(mode, tmp_path):
    """Other libcs lack some of these older definitions."""
    script = tmp_path / "script"
    script.write_text("exit 7\n", encoding="utf-8")  # without "#!"
    script.chmod(0o755)
    lines = run([compile_c(FOLDER / "versions_older.c"), script], mode_env(mode)).stdout.splitlines()
    assert dict(line.split(": ") for line in lines) == OLD_BEHAVIOUR


@pytest.mark.processors(machine())
@pytest.mark.parametrize("mode", MODES)
def test_a_program_without_versions_is_led_to_us(mode):
    """musl knows no versions and takes what is not hidden."""
    if shutil.which("musl-gcc") is None:
        skip("musl-gcc is not installed")
    names = written(".h", "#define NAMES " + " ".join(f"N({name})" for name in sorted(SEVERAL)) + "\n")
    program = compile_c(FOLDER / "versions_led.c", "-fno-builtin", "-fPIC", "-include", names, cc="musl-gcc")
    led = dict(line.split() for line in run([program], preload_env(mode)).stdout.splitlines())
    assert {name: Path(led[name]).name for name in SEVERAL} == {name: LIB.name for name in SEVERAL}
