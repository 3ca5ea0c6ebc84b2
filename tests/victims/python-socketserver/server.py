# SPDX-License-Identifier: MIT
"""server.py PORT [nodelay]: answers each line by two writes to wfile, which socketserver does not buffer."""

import socketserver
import sys


class Handler(socketserver.StreamRequestHandler):
    """A line server as the manual of socketserver shows it."""
    disable_nagle_algorithm = "nodelay" in sys.argv

    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"200 %d\n" % (len(line) - 1))
            self.wfile.write(b"you said " + line)


socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer.daemon_threads = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
