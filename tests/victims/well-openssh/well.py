# SPDX-License-Identifier: MIT
"""ssh: each packet of a session is one write (without a terminal it does not set TCP_NODELAY)."""

import getpass
import os
import subprocess

from runner import BARE, Daemon, Well, build
from runner.prefixed import prefixed

_SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {home}/host
AuthorizedKeysFile {home}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
"""


def drive(prefix, env, scratch):
    for name in ("host", "user"):
        build(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scratch / name])
    conf = scratch / "sshd.conf"
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # as its start script does

    def command(port):
        conf.write_text(_SERVER.format(port=port, home=scratch), "utf-8")
        return ["/usr/sbin/sshd", "-D", "-e", "-f", conf]

    with Daemon(command, BARE.env(), scratch) as server:
        words = [*map(str, prefix), "--", "ssh", "-T", "-F", "none", "-p", str(server.port), "-i",
                 str(scratch / "user"), "-o", "StrictHostKeyChecking=no", "-o",
                 "UserKnownHostsFile=/dev/null",
                 "-o", "LogLevel=ERROR", f"{getpass.getuser()}@127.0.0.1", "cat"]
        with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              bufsize=0) as client:
            for number in range(20):
                client.stdin.write(b"line %d\n" % number)
                answer = b""
                while not answer.endswith(b"\n"):
                    piece = client.stdout.read(100)
                    assert piece, "ssh has ended"
                    answer += piece
            client.stdin.close()
            assert client.wait(10) == 0


def session(traces):
    """The session only: in its handshake ssh has the pattern (its version, then its keys), and is cured."""
    client = traces[0]
    lines = [at for at, call in enumerate(client) if call.startswith("write(3<TCP>") and
             call.endswith(" = 44")]
    assert len(lines) >= 20, client
    return [client[lines[-19]:lines[-1] + 2]]  # beside the first one the server says that cat runs


WELL = Well(
    judged=session,
    # At most: strace shows in bare runs, too, that 44 bytes after the 16 that end the keys' exchange wait for
    # 44 ms; and if the server's version comes late, the keys wait behind our own version.
    stalls=2,
    needs=("ssh", "sshd", "ssh-keygen"),
    drive=drive,
)
