# SPDX-License-Identifier: MIT
"""The small common runner of the victims: real programs, the same measurement under every treatment.

A victim is a folder beside this one with a `victim.py` that defines VICTIM; nothing else has to be
told of it: test_victims.py and run.py find it by its folder.  Its measure(treatment, scratch) starts
the sick program with treatment.env(), and everything else bare; drives it over one connection, asserts
that each answer is right and that the preload is where it should be (treatment.assert_in), and returns
measured(times, segment counts).  For a sick HTTP client all of that is run_client(); for a sick server
it is a Daemon and a Driver.  What it needs from Debian goes to packages.txt.

A column of the table is a Treatment in treatments.py.
"""

from .client import run_client, run_mailer, talk
from .compiled import build, compiled, made
from .daemon import Daemon
from .driver import Driver
from .http_peer import HttpPeer
from .http_server import run_http_server
from .imap_peer import ImapPeer
from .java import compile_java
from .load import measure_load
from .line_server import run_line_server
from .judge import CURED_MS, ILL_MS, complaints
from .measurement import Measurement, WARM, measured
from .nginx import Nginx
from .preloads import SIMPLE, simple
from .smtp_peer import SmtpPeer
from .talk_peer import TalkPeer
from .treatments import BARE, TREATMENTS, Treatment
from .victims import Victim, load, victims
from .wells import Well, load_well, wells

__all__ = [
    "BARE", "CURED_MS", "Daemon", "Driver", "HttpPeer", "ILL_MS", "ImapPeer", "Measurement", "Nginx",
    "SIMPLE", "SmtpPeer", "TREATMENTS", "TalkPeer", "Treatment", "Victim", "WARM", "Well", "build",
    "compile_java", "compiled", "complaints", "load", "load_well", "made", "measure_load", "measured",
    "run_client", "run_http_server", "run_line_server", "run_mailer", "simple", "talk", "victims", "wells",
]
