# SPDX-License-Identifier: MIT
"""redis answers a command by one write and sets TCP_NODELAY."""

from runner import Daemon, Well
from runner.prefixed import driven


def drive(prefix, env, scratch):
    def command(port):
        return ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", scratch]

    with driven(Daemon(command, env, scratch, ready="Ready to accept"), prefix, env) as driver:
        for number in range(20):
            assert driver.exchange(b"SET key %d\r\n" % number,
                                   lambda got: got.endswith(b"\r\n")) == b"+OK\r\n"
            driver.exchange(b"GET key\r\n", lambda got: got.count(b"\r\n") == 2)


WELL = Well(
    needs=("redis-server",),
    drive=drive,
)
