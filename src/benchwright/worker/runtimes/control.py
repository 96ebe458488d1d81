"""The control benchmark: fixed work by which a machine is told from how it was before. Standard library only.

Three kernels, none of which needs a library: integer arithmetic, copying more memory than caches hold, and a product of
small matrices. What they do never changes within a `VERSION`, which is part of every series of theirs. Whoever changes
one of them counts it up, and the series begin anew.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import ClassVar

from benchwright.errors import DeviceError, LoadError, did_you_mean
from benchwright.records import Case, Target
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.options import refuse_unknown

VERSION = 1
SCHEME = "control:"
_STEPS = 6_000  # of the generator in one call
_MASK = (1 << 64) - 1
_COPIED = 32 << 20  # bytes in one call; as many are written as are read
_SIDE = 32  # of a matrix


class Control:
    """`control:integer`, `control:memory` and `control:matrix`."""

    name: ClassVar[str] = "control"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    @staticmethod
    def check(target: Target) -> None:
        """Refuses what is not one of the kernels, options, and devices: it is the CPU that is looked at."""
        refuse_unknown(target.options, (), "control")
        kernel_of(target)
        if target.device != "cpu":
            raise DeviceError(f"the control benchmark has no device {target.device!r}", remedy="leave out --device")

    def load(self, case: Case) -> Loaded:
        self.check(case.target)
        return Loaded(call=KERNELS[kernel_of(case.target)](), details={"control_version": VERSION})


def kernel_of(target: Target) -> str:
    """The kernel that a target names."""
    name = target.uri.removeprefix(SCHEME)
    if name not in KERNELS:
        raise LoadError(f"the control benchmark has no part {name!r}", remedy=did_you_mean(name, KERNELS))
    return name


def _integer() -> Callable[[], int]:
    """A generator of random numbers: shifts, exclusive or and one product, each step on what the last one gave."""

    def call() -> int:
        state = 0x9E3779B97F4A7C15
        for _ in range(_STEPS):
            state ^= state >> 12
            state ^= (state << 25) & _MASK
            state ^= state >> 27
        return (state * 0x2545F4914F6CDD1D) & _MASK

    return call


def _memory() -> Callable[[], None]:
    """A copy from one place to another, too large for most caches."""
    source, target = bytearray(b"\1") * _COPIED, memoryview(bytearray(_COPIED))

    def call() -> None:
        target[:] = source

    return call


def _matrix() -> Callable[[], list[list[float]]]:
    """The product of two square matrices of floating-point numbers, row by column."""
    left = [[(row * _SIDE + column) % 17 / 16 for column in range(_SIDE)] for row in range(_SIDE)]
    columns = [[(row + 3 * column) % 13 / 12 for row in range(_SIDE)] for column in range(_SIDE)]
    multiply = operator.mul

    def call() -> list[list[float]]:
        return [[sum(map(multiply, row, column)) for column in columns] for row in left]

    return call


KERNELS: dict[str, Callable[[], Callable[[], object]]] = {"integer": _integer, "memory": _memory, "matrix": _matrix}
