"""Subjects that live in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest

from benchwright.worker.engine.clock import FakeClock
from benchwright.worker.engine.subject import Subject


class Script:
    """A callable that takes the nanoseconds it is told to, round and round, and counts its calls."""

    def __init__(self, clock: FakeClock, latencies: Iterable[int]) -> None:
        self.clock, self.calls = clock, 0
        self._latencies = itertools.cycle(latencies)

    def __call__(self, *given: object) -> None:
        self.calls += 1
        self.clock.advance(next(self._latencies))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def scripted(clock: FakeClock) -> Callable[..., Subject]:
    """`scripted(1000, 2000)`: a subject whose calls take these nanoseconds of the `clock` fixture in turn."""
    return lambda *latencies, **fields: Subject(call=Script(clock, latencies), **fields)
