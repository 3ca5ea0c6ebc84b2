# SPDX-License-Identifier: MIT
"""The one counter of TCP_INFO that clients of servers need."""

import socket
import struct

# struct tcp_info of linux/tcp.h: tcpi_data_segs_in, which only grows.
_DATA_SEGS_IN = 152


def data_segments_in(sock):
    """The segments with data that arrived on a socket so far."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("=I", info, _DATA_SEGS_IN)[0]
