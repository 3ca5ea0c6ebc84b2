# SPDX-License-Identifier: MIT
"""KDAB reports 20 SOAP requests that take a second: QNetworkAccessManager writes header and body apart; only
Qt 6 joins them."""

from runner import Affected, Victim
from runner.qnam import measure_qt5


VICTIM = Victim(
    sick="client",
    needs=("g++", "pkg-config", "nginx", "openssl"),
    packages=("qtbase5-dev",),
    measure=measure_qt5,
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="Qt 5, QNetworkAccessManager, post",
        package="qtbase5-dev",
        source="Qt 6 joins header and body. In Qt 5 a program has no access to the manager's socket.",
        observe="PROGRAM",
        libraries=("libQt5Network.so",),
    ),
)
