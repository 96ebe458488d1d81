"""A node of a Ray cluster: `ray:ADDRESS?resources=bench:1&labels=kind:edge`.

An actor that asks for the resource holds a place on a node for as long as the run lasts, and runs the outpost. Only a
process of its own imports Ray (`ray_bridge`); its pipes are the line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from benchwright.errors import LinkError, OptionError
from benchwright.execution.hosts import ray_bridge
from benchwright.execution.outposts import launcher
from benchwright.execution.outposts.host import LINK, OutpostHost
from benchwright.execution.outposts.link import Link, Tell
from benchwright.records import Value

WAIT = 24 * 3600.0  # seconds for a place on the cluster
PARAMETERS = ("resources", "labels", "cpus", "python", "driver")


class RayHost(OutpostHost):
    """A node of the cluster at `address` with these resources and labels.

    `python` is the interpreter over there, by default the one that Ray uses; `driver` is one here that has Ray, in the
    version of the cluster.
    """

    def __init__(
        self,
        address: str,
        *,
        resources: Mapping[str, float] | None = None,
        labels: Mapping[str, str] | None = None,
        cpus: float = 0.0,
        python: str = "",
        driver: str = "",
    ) -> None:
        self._python, self._driver = python, driver or sys.executable
        self._node = ""
        self._asked = {
            "address": address,
            "resources": dict(resources or {}),
            "labels": dict(labels or {}),
            "cpus": cpus,
            "words": launcher.command(python),
        }
        wanted = [f"{key}:{value:g}" for key, value in sorted((resources or {}).items())]
        wanted += [f"{key}:{value}" for key, value in sorted((labels or {}).items())]
        super().__init__(f"ray:{address}{'?' if wanted else ''}{','.join(wanted)}", self._start, eager=False)
        self._check()

    @classmethod
    def from_text(cls, text: str) -> RayHost:
        """The host of `ray:TEXT`, which is ADDRESS or ADDRESS?resources=bench:1&labels=kind:edge&cpus=2."""
        address, _, query = text.partition("?")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        if unknown := [name for name in asked if name not in PARAMETERS]:
            raise OptionError(f"ray:{text}: {unknown[0]!r} is not known", remedy=f"known: {', '.join(PARAMETERS)}")
        try:
            resources = {name: float(amount) for name, amount in _pairs(asked.get("resources", ""))}
            cpus = float(asked.get("cpus", 0.0))
        except ValueError:
            raise OptionError(f"ray:{text}: an amount is no number", remedy="write resources=bench:1") from None
        return cls(
            address,
            resources=resources,
            labels=dict(_pairs(asked.get("labels", ""))),
            cpus=cpus,
            python=asked.get("python", ""),
            driver=asked.get("driver", ""),
        )

    @property
    def system(self) -> Mapping[str, Value]:
        """Which nodes it may be, which is its identity; and which it is, which is not."""
        return {"host": {"name": self.name, "node": self._node}}

    def explain_loss(self, error: LinkError) -> tuple[str, str]:
        """What Ray says of the actor whose line broke: a lost node is not a failed benchmark."""
        return (
            ("node-lost", f"Ray lost the node {self._node}".rstrip())
            if f"code {ray_bridge.LOST}" in error.message
            else (LINK, "")
        )

    def _check(self) -> None:
        """Asks the cluster at once, so that one that is not there is refused before anything is planned."""
        import subprocess

        command = self._bridge(check=True)
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, errors="replace")
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OptionError(f"{self.name}: {error}", remedy="is the cluster up?") from None
        if told.returncode:
            lines = [line for line in told.stderr.strip().splitlines() if line.strip()]
            raise OptionError(
                f"{self.name}: {lines[-1][-400:] if lines else 'no answer'}",
                remedy="pip install ray in the cluster's version, or name a Python that has it with ?driver=PATH"
                if "No module named 'ray'" in told.stderr
                else "see `ray status`",
            )

    def _bridge(self, *, check: bool = False) -> list[str]:
        """The process that imports Ray. It is given as text: beside its file lies a module named `ray`, this one."""
        source = Path(ray_bridge.__file__).read_text(encoding="utf-8")
        return [self._driver, "-c", source, json.dumps({**self._asked, "check": check})]

    def _start(self, tell: Tell) -> Link:
        tell("waiting for a node of the Ray cluster")
        link = launcher.start(self._bridge(), name=self.name, python=self._python, patience=WAIT)
        self._node = link.find_line(ray_bridge.NODE)
        return link


def _pairs(text: str) -> list[tuple[str, str]]:
    """`'bench:1,gpu:2'` as pairs."""
    found = []
    for item in text.split(","):
        name, colon, value = item.partition(":")
        if item and not (name and colon and value):
            raise OptionError(f"ray: {item!r} is not NAME:VALUE")
        if item:
            found.append((name, value))
    return found
