# SPDX-License-Identifier: MIT
"""client.py PORT POSTS BODY [once]: posts over one connection and prints the answers.

With `once`, head and body leave together: what the project's own cure made of it.
"""

import collections
import collections.abc
import sys

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
client = (Once if sys.argv[4:] == ["once"] else HTTPClient)("127.0.0.1", port, concurrency=1)
for _ in range(posts):
    response = client.post("/order", body=content, headers={"Content-Type": "text/plain"})
    sys.stdout.write(response.read().decode())
client.close()
