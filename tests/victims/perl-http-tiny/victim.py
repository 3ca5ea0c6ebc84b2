# SPDX-License-Identifier: MIT
"""HTTP::Tiny before 0.091, in Perl's core, writes header and content by two writes, each after a select;
newer ones set TCP_NODELAY."""

import subprocess

from runner import Affected, Victim, posts


def well():
    """HTTP::Tiny 0.091 and newer set TCP_NODELAY on each connection."""
    found = subprocess.run(["/usr/bin/perl", "-MHTTP::Tiny", "-e", "print HTTP::Tiny->VERSION"],
                           check=True, capture_output=True, text=True).stdout
    return f"HTTP::Tiny {found}" if float(found) >= 0.091 else ""


VICTIM = Victim(
    sick="client",
    needs=("/usr/bin/perl",),
    measure=posts("/usr/bin/perl", "perl-http-tiny/client.pl", exchanges=25),
    well=well,
    affected=Affected(
        software="Perl, HTTP::Tiny before 0.091, post",
        package="perl",
        source="HTTP::Tiny 0.092, from CPAN, sets TCP_NODELAY itself. An older one has no option for it.",
        observe="perl client.pl",
        words=("HTTP::Tiny",),
    ),
)
