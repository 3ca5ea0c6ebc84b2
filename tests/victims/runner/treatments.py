# SPDX-License-Identifier: MIT
"""The treatments: the columns of the table.

One more column (another preload, say) is one more Treatment in TREATMENTS.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from harness import CURING_MODES, LIB, PASSING_MODES, bare_env

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@dataclass(frozen=True)
class Treatment:
    """The environment of the stalling process, and of no other one.

    `expects` is the outcome: `stalls` (the stall stays), `cured` (it is gone), or `any` (shown in the table,
    not judged). With `own` the victim runs with its own cure and without a preload.
    """
    name: str
    expects: str
    preload: Path = None
    variables: dict = field(default_factory=dict, hash=False)
    own: bool = False

    @property
    def words(self):
        """The word by which a program of these folders takes its own cure."""
        return ["nodelay"] if self.own else []

    def adding(self, **variables):
        """The same, with more in the environment."""
        return replace(self, variables={**self.variables, **variables})

    def env(self, **variables):
        """The sick process's environment; no proxy of the machine may stand between the two sides."""
        if self.preload:
            variables = {"LD_PRELOAD": self.preload, **self.variables, **variables}
        return {name: value for name, value in bare_env(**variables).items()
                if name.lower() not in _PROXIES}

    @property
    def reports(self):
        """Whether the treatment is our library, which can report."""
        return self.preload == LIB

    def report_to(self, pattern):
        """The variable that asks for a report, none where there is none to ask for."""
        return {"UNSTALL_REPORT": pattern} if self.reports else {}

    def assert_mapped(self, text):
        """`text` (the maps of a process) has the preload, or has it not, as this treatment says."""
        if self.preload:
            assert str(self.preload) in text, f"{self.name}: {self.preload.name} is not loaded"
        else:
            assert "libunstall" not in text, f"{self.name}: the library is loaded"

    def assert_in(self, pid):
        """As assert_mapped, for a living process."""
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            self.assert_mapped(maps.read())


def _mode(mode, expects):
    return Treatment(mode, expects, LIB, {"UNSTALL_MODE": mode})


BARE = Treatment("bare", "stalls")
OWN = Treatment("own cure", "cured", own=True)
TREATMENTS = {treatment.name: treatment for treatment in (
    BARE,
    *(_mode(mode, "stalls") for mode in PASSING_MODES),
    *(_mode(mode, "cured") for mode in CURING_MODES),
)}
