# SPDX-License-Identifier: MIT
"""msmtp, a sendmail of our days: each line of a mail is a send; a connection a mail."""

import json
import subprocess
import time

from runner import BARE, Affected, Measurement, SmtpPeer, Victim

RUNS = 12
MAIL = b"Subject: hello\nFrom: a@localhost\nTo: b@localhost\n\nDear b,\nthis is a mail.\n"


def send(port, env):
    """One mail, in milliseconds."""
    begin = time.monotonic_ns()
    subprocess.run(["msmtp", "--file=/dev/null", "--host=127.0.0.1", f"--port={port}", "--tls=off",
                    "--auth=off",
                    "--from=a@localhost", "b@localhost"], input=MAIL, env=env, check=True, timeout=20,
                   capture_output=True)
    return (time.monotonic_ns() - begin) / 1e6


def assert_loaded(treatment, scratch):
    """A run is over too soon to be looked at: its own report says that the library was there."""
    reports = [json.loads(path.read_text("utf-8")) for path in scratch.glob("report-*.json")]
    own = [report for report in reports if report["program"] == "msmtp" and report["mode"] == treatment.name]
    assert len(own) == RUNS or not treatment.reports, f"{len(own)} reports of msmtp in {RUNS} runs"


def measure(treatment, scratch):
    env = treatment.env(**treatment.report_to(scratch / "report-%p.json"))
    times, bare = [], []
    with SmtpPeer() as peer:
        peer.meet(None)
        for _ in range(RUNS):
            if treatment is not BARE:
                bare.append(send(peer.port, BARE.env()))
            times.append(send(peer.port, env))
    assert len(peer.mails) == len(times) + len(bare) and all(b"this is a mail." in mail
                                                             for mail in peer.mails)
    assert_loaded(treatment, scratch)
    # Of each mail one connection: its segments, the greeting's and all commands' among them.
    own = peer.counts[1::2] if bare else peer.counts
    return Measurement(tuple(times[1:]), sum(own) / len(own), bare_ms=tuple(bare[1:]))


VICTIM = Victim(
    story="msmtp sends a mail line by line (smtp_send_mail), so a mail of two lines stalls at its end",
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
