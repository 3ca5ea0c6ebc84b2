# SPDX-License-Identifier: MIT
"""The command line of `unstall ab`: parsing and checking only."""

import difflib
import random
import re
import shlex
import shutil
from types import SimpleNamespace

from record.arms import BARE, MODES
from record.results import METRICS, USUAL, try_whole

DEFAULT_ARMS = [BARE, *(mode for mode in MODES if mode != "observe")]
ASSIGNMENTS = ("connection", "peer", "listener")
KERNEL_ARMS = ["off", "nodelay"]
PLACES = ("unit", "container", "cgroup")
MOST_ARMS = 6
SEED_BELOW = 10 ** 9


class Refused(Exception):
    """The command line cannot be carried out; the message says why."""


def _number(name, text, least, most, whole=False):
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = None
    if value is None or not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise Refused(f"{name} {text}: expected {kind} from {least:.9g} to {most:.9g}")
    return value


def _whole(least, most):
    return lambda name, text: _number(name, text, least, most, whole=True)


UNITS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600}


def _time(least, most):
    """Seconds: "2.5", "500ms", "30s", "5m", "2h"."""
    def parse(name, text):
        words = re.fullmatch(r"(\d+\.?\d*|\.\d+)([a-z]*)", text, re.ASCII)
        seconds = float(words[1]) * UNITS.get(words[2], -1) if words else -1
        if not least <= seconds <= most:
            raise Refused(f"{name} {text}: expected seconds from {least:.9g} to {most:.9g}, or a time as "
                          "500ms, 30s, 5m or 2h")
        return seconds
    return parse


def _one_of(*words):
    def parse(name, text):
        if text not in words:
            raise Refused(f"{name} {text}: expected {', '.join(words[:-1])} or {words[-1]}"
                          if len(words) > 1 else f"{name} {text}: expected {words[0]}")
        return text
    return parse


def _percent(least, most):
    def parse(name, text):
        return _number(name, text.rstrip("%"), least, most) / 100
    return parse


def _text(name, text):
    if not text:
        raise Refused(f"{name}: the value is empty")
    return text


def _regex(name, text):
    try:
        re.compile(text)
    except re.error as error:
        raise Refused(f"{name} {text}: expected a regular expression of Python ({error})") from error
    return _text(name, text)


def _words(name, text):
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Refused(f"{name} {text}: {error}") from error
    if not words:
        raise Refused(f"{name}: expected a command")
    return words


# option: (parser of its value, the value without the option).  None: the option takes no value.
TABLE = {
    "--arms": (_text, None),
    "--base": (_text, None),
    "--rounds": (_whole(1, 100000), None),
    "--time": (_time(0.1, 31536000), None),
    "--warmup": (_whole(0, 1000), 1),
    "--metric": (_one_of(*METRICS), None),
    "--score": (_regex, None),
    "--until-sure": (None, False),
    "--confidence": (_percent(50, 99.99), None),
    "--margin": (_percent(0.01, 1000), None),
    "--seed": (_whole(0, SEED_BELOW - 1), None),
    "--json": (_text, None),
    "--html": (_text, None),
    "--count-calls": (None, False),
    "--server": (_words, None),
    "--ready": (_whole(1, 65535), None),
    "--live": (None, False),
    "--unit": (_text, None),
    "--container": (_text, None),
    "--cgroup": (_text, None),
    "--assign": (_one_of(*ASSIGNMENTS), "connection"),
    "--stop-if": (_one_of("worse"), None),
    "--kill": (None, False),
    "--min-exchanges": (_whole(1, 1000000), 20),
    "--aa": (None, False),
    "--merge": (None, False),
    "--timeout": (_time(0.1, 31536000), None),
    "--ignore-failure": (None, False),
    "--show-output": (None, False),
    "--quiet": (None, False),
    "--unstall": (_text, None),  # path of the command, from src/cli/verbs/ab.c
    "--library": (_text, None),  # path of the library; without it the one that `unstall run` takes
}


def _member(option):
    return option[2:].replace("-", "_")


class Options(SimpleNamespace):
    """The command line, parsed: a member for each option, and what follows from them.  complete_arms()
    makes a list of `arms`."""

    def __init__(self):
        super().__init__(**{_member(option): value for option, (_, value) in TABLE.items()})
        self.weights = None  # live: arm -> weight
        self.pid = None
        self.target = None   # live, in the kernel: the target in the words of `unstall attach`
        self.command, self.files = [], []


def parse(words):
    """The words behind `unstall ab` -> Options; Refused if they are wrong."""
    made, rest = Options(), []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            made.command = words[at:]
            break
        if not word.startswith("-") or word == "-":
            if made.live or made.merge:
                rest.append(word)
                continue
            made.command = words[at - 1:]  # as in env(1), the program begins at the first word
            break
        name, equals, value = word.partition("=")
        if name not in TABLE:
            near = difflib.get_close_matches(name, TABLE, n=1, cutoff=0.75)
            raise Refused(f"{name}: no such option; " +
                          (f"did you mean {near[0]}? (--help lists all)" if near else "try --help"))
        where, (parser, _) = _member(name), TABLE[name]
        if parser is None:
            if equals:
                raise Refused(f"{name}={value}: takes no value; try --help")
            setattr(made, where, True)
            continue
        if not equals:
            if at == len(words):
                raise Refused(f"{name}: needs a value; try --help")
            value = words[at]
            at += 1
        setattr(made, where, parser(name, value))
    _complete(made, rest)
    return made


