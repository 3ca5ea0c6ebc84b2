# SPDX-License-Identifier: MIT
"""msmtp sends a mail line by line (smtp_send_mail), so a mail of two lines stalls at its end."""

import subprocess
import time
from dataclasses import replace

from runner import Affected, SmtpPeer, Victim, whole_runs

MAIL = b"Subject: hello\nFrom: a@localhost\nTo: b@localhost\n\nDear b,\nthis is a mail.\n"


def send(port, env):
    """One mail, in milliseconds."""
    begin = time.monotonic_ns()
    subprocess.run(["msmtp", "--file=/dev/null", "--host=127.0.0.1", f"--port={port}", "--tls=off",
                    "--auth=off",
                    "--from=a@localhost", "b@localhost"], input=MAIL, env=env, check=True, timeout=20,
                   capture_output=True)
    return (time.monotonic_ns() - begin) / 1e6


def measure(treatment, scratch):
    with SmtpPeer() as peer:
        peer.meet(None)
        found, _ = whole_runs(treatment, scratch, "msmtp", lambda env: send(peer.port, env))
    assert len(peer.mails) == 12 * (2 if found.bare_ms else 1), peer.mails
    assert all(b"this is a mail." in mail for mail in peer.mails), peer.mails
    # Of each mail one connection: its segments, the greeting's and all commands' among them.
    own = peer.counts[1::2] if found.bare_ms else peer.counts
    return replace(found, segments=sum(own) / len(own))


VICTIM = Victim(
    sick="client",
    needs=("msmtp",),
    measure=measure,
    verdict="it sends each message in many small writes and Nagle holds all but the first",
    segments={"nodelay": 13, "cork": 5, "coalesce": 5, "auto": 13},
    whole_run=True,
    affected=Affected(
        software="msmtp, a mail of more than one line",
        package="msmtp",
        source="Collect the lines of a mail in a buffer before the write.",
        observe="msmtp ...",
        programs=("msmtp",),
    ),
)
