# SPDX-License-Identifier: MIT
"""A server of HTTP/1.1 that stalls: http.server flushes the headers, and the body is a write of its own.

The argument is a port, or `activated`: the listening socket is descriptor 3 (sd_listen_fds(3)).
Behind it, `log`: a line for each request on stderr, as http.server writes it.
"""

import http.server
import socket
import socketserver
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "200")
        self.end_headers()
        self.wfile.write(b"x" * 200)

    def log_message(self, *words):
        if sys.argv[2:] == ["log"]:
            super().log_message(*words)


class Server(http.server.ThreadingHTTPServer):
    def server_bind(self):
        socketserver.TCPServer.server_bind(self)  # without a look at names


if sys.argv[1] == "activated":
    server = Server(None, Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=3)
else:
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
server.serve_forever()
