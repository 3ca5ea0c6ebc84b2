# SPDX-License-Identifier: MIT
"""A Python client posts header and body by two sends to nginx, as geventhttpclient once did."""

import json
from pathlib import Path

from harness import run
from runner import Nginx, Victim, measured

HERE = Path(__file__).parent
EXCHANGES = 25


def measure(treatment, scratch):
    with Nginx((HERE / "server.conf").read_text("utf-8"), scratch) as nginx:
        done = run(["/usr/bin/python3", HERE / "client.py", nginx.port, EXCHANGES], treatment.env())
    facts = json.loads(done.stdout)
    treatment.assert_mapped(" ".join(facts["mapped"]))
    assert facts["answers"] == ["HTTP/1.1 200 OK"], facts["answers"]
    return measured(facts["times_ms"], facts["counts"])


VICTIM = Victim(
    sick="client",
    needs=("nginx",),
    measure=measure,
)
