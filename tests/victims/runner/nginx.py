# SPDX-License-Identifier: MIT
"""A real nginx in the foreground."""

import shutil

from .daemon import Daemon
from .treatments import BARE
from .victims import SEARCH

_MAIN = """\
daemon off;
master_process off;
pid {scratch}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
    keepalive_requests 100000;
    client_body_temp_path {scratch}/body;
    proxy_temp_path {scratch}/proxy;
    fastcgi_temp_path {scratch}/fastcgi;
    uwsgi_temp_path {scratch}/uwsgi;
    scgi_temp_path {scratch}/scgi;
{http}
}}
"""


class Nginx(Daemon):
    """nginx with the server blocks of a configuration; @PORT@ and @SCRATCH@ in it are filled in."""

    def __init__(self, servers, scratch, treatment=BARE):
        self._servers = servers
        super().__init__(self._arguments, treatment.env(), scratch, "nginx")

    def _arguments(self, port):
        servers = self._servers.replace("@PORT@", str(port)).replace("@SCRATCH@", str(self._scratch))
        path = self._scratch / "nginx.conf"
        path.write_text(_MAIN.format(scratch=self._scratch, http=servers), "utf-8")
        return [shutil.which("nginx", path=SEARCH), "-p", self._scratch, "-c", path]
