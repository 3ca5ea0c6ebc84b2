# SPDX-License-Identifier: MIT
"""LuaSocket's socket.smtp sends headers, body and the final dot by separate sends, as an LTN12 pump passes
them on."""

from runner import Affected, SmtpPeer, Victim, talks


def got(peer, _):
    return len(peer.mails) == 15 and all(
        b"this is mail %d." % number in mail for number, mail in enumerate(peer.mails, 1))


VICTIM = Victim(
    sick="client",
    needs=("lua5.4",),
    measure=talks("lua5.4", "lua-socket-smtp/client.lua", peer=SmtpPeer, got=got),
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
