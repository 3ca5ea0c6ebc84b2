# SPDX-License-Identifier: MIT
"""client.py PORT POSTS BODY [once] [tens]: posts over one connection and prints the answers.

With `once`, head and body leave together, as after the project's own cure.  With `tens`, the story's own
client: for each line that it reads, a new connection and ten requests over it; prints their time in ms.
"""

import collections
import collections.abc
import sys
import time

# The package is of 2017; Python 3.10 took these names away.
for name in ("Mapping", "MutableMapping"):
    setattr(collections, name, getattr(collections.abc, name))

from geventhttpclient import HTTPClient  # noqa: E402  pylint: disable=wrong-import-position


class Once(HTTPClient):
    """Hands the body to the socket together with the head."""

    body = ""

    def request(self, method, request_uri, body=b"", headers=()):
        self.body = body.decode()
        return super().request(method, request_uri, b"", {**dict(headers), "Content-Length": len(body)})

    def _build_request(self, *words, **named):
        return super()._build_request(*words, **named) + self.body


port, posts, content = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
make = Once if "once" in sys.argv[4:] else HTTPClient


def post(client):
    return client.post("/order", body=content, headers={"Content-Type": "text/plain"}).read().decode()


def ten():
    client = make("127.0.0.1", port, concurrency=1)
    begin = time.monotonic_ns()
    for _ in range(10):
        assert post(client)
    took = time.monotonic_ns() - begin
    client.close()
    return took / 1e6


if "tens" in sys.argv[4:]:
    for _ in sys.stdin:
        print(ten(), flush=True)
else:
    kept = make("127.0.0.1", port, concurrency=1)
    for _ in range(posts):
        sys.stdout.write(post(kept))
    kept.close()
