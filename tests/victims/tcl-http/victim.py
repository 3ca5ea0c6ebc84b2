# SPDX-License-Identifier: MIT
"""Tcl's http::geturl flushes head and -query by two flushes, with a turn of the event loop in between."""

from runner import Affected, Victim, posts

VICTIM = Victim(
    sick="client",
    needs=("tclsh",),
    measure=posts("tclsh", "tcl-http/client.tcl", exchanges=15),
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="Tcl, http::geturl with -query",
        package="tcl8.6",
        source="Tcl 8.6 has no option for TCP_NODELAY. Flush once, after the body.",
        observe="tclsh client.tcl",
        words=("http::geturl",),
    ),
)
