# SPDX-License-Identifier: MIT
"""Tries mutants (mutants.py) of a tree, one at a time, in a copy of it.  scripts/mutate has the
usage and the purpose.

A tree is anything with sources, a command that builds it and programs that test it: tests/house has a small
one.
"""

import argparse
import collections
import ctypes
import datetime
import fnmatch
import hashlib
import multiprocessing
import multiprocessing.connection
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mutants

PR_SET_CHILD_SUBREAPER = 36
ONE_BY_ONE = 3
ENDED, FAILED, HUNG = "ended", "failed", "hung"
# the outcomes of a mutant, in the order of the table
FOUND, STOPPED, SAME, ACCEPTED, UNREACHED, SURVIVED = (
    "found", "hung", "same code", "accepted", "not reached", "survived")


def say(*words):
    print(*words, flush=True)


class Programs:
    """Runs programs and leaves none behind: their orphans become our children, and are killed by their id."""

    def __init__(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)

    @staticmethod
    def end_children():
        for _ in range(100):
            children = Path("/proc/thread-self/children").read_text(encoding="ascii").split()
            if not children:
                return
            for child in children:
                os.kill(int(child), signal.SIGKILL)
                os.waitpid(int(child), 0)

    def run(self, words, folder, limit, output=subprocess.DEVNULL):
        """The outcome, and the output if it was asked for."""
        def bounded():
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 60, int(limit) + 60))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        errors = subprocess.STDOUT if output == subprocess.PIPE else output
        with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                              preexec_fn=bounded) as program:
            try:
                text, _ = program.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
                self.end_children()
                return HUNG, b""
        self.end_children()
        return (ENDED if program.returncode == 0 else FAILED), text


@dataclass
class Options:
    tree: Path
    build: str   # a line of bash; "$@" are the programs to build, none: all
    objects: str  # patterns of the sources that it compiles and of the tests that it links
    tests: str
    test_words: str
    limit: float  # seconds for a program
    slow: list    # (files, line of bash) to try where nothing of the above noticed


class Copy:
    """The copy of a tree, built once as it is."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder / "tree"
        self.programs = Programs()
        shutil.copytree(options.tree, self.folder, symlinks=True,
                        ignore=shutil.ignore_patterns("build*", ".git", "__pycache__"))
        outcome, text = self.build()
        if outcome != ENDED:
            sys.exit(f"the tree as it is does not build:\n{text.decode(errors='replace')[-3000:]}")
        self.objects = self.hashes(options.objects)
        self.tests = {test: each for test, each in self.hashes(options.tests).items()
                      if os.access(self.folder / test, os.X_OK)}
        self.took = {}
        self.has_found = collections.defaultdict(collections.Counter)
        for test in self.tests:
            begun = time.monotonic()
            if self.run_again(self.words(test)) != ENDED:
                sys.exit(f"{test} fails in the tree as it is")
            self.took[test] = time.monotonic() - begun

    def build(self, *programs):
        return self.programs.run(["bash", "-c", self.options.build, "bash", *programs], self.folder, 600,
                                 subprocess.PIPE)

    def hash(self, path):
        return hashlib.sha256((self.folder / path).read_bytes()).digest()

    def hashes(self, pattern):
        paths = sorted(p.relative_to(self.folder) for p in self.folder.glob(pattern) if p.is_file())
        return {str(p): self.hash(p) for p in paths}

    def words(self, test):
        return [str(self.folder / test), *shlex.split(self.options.test_words)]

    def run_again(self, words, limit=None):
        """A program that does not end in time is only believed to hang when it does so again."""
        limit = limit or self.options.limit
        outcome, _ = self.programs.run(words, self.folder, limit)
        return self.programs.run(words, self.folder, 2 * limit)[0] if outcome == HUNG else outcome

    def order(self, mutant):
        """First tests that found mutants of this file, then tests with the file's name, then quick ones."""
        stem = mutant.file.split(".")[0].split("_")[0]
        return sorted(self.tests, key=lambda test: (-self.has_found[mutant.file][test], stem not in test,
                                                    self.took[test]))

    def judge(self, mutant, path):
        """Builds and tests one, one program after the other.  None: it does not compile."""
        source = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(source), encoding="utf-8")
        try:
            return self.try_programs(mutant)
        finally:
            path.write_text(source, encoding="utf-8")

    def builds(self, mutant):
        """The programs in the order in which they are tried, each built.  None: one does not compile.

        The first few are built one by one, because one of them mostly finds the mutant; then all others at
        once."""
        order = self.order(mutant)
        for number, test in enumerate(order):
            wanted = [test] if number < ONE_BY_ONE else order[number:] if number == ONE_BY_ONE else []
            if wanted and self.build(*wanted)[0] != ENDED:
                yield None
            yield test

    def try_programs(self, mutant):
        reached = False
        for test in self.builds(mutant):
            if test is None:
                return None
            if self.hash(test) == self.tests[test]:
                continue  # it does not have the file, or the code is the same
            if not reached and self.hashes(self.options.objects) == self.objects:
                return SAME
            reached = True
            outcome = self.run_again(self.words(test))
            if outcome != ENDED:
                self.has_found[mutant.file][test] += 1
                return STOPPED if outcome == HUNG else FOUND
        if not reached and self.build()[0] == ENDED and self.is_same(mutant):
            return SAME
        for line in [line for files, line in self.options.slow if fnmatch.fnmatch(mutant.file, files)]:
            # a test that failed because of load passes when it runs again
            if all(self.run_again(["bash", "-c", line], 20 * self.options.limit) != ENDED for _ in range(2)):
                return FOUND
        return SURVIVED if reached else UNREACHED

    def is_same(self, mutant):
        """Nothing has changed though some program has the file."""
        end = re.compile(rf"(^|[_/]){re.escape(Path(mutant.file).stem)}(\.c)?\.o$")
        return mutant.file.endswith(".h") or any(end.search(each) for each in self.objects)


