# SPDX-License-Identifier: MIT
"""Commands of attach that begin and end at the same moment, on connections that they share."""

import subprocess

from unreached import PINS, is_cured, stalls, talking, wait_until

from harness import COMMAND, bare_env, unstall

TRIES = 20


def started(*words):
    return subprocess.Popen([COMMAND, "attach", *map(str, words)], env=bare_env(), text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_of_two_experiments_that_begin_together_one_is_refused():
    """The bug: each looked at what was attached before the other one had pinned anything, and both began."""
    arms = ["--arms", "off:1,nodelay:1", "--seed", 1]
    with talking() as talker:
        for _ in range(3 * TRIES):
            both = [started(talker.pid, *arms, *port) for port in ([], ["--port", talker.peer_port])]
            assert wait_until(lambda two=both: any(one.poll() is not None for one in two) or
                              len(list(PINS.glob(f"pid-{talker.pid}*/events"))) == 2)
            for one in both:
                one.terminate()
            codes = sorted(one.wait(60) for one in both)
            said = "".join(one.communicate()[1] for one in both)
            assert codes == [0, 125] and said.count("an experiment shares none") == 1, said


def test_of_two_that_have_the_same_name_one_is_refused():
    with talking() as talker:
        for _ in range(TRIES):
            both = [started(talker.pid, "--detach") for _ in range(2)]
            assert sorted(one.wait(60) for one in both) == [0, 125]
            assert "".join(one.communicate()[1] for one in both).count("attached already") == 1
            assert unstall("detach", talker.pid).returncode == 0
        assert stalls(talker)


def test_a_beginning_and_an_end_together_disturb_neither():
    """The end of the last attachment removes the folder of all, into which another one is about to pin."""
    with talking() as one, talking() as other:
        for _ in range(TRIES):
            assert unstall("attach", "--detach", one.pid).returncode == 0
            begins = started(other.pid, "--detach")
            assert unstall("detach", one.pid).returncode == 0
            assert begins.wait(60) == 0, begins.communicate()
            begins.communicate()
            assert is_cured(other)
            assert unstall("detach", other.pid).returncode == 0
            assert not PINS.exists()
