# SPDX-License-Identifier: MIT
"""A headless Chromium for the tests, driven by the DevTools protocol over a pair of pipes.

Chromium reads commands from descriptor 3 and writes answers and events to descriptor 4, as JSON that
ends in a zero byte (--remote-debugging-pipe).  So no port is opened, and no package beside Chromium is
needed.
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
PATIENCE_S = 60  # for one answer; a busy machine takes 5 s to start Chromium

# --no-sandbox: root cannot have the sandbox, and the pages are ours.  --host-resolver-rules: no name has an
# address, so that a request which a page should not make does not leave the machine either.
SWITCHES = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--no-default-browser-check", "--disable-extensions", "--disable-component-update",
            "--disable-background-networking", "--disable-sync", "--disable-default-apps", "--mute-audio",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe")


def program():
    """The path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Failure(Exception):
    """The browser did not answer, or answered with an error."""


def pipe():
    """The ends of a pipe, both above 9: 3 and 4 must be free for the browser's."""
    ends = []
    for low in os.pipe():
        ends.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(low)
    return ends


class Browser:
    """A running Chromium, as a context manager."""

    def __enter__(self):
        self._exit = contextlib.ExitStack()
        with self._exit:  # undone only if the start fails
            profile = self._exit.enter_context(tempfile.TemporaryDirectory(prefix="unstall-pages.",
                                                                           ignore_cleanup_errors=True))
            theirs_in, self._out = pipe()
            self._in, theirs_out = pipe()
            self._child = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", program(), *SWITCHES,
                 f"--user-data-dir={profile}", "about:blank"],
                pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env={**os.environ, "HOME": profile})
            self._exit.callback(self._end)
            os.close(theirs_in)
            os.close(theirs_out)
            self._rest, self._number, self._events, self._session = b"", 0, [], None
            self._open_tab()
            self._exit = self._exit.pop_all()
        return self

    def __exit__(self, *_):
        self._exit.close()

    def _end(self):
        os.close(self._out)  # Chromium ends when its pipe does
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        os.close(self._in)

    def _open_tab(self):
        """One tab for all pages: a new one would take longer than a page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method, **parameters):
        """The result of one command, to the tab if there is one."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._events.append(answer)

    def load(self, url):
        """Load a page; events() begins anew."""
        for address in ("about:blank", url):  # late events of the page before it come to the empty one
            self._events = []
            loader = self.call("Page.navigate", url=address)["loaderId"]
            while not any(event["method"] == "Page.lifecycleEvent" and event["params"]["name"] == "load" and
                          event["params"]["loaderId"] == loader for event in self._events):
                self._events.append(self._next())

    def events(self):
        """The events since the page was asked for: (name, parameters)."""
        return [(event["method"], event["params"]) for event in self._events]

    def _next(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0, end - time.monotonic()))[0]:
                raise Failure(f"no answer within {PATIENCE_S} s")
            read = os.read(self._in, 1 << 20)
            if not read:
                raise Failure("the browser has ended")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


class Page:
    """A file, loaded into the browser."""

    def __init__(self, browser, path):
        self.browser, self.url = browser, Path(path).resolve().as_uri()
        self.call, self.events = browser.call, browser.events
        browser.load(self.url)

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failure(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def show(self, width, scheme):
        """Lay it out at a width in CSS pixels, in a light or a dark colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self):
        """The whole page as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                           optimizeForSpeed=True)
        return base64.b64decode(answer["data"])

    def accessibility_tree(self):
        """The nodes that a screen reader is given, and the nodes that it ignores."""
        return self.call("Accessibility.getFullAXTree")["nodes"]
