# SPDX-License-Identifier: MIT
"""nginx buffers header and body itself (writev, tcp_nodelay on)."""

from runner import Nginx, Well
from runner.http_server import whole
from runner.prefixed import driven

SERVER = """\
server {
    listen 127.0.0.1:@PORT@;
    root @SCRATCH@/files;
}
"""


def drive(prefix, env, scratch):
    (scratch / "files").mkdir()
    (scratch / "files" / "small.txt").write_bytes(b"a small file\n" * 20)
    with driven(Nginx(SERVER, scratch), prefix, env) as driver:
        for _ in range(20):
            driver.exchange(b"GET /small.txt HTTP/1.1\r\nHost: localhost\r\n\r\n", whole)


WELL = Well(
    needs=("nginx",),
    drive=drive,
)
