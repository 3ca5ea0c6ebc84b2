# SPDX-License-Identifier: MIT
"""wget writes header and --post-data by two writes, each after a select for writability."""

from runner import POSTED, Affected, Victim, run_client

EXCHANGES = 25


def measure(treatment, scratch):
    def command(port):
        return ["wget", "--no-config", "--no-proxy", "--quiet", "--tries=1", "--timeout=10",
                "--output-document=-", f"--post-data={POSTED}",
                *[f"http://127.0.0.1:{port}/order"] * EXCHANGES]

    return run_client(treatment, scratch, command, POSTED.encode(), EXCHANGES)


VICTIM = Victim(
    sick="client",
    needs=("wget",),
    measure=measure,
    affected=Affected(
        software="GNU Wget, --post-data",
        package="wget",
        source="Join header and body in one write. curl sets TCP_NODELAY by itself.",
        observe="wget --post-data=... URL",
        programs=("wget",),
    ),
)
