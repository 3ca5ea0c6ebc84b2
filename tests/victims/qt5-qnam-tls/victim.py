# SPDX-License-Identifier: MIT
"""QNetworkAccessManager of Qt 5 posts to nginx over TLS: header and body apart, a poll between."""

from runner import Victim
from runner.qnam import measure_qnam


def measure(treatment, scratch):
    return measure_qnam(5, treatment, scratch, tls=True)


VICTIM = Victim(
    story="the same report of KDAB over TLS: QNetworkAccessManager writes header and body of a SOAP request"
          " as two records, by two writes",
    sick="client",
    needs=("g++", "pkg-config", "nginx", "openssl"),
    packages=("qtbase5-dev",),
    measure=measure,
    verdict="it sends each message in two small writes and Nagle holds the second",
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
)
