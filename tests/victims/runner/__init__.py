# SPDX-License-Identifier: MIT
"""The small common runner of the victims: real programs, the same measurement under every treatment.

A victim is a folder beside this one with a `victim.py` that defines VICTIM; nothing else has to be
told of it: test_victims.py and run.py find it by its folder.  Its measure(treatment, scratch) starts
the sick program with treatment.env(), and everything else bare; drives it over one connection, asserts
that each answer is right and that the preload is where it should be (treatment.assert_in), and returns
measured(times, segment counts).  The helpers for that:

    a sick client   posts() or run_client() for HTTP; talks() or run_talk() with a TalkPeer; whole_runs()
    a sick server   orders(), line_server(), run_http_server(), asked(); or a Daemon and a Driver;
                   under load measure_load()
    to build it     compiled(), made(), small_server()

Debian packages that it needs go to packages.txt, or to packages-heavy.txt if it is `heavy`: such victims are
left to scripts/gallery --all.

A program that is well has a `well.py` with WELL (see wells.py). A column of the table is a Treatment: bare
and the modes in treatments.py, the two simple preloads in preloads.py and ../preloads/.
"""

from .asked import all_there, asked, run_asked
from .client import POSTED, posts, run_client, run_talk, talks
from .compiled import build, compiled, made
from .counting_relay import CountingRelay
from .daemon import Daemon
from .driver import Driver
from .http_peer import HttpPeer
from .http_server import orders, run_http_server
from .imap_peer import ImapPeer
from .in_turns import Turns, compared, in_turns, on_one_core
from .java import joins_headers_and_body, small_server
from .line_server import line_server
from .load import measure_load
from .judge import CURED_MS, STALLING_MS, complaints, may_be_noise
from .measurement import Measurement, WARM, measured
from .mqtt_broker import MqttBroker
from .nginx import Nginx
from .observed import UNSEEN, Observed, wrong_of_well
from .preloads import SIMPLE, simple
from .smtp_peer import SmtpPeer
from .talk_peer import TalkPeer
from .treatments import BARE, OWN, TREATMENTS, Treatment
from .victims import Affected, Victim, load, victims
from .whole_runs import whole_runs
from .wells import Well, load_well, wells
