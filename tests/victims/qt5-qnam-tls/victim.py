# SPDX-License-Identifier: MIT
"""The same report of KDAB over TLS: QNetworkAccessManager writes header and body of a SOAP request as two
records, by two writes."""

from functools import partial

from runner import Victim
from runner.qnam import measure_qt5


VICTIM = Victim(
    sick="client",
    needs=("g++", "pkg-config", "nginx", "openssl"),
    packages=("qtbase5-dev",),
    measure=partial(measure_qt5, tls=True),
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
)
