# SPDX-License-Identifier: MIT
"""LuaSocket's smtp module pumps a mail chunk by chunk: headers, body, final dot."""

from pathlib import Path

from runner import Affected, SmtpPeer, Victim, run_mailer

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    peer = SmtpPeer()
    result = run_mailer(treatment, scratch,
                        lambda port: ["lua5.4", HERE / "client.lua", port, EXCHANGES], peer, EXCHANGES)
    assert len(peer.mails) == EXCHANGES
    assert all(b"this is mail %d." % number in mail for number, mail in enumerate(peer.mails, 1)), peer.mails
    return result


VICTIM = Victim(
    story="LuaSocket's socket.smtp sends headers, body and the final dot by separate sends, as an LTN12 "
          "pump passes them on",
    sick="client",
    needs=("lua5.4",),
    measure=measure,
    verdict="it sends each message in three small writes and Nagle holds all but the first",
    segments={"nodelay": 6, "cork": 4, "coalesce": 4, "auto": 4},
    affected=Affected(
        software="LuaSocket, socket.smtp",
        package="lua-socket",
        source="Call `smtp.send{create = ...}` with a function that returns a socket after "
               "`setoption('tcp-nodelay', true)`",
        observe="lua client.lua",
        words=("socket.smtp",),
    ),
)