# ---- mutants known to be equivalent ------------------------------------------

class Equivalents:
    """The file of accepted mutants: `file | before | after | reason`; `after` may be *."""

    def __init__(self, path):
        lines = path.read_text(encoding="utf-8").splitlines() if path else []
        self.rows = [[word.strip() for word in line.split(" | ")] for line in lines
                     if line.strip() and not line.startswith("#")]
        for row in self.rows:
            if len(row) != 4 or not row[3]:
                sys.exit(f"{path}: not 'file | before | after | reason': {' | '.join(row)}")

    def reason(self, mutant):
        return next((row[3] for row in self.rows if is_of(row, mutant)), None)

    def dead(self, paths, every, tree):
        """Rows that no mutant of the sources `paths` has any more, or whose file is nowhere in the tree."""
        return [" | ".join(row) for row in self.rows
                if (row[0] in paths or not any(tree.rglob(row[0]))) and not any(is_of(row, m) for m in every)]


def is_of(row, mutant):
    file, before, after, _ = row
    return file == mutant.file and before == shown(mutant.before) and after in ("*", shown(mutant.after))


def shown(text):
    """Without comments, and with one blank for all white space."""
    def without(found):
        return " " if found[0].startswith("/") else found[0]
    return mutants.one_line(mutants.NO_CODE.sub(without, text))


# ---- the run ------------------------------------------------------------------

def all_mutants(tree, sources, files):
    paths = sorted(p for pattern in sources for p in tree.glob(pattern))
    wanted = [p for p in paths if not files or any(fnmatch.fnmatch(p.name, f) for f in files)]
    if not wanted:
        sys.exit(f"no source is named {' or '.join(files)}")
    every = [m for p in wanted for m in mutants.mutants_of(p.name, p.read_text(encoding="utf-8"))]
    return {p.name: p for p in wanted}, every


def told(mutant, verdict=""):
    place = f"{verdict}{mutant.file}:{mutant.line} ({mutant.kind})"
    return f"{place}\n    - {mutant.before}\n    + {mutant.after}"


