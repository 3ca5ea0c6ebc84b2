# SPDX-License-Identifier: MIT
"""Python's own file server, over HTTP/1.1.  Arguments: port, folder, and `nodelay` for its own cure."""

import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = "nodelay" in sys.argv


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])),
                                functools.partial(Handler, directory=sys.argv[2])).serve_forever()
