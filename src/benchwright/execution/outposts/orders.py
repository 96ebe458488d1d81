"""What a parent orders beside attempts: an environment, a revision built in one. Both ends of the line know these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchwright.records import Failure

BUILD_SECONDS = 3600.0  # an environment may take


@dataclass(frozen=True, slots=True, kw_only=True)
class SentWheel:
    """A wheel that was sent, and may be installed: where it lies here, and what is in it."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentOrder:
    """An environment that is to be on another machine: the packages, and for what is built the working copy.

    The order is the lock: two orders that are equal are one environment, which is made once on a machine.
    """

    pins: tuple[str, ...] = ()  # NAME==VERSION, all that is needed: nothing is added to them
    requirements: tuple[str, ...] = ()  # as pip reads them on its command line, with what they need
    content: str = ""  # of a requirements file
    constraints: tuple[str, ...] = ()  # contents of constraint files
    wheels: tuple[SentWheel, ...] = ()  # where there are some, no index is asked
    command: str = ""  # a shell line that builds in the working copy
    folder: str = ""  # the working copy here, where something of it is installed or built; "": nothing is
    revision: str = ""
    timeout: float = BUILD_SECONDS
    again: bool = False  # also where it is there already

    @property
    def is_built(self) -> bool:
        """Whether the working copy itself becomes part of the environment, which then is for this revision alone."""
        return bool(self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeEnvironment:
    """An environment over there, or why there is none."""

    python: str = ""
    folder: str = ""  # the working copy that belongs to it, where it was built
    packages: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cached: bool = False  # it was there from before
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlace:
    """Where a worker is started over there."""

    python: str = ""  # "": that of the outpost
    folder: str = ""  # "": where the run's files lie
    revision: str = ""  # that it belongs to
    own: bool = False  # its environment holds nothing but its own packages