def work(options, folder, paths, chosen, taken, answers):
    """Judges mutants in a copy of its own while some are left that no other copy has taken."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    with tempfile.TemporaryDirectory(dir=folder) as own:
        copy = Copy(options, Path(own))
        while True:
            with taken.get_lock():
                number = taken.value
                taken.value += 1
            if number >= len(chosen):
                return
            mutant = chosen[number]
            path = copy.folder / paths[mutant.file].relative_to(options.tree)
            answers.send((number, copy.judge(mutant, path)))


def answers_of(workers):
    """The messages of the workers, until each has ended.  Exits if one has failed."""
    waiting = list(workers)
    while waiting:
        for answers in multiprocessing.connection.wait(waiting):
            try:
                yield answers.recv()
            except EOFError:
                waiting.remove(answers)
                workers[answers].join()
                if workers[answers].exitcode:
                    raise ChildProcessError from None


def try_all(options, jobs, paths, chosen, equivalents, judged):
    """Adds the pair mutant, outcome to `judged` for each mutant that compiles."""
    make = multiprocessing.get_context("fork")
    taken, workers = make.Value("i", 0), {}
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        try:
            for _ in range(min(jobs, len(chosen))):
                ours, theirs = make.Pipe(duplex=False)
                words = (options, folder, paths, chosen, taken, theirs)
                workers[ours] = make.Process(target=work, args=words)
                workers[ours].start()
                theirs.close()
            for number, verdict in answers_of(workers):
                mutant = chosen[number]
                if verdict in (SURVIVED, UNREACHED) and equivalents.reason(mutant):
                    verdict = ACCEPTED
                if verdict is not None:
                    judged[mutant] = verdict
                if verdict in (SURVIVED, UNREACHED, STOPPED):
                    say(told(mutant, f"{verdict}: "))
        finally:
            for worker in workers.values():
                worker.terminate()
                worker.join()


def table(judged):
    counts = collections.defaultdict(collections.Counter)
    for mutant, verdict in judged.items():
        for name in (mutant.file, "all"):
            counts[name][verdict] += 1
    columns = [FOUND, STOPPED, SURVIVED, UNREACHED, ACCEPTED, SAME]
    yield "| file | mutants | " + " | ".join(columns) + " | score |"
    yield "|---" * (len(columns) + 3) + "|"
    for name in sorted(counts, key=lambda name: (name == "all", name)):
        row = counts[name]
        yield (f"| {name} | {sum(row.values())} | " + " | ".join(str(row[column]) for column in columns) +
               f" | {score(row)} |")


def score(row):
    """The share of found mutants among those that change something."""
    found = row[FOUND] + row[STOPPED]
    changes = found + row[SURVIVED] + row[UNREACHED]
    return f"{100 * found / changes:.0f} %" if changes else "-"


def slow_lines(path):
    """The file of the slower commands: `files | line of bash`."""
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    return [[word.strip() for word in line.split(" | ")] for line in lines if line.strip() and line[0] != "#"]


def arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--source", action="append", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--objects", required=True)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--test-words", default="")
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--equivalent", type=Path)
    parser.add_argument("--slow", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main():
    wanted = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    paths, every = all_mutants(wanted.tree, wanted.source, wanted.file)
    equivalents = Equivalents(wanted.equivalent)
    dead = equivalents.dead(paths, every, wanted.tree)
    if dead:
        sys.exit("\n".join([f"{wanted.equivalent}: the source has no such line any more:", *dead]))
    chosen = random.Random(wanted.seed).sample(every, min(wanted.count, len(every)))
    chosen.sort(key=lambda mutant: (mutant.file, mutant.start))  # so that one file is compiled at a time
    if wanted.list:
        for mutant in chosen:
            say(told(mutant))
        return 0
    judged = {}
    options = Options(wanted.tree, wanted.build, wanted.objects, wanted.tests, wanted.test_words,
                      wanted.limit, slow_lines(wanted.slow))
    try:
        try_all(options, wanted.jobs, paths, chosen, equivalents, judged)
    except ChildProcessError:
        return 1  # it has said why
    except (KeyboardInterrupt, SystemExit):
        say("\nstopped before the end")
    say(f"\n{datetime.date.today()}, seed {wanted.seed}: {len(chosen)} of {len(every)} mutants, of which "
        f"{len(judged)} compiled:\n")
    say("\n".join(table(judged)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
