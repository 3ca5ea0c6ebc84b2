# SPDX-License-Identifier: MIT
"""The same report of KDAB over TLS: QNetworkAccessManager writes header and body of a SOAP request as two
records, by two writes."""

from runner import Victim
from runner.qnam import measure_qnam


def measure(treatment, scratch):
    return measure_qnam(5, treatment, scratch, tls=True)


VICTIM = Victim(
    sick="client",
    needs=("g++", "pkg-config", "nginx", "openssl"),
    packages=("qtbase5-dev",),
    measure=measure,
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
)