def _complete(made, rest):
    """Check the options against each other, and fill in defaults that depend on other options."""
    if made.merge:
        made.files = rest + made.command
        if not made.files:
            raise Refused("--merge: expected files of results or statistics files")
    elif made.live:
        _complete_live(made, rest)
    elif not made.command:
        raise Refused("no PROGRAM given; try --help")
    _check_combinations(made)
    if made.score and not made.metric:
        made.metric = "score"
    if made.pid is None:
        complete_arms(made)
    for name in ("json", "html"):
        _can_write(f"--{name}", getattr(made, name))
    if made.count_calls:
        _can_count()
    if made.rounds is None:
        made.rounds = 1000 if made.until_sure else 10 ** 6 if made.time else 20
    if not made.merge:  # else the files say what it is
        for name, usual in USUAL.items():
            setattr(made, name, getattr(made, name) or usual)
        made.seed = random.SystemRandom().randrange(SEED_BELOW) if made.seed is None else made.seed


def _check_combinations(made):
    """Refuse options that contradict each other."""
    if (made.server is None) != (made.ready is None):
        raise Refused("--server and --ready: each needs the other; "
                      'as in --server "./app 8080" --ready 8080')
    if made.live and made.server:
        raise Refused("--live and --server: choose one of them")
    for name in ("stop_if", "kill", *PLACES):
        if getattr(made, name) and not made.live:
            raise Refused(f"--{name.replace('_', '-')}: only with --live")
    if made.live and made.count_calls:
        raise Refused("--count-calls: not with --live, which does not start the program again under strace")
    if made.kill and made.pid is None:
        raise Refused("--kill: needs --live PID")
    if made.metric == "score" and made.score is None:
        raise Refused("--metric score: needs --score REGEX")
    if made.score and made.live:
        raise Refused("--score: not with --live, where no output is read")


def _can_write(option, path):
    """Refuse a file that cannot be written before the experiment, not after it."""
    try:
        if path:
            try_whole(path)
    except OSError as error:
        raise Refused(f"{option} {path}: {error.strerror}") from error


def _can_count():
    """Likewise --count-calls, which begins when all rounds have ended."""
    if shutil.which("strace") is None:
        raise Refused("--count-calls: needs strace; apt-get install strace")


def _complete_live(made, rest):
    places = [name for name in PLACES if getattr(made, name)]
    if bool(made.command) + len(rest) + len(places) != 1 or not all(word.isdigit() for word in rest):
        raise Refused("--live: expected a process id, --unit, --container or --cgroup, "
                      "or -- and the server's command")
    if rest:
        made.pid = int(rest[0])
    elif places:
        made.target = [f"--{places[0]}", getattr(made, places[0])]


def complete_arms(made):
    """Check and fill in the arms; of a running process, once `target` is known."""
    if made.merge:
        return
    if made.aa:
        if made.arms:
            raise Refused("--aa: has its own arms (off against off); leave --arms out")
        made.arms, made.weights = ["off", "off-2"], {"off": 1, "off-2": 1}
    else:
        default = ",".join(KERNEL_ARMS if made.target else ("off", "auto") if made.live else DEFAULT_ARMS)
        made.arms, made.weights = _arms(made.arms or default, made.live, made.target)
    made.base = made.base or ("off" if "off" in made.arms else made.arms[0])
    if made.base not in made.arms:
        raise Refused(f"--base {made.base}: no such arm; there are {', '.join(made.arms)}")


def _arms(text, live, target=None):
    names, weights = [], {}
    known = KERNEL_ARMS if target else MODES if live else (BARE, *MODES)
    for word in text.split(","):
        name, colon, weight = word.strip().partition(":")
        if name == BARE and live:
            raise Refused("--arms bare: a running server cannot drop the library; "
                          "use --server, or the arm off")
        if name in MODES and name not in known:
            raise Refused(f"--arms {text}: without the library the arms are given in the kernel, which "
                          f"has {' and '.join(KERNEL_ARMS)}")
        if name not in known:
            raise Refused(f"--arms {text}: expected {', '.join(known[:-1])} or {known[-1]}, "
                          "separated by commas")
        if name in names:
            raise Refused(f"--arms {text}: {name} is given twice")
        if colon and not live:
            raise Refused(f"--arms {text}: weights are for --live; a round has each arm once")
        names.append(name)
        weights[name] = _number(f"--arms {text}: weight", weight, 1, 1000, whole=True) if colon else 50
    if len(names) < 2:
        raise Refused(f"--arms {text}: expected two or more arms")
    if live and len(names) > MOST_ARMS:
        raise Refused(f"--arms {text}: expected at most {MOST_ARMS} arms")
    return names, weights
