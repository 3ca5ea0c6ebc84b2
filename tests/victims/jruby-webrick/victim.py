# SPDX-License-Identifier: MIT
"""WEBrick on JRuby under load: shown, not judged, for what JRuby itself takes is in the latency too."""

from runner import Victim, measure_load
from runner.victims import HOME


def measure(treatment, scratch):
    def command(port):
        return ["jruby", HOME / "webrick" / "server.rb", port]

    return measure_load(treatment, scratch, command, "/order", warm=10)


VICTIM = Victim(
    story="JRuby and Puma: 1405 requests a second without TCP_CORK, 12245 with; here WEBrick on JRuby",
    sick="server",
    needs=("jruby", "wrk"),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    heavy=True,
)
