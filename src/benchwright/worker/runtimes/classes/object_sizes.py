"""What asv's `mem_*` and `peakmem_*` methods measure: the size of an object, and the most that the process held.

Standard library only; pympler, which asv uses, counts where the benchmark's own environment has it.
"""

from __future__ import annotations

import copy
import gc
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

_STATUS = Path("/proc/self/status")
_PEAK = "VmHWM:"
_KIB = 1024
# What an object only refers to and that is no part of it: pympler leaves these out as well.
_NO_PART = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, FrameType)


def size_of(value: Any) -> float:
    """Bytes that one more such object takes, as asv counts: those of a shallow copy that it does not share."""
    measure = _measure()
    return float(measure([value, copy.copy(value)]) - measure([value, value]))


def peak_of_process() -> float:
    """Bytes: the most that this process has held in memory since its program began, setup included, as in asv.

    The kernel's mark of the program itself is taken where there is one: that of `getrusage` may be what the process
    that started this one held before.
    """
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith(_PEAK):
                return float(line.split()[1]) * _KIB
    except (OSError, IndexError, ValueError):
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) if sys.platform == "darwin" else float(peak) * _KIB


def _measure() -> Callable[[Any], int]:
    try:
        measure: Callable[[Any], int] = importlib.import_module("pympler.asizeof").asizeof
    except ImportError:
        return _reachable
    return measure


def _reachable(value: Any) -> int:
    """The sizes of all objects that can be reached, each once."""
    seen: dict[int, Any] = {}  # keeps them alive, so that no number is given twice
    pending = [value]
    total = 0
    while pending:
        one = pending.pop()
        if id(one) in seen or isinstance(one, _NO_PART):
            continue
        seen[id(one)] = one
        total += sys.getsizeof(one, 0)
        pending += gc.get_referents(one)
    return total
