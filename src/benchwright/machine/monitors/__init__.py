"""Monitors watch a worker's process tree from outside it. What cannot be read is an answer, not an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from benchwright.records import Metric, Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one monitor saw between `start` and `stop`."""

    metrics: tuple[Metric, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)  # what -> "unavailable: reason"
    cost: float = 0.0  # percent of one core that watching took


class Monitor(Protocol):
    """What every monitor offers. All methods are called from one thread of the parent, `sample` ten times a second."""

    name: ClassVar[str]

    def start(self, pids: list[int]) -> None:
        """The workers' process ids (one per copy); called at time zero of the timed phase, takes the first sample."""
        ...

    def sample(self) -> None:
        """One look at the whole process tree; cheap."""
        ...

    def stop(self) -> Observation:
        """The last look, and everything seen."""
        ...
