# SPDX-License-Identifier: MIT
"""A bare LD_PRELOAD=libunstall.so leaves nothing behind: no file, descriptor, thread or output."""

import os
import re
import shutil

import pytest

from harness import bare_env, preload_env, run, run_strace, skip

# Each prints its descriptors and its threads' names, one a line, and whether the library is there.
PYTHON_PROBE = """
import os
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        print("fd", name, os.readlink(f"/proc/self/fd/{name}"))
    except OSError:
        pass  # the listing's own
for task in os.listdir("/proc/self/task"):
    print("thread", open(f"/proc/self/task/{task}/comm").read().strip())
print("loaded", "libunstall" in open("/proc/self/maps").read())
"""

JAVA_PROBE = """
import java.nio.file.*;
public class Probe {
    static String[] sorted(String folder) {
        String[] names = new java.io.File(folder).list();
        java.util.Arrays.sort(names);
        return names;
    }
    public static void main(String[] arguments) throws Exception {
        for (String name : sorted("/proc/self/fd"))
            try {
                Path target = Files.readSymbolicLink(Path.of("/proc/self/fd/" + name));
                System.out.println("fd " + name + " " + target);
            } catch (java.io.IOException listing) { }
        for (String task : sorted("/proc/self/task")) {
            Path comm = Path.of("/proc/self/task/" + task + "/comm");
            System.out.println("thread " + Files.readString(comm).strip());
        }
        System.out.println("loaded " + Files.readString(Path.of("/proc/self/maps")).contains("libunstall"));
    }
}
"""

NODE_PROBE = """
const fs = require("fs");
for (const name of fs.readdirSync("/proc/self/fd"))
    try { console.log("fd", name, fs.readlinkSync("/proc/self/fd/" + name)); } catch (listing) {}
for (const task of fs.readdirSync("/proc/self/task"))
    console.log("thread", fs.readFileSync(`/proc/self/task/${task}/comm`, "utf8").trim());
console.log("loaded", fs.readFileSync("/proc/self/maps", "utf8").includes("libunstall"));
"""

PROBES = {
    "python": ["/usr/bin/python3", "-I", "-c", PYTHON_PROBE],
    # Without the just-in-time compiler and parallel collectors a JVM's threads are always the same.
    "java": ["java", "-Xint", "-XX:+UseSerialGC", "-XX:-UsePerfData", "Probe.java"],
    "node": ["node", "-e", NODE_PROBE],
}


def lines_of(text):
    """The probe's lines without numbers that differ from run to run."""
    return sorted(re.sub(r"\[\d+\]|/proc/\d+", "[N]", line) for line in text.splitlines()
                  if not line.startswith("loaded"))


@pytest.fixture
def rooms(tmp_path):
    """Every place where a program could leave a file: each its own, all empty."""
    places = {"HOME": "home", "TMPDIR": "tmp", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}
    for folder in [*places.values(), "work"]:
        (tmp_path / folder).mkdir()
    (tmp_path / "work/Probe.java").write_text(JAVA_PROBE, encoding="utf-8")
    return tmp_path, {name: tmp_path / folder for name, folder in places.items()}


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_true_leaves_nothing(rooms):
    folder, places = rooms
    before = files_in(folder)
    done = run(["/bin/true"], preload_env(**places), cwd=folder / "work")
    assert (done.stdout, done.stderr) == ("", "")
    assert files_in(folder) == before
    # /dev/shm is everybody's: tests beside this one have folders of their own there
    assert not [name for name in os.listdir("/dev/shm") if name.endswith(".unstall")]


@pytest.mark.parametrize("argv", [
    ["/bin/true"], ["/bin/sh", "-c", "true"], ["/usr/bin/python3", "-I", "-c", ""],
], ids=["true", "sh", "python"])
def test_no_file_is_made_and_no_thread(argv):
    bare, other = (run_strace(argv, env) for env in (bare_env(), preload_env()))
    assert other.loaded and not bare.loaded

    def made(trace):
        return [str(call) for call in trace.calls if call.has("O_CREAT") or call.has("O_WRONLY")
                or call.has("O_RDWR") or call.name in ("mkdir", "mknod", "symlink", "link", "memfd_create")]

    assert made(other) == made(bare)
    assert len(other.pids) == len(bare.pids)


@pytest.mark.parametrize("name", PROBES)
def test_runtime_has_no_other_descriptors_threads_files_or_output(name, rooms):
    folder, places = rooms
    argv = PROBES[name]
    if shutil.which(argv[0]) is None:
        skip(f"{argv[0]} is not installed")
    results = []
    for env in (bare_env(**places), preload_env(**places)):
        done = run(argv, env, cwd=folder / "work")
        assert done.stderr == ""
        results.append((done.stdout, files_in(folder)))
    (bare, bare_files), (other, other_files) = results
    assert re.search("loaded [Ff]alse", bare) and re.search("loaded [Tt]rue", other)
    assert lines_of(other) == lines_of(bare)
    assert other_files == bare_files
