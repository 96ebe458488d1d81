"""This machine as one of several: reached through an outpost like the others, so that all are treated alike."""

from __future__ import annotations

import sys

from benchwright.execution.outposts import archive
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.link import Link, Tell
from benchwright.records import Value


class HereHost(OutpostHost):
    """This machine, under the identity that it has when it measures alone."""

    def __init__(self) -> None:
        super().__init__("local", _start)

    @property
    def system(self) -> dict[str, Value]:
        """Nothing: what it measures belongs to the series that it has already."""
        return {}


def _start(tell: Tell) -> Link:
    return Link([sys.executable, "-c", archive.BOOTSTRAP], name="local", archive=archive.find())
