# SPDX-License-Identifier: MIT
"""WEBrick on JRuby under load: shown, not judged, for what JRuby itself takes is in the latency too."""

from dataclasses import replace

from runner import Victim, measure_load
from runner.victims import HOME


def measure(treatment, scratch):
    def command(port, *more):
        return ["jruby", HOME / "webrick" / "server.rb", port, *more]

    found = measure_load(treatment, scratch, command, "/order", own_cure=lambda port: command(port, "nodelay"), warm=10)
    # What WEBrick itself takes for an answer is a multiple of what the story's ratio leaves it: shown, not judged.
    return replace(found, rates={f"{name}, not judged" if name == "bare" else name: rate
                                 for name, rate in found.rates.items()})


VICTIM = Victim(
    story="JRuby and Puma: 1405 requests a second without TCP_CORK, 12245 with; here WEBrick on JRuby",
    sick="server",
    needs=("jruby", "wrk"),
    measure=measure,
    verdict="it sends each answer in two small writes and Nagle holds the second",
    heavy=True,
)
