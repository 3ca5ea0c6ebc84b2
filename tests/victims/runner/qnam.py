# SPDX-License-Identifier: MIT
"""QNetworkAccessManager of Qt 5 or 6 against nginx, plain or over TLS."""

import json
import ssl
import subprocess

from harness import run

from .compiled import build, compiled
from .http_peer import HttpPeer
from .measurement import Measurement, WARM
from .nginx import Nginx

POSTS = 20
# The body must be read whole before the answer: an answer to the head alone hides the stall.
_SERVERS = """\
server {{
    listen 127.0.0.1:@PORT@ {ssl};
    {certificate}
    location / {{ proxy_pass http://unix:@SCRATCH@/inner.sock; }}
}}
server {{
    listen unix:@SCRATCH@/inner.sock;
    location / {{ default_type text/xml; return 200 "<soap:Envelope/>\\n"; }}
}}
"""
_CERTIFICATE = "ssl_certificate @SCRATCH@/cert.pem; ssl_certificate_key @SCRATCH@/key.pem;"


class _TlsPeer(HttpPeer):
    """The well peer over TLS, with the certificate of the scratch folder."""

    def __init__(self, scratch):
        super().__init__()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(scratch / "cert.pem", scratch / "key.pem")

    def serve(self, connection):
        connection.socket = self._context.wrap_socket(connection.socket, server_side=True)
        super().serve(connection)


def program(major):
    """The client, made with the Qt of that major version."""
    words = subprocess.run(["pkg-config", "--cflags", "--libs", f"Qt{major}Network"], check=True,
                           capture_output=True, text=True).stdout.split()
    return compiled("qt5-qnam/client.cpp", "g++", "-O1", "-fPIC", "-std=c++17", libraries=words)


def servers(scratch, tls):
    """nginx's configuration; a certificate of our own is left in the scratch folder."""
    if tls:
        build(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
               "-days", "1", "-subj", "/CN=localhost", "-keyout", scratch / "key.pem", "-out",
               scratch / "cert.pem"])
    return _SERVERS.format(ssl="ssl" if tls else "", certificate=_CERTIFICATE if tls else "")


def post(binary, url, treatment, posts=POSTS, **variables):
    """The facts of one run of the client."""
    done = run([binary, url, posts], treatment.env(QT_LOGGING_RULES="*=false", **variables), timeout=30)
    facts = json.loads(done.stdout)
    treatment.assert_mapped(" ".join(facts["mapped"]))
    assert not facts["failures"] and len(facts["times"]) == posts, facts
    return facts["times"]


def measure_qt5(treatment, scratch, tls=False):
    """A Measurement: times against nginx, segments from a run against the well peer."""
    binary = program(5)
    protocol = "https" if tls else "http"
    with Nginx(servers(scratch, tls), scratch) as nginx:
        times = post(binary, f"{protocol}://127.0.0.1:{nginx.port}/soap", treatment)
    with _TlsPeer(scratch) if tls else HttpPeer() as peer:
        peer.meet(None)
        post(binary, f"{protocol}://127.0.0.1:{peer.port}/soap", treatment, posts=10)
    assert len(peer.connections) == 1 and len(peer.requests) == 10, peer.heads
    segments = (peer.counts[-1] - peer.counts[WARM - 1]) / (len(peer.counts) - WARM)
    return Measurement(tuple(times[WARM:]), segments)
