"""A test as a case: its name, its parameters, and how it is to be measured."""

from __future__ import annotations

import hashlib
import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchwright.errors import did_you_mean
from benchwright.pytest_plugin.options import WARMUPS
from benchwright.records import Case, Load, Scalar, Target, Value
from benchwright.worker.engine.budget import CallBudget
from benchwright.worker.engine.clock import Clock

if TYPE_CHECKING:
    import pytest

RUNTIME = "pytest"
MOST_TEXT = 200  # characters of a parameter; a longer text is called as in the test's id
MOST_BITS = 4096  # of a whole number
MOST_DEEP = 6  # levels of what a test adds to its result
IGNORED = (
    "min_time",
    "disable_gc",
    "calibration_precision",
    "warmup_iterations",
    "precision",
    "confidence",
    "cprofile",
)
KNOWN = ("group", "min_rounds", "max_time", "warmup", "timer", *IGNORED)
USUAL_TIMERS = ("", "time.perf_counter", "time.perf_counter_ns", "perf_counter", "perf_counter_ns")

LONGER = "give --benchmark-max-time more seconds"
REMEDIES = {  # of warnings: what to do about them at this door
    "never-steady": f"{LONGER}; of that, half is the warm-up at most",
    "drift": LONGER,
    "few-samples": LONGER,
    "busy-machine": "measure on a quieter machine",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTerms:
    """How a test is measured: what its mark says, else what the options say."""

    __test__ = False

    budget: CallBudget
    group: str = ""
    timer: str = ""  # the name of another clock; "" for the engine's own
    clock: Clock | None = None


class TimerClock:
    """A timer of the user's as a clock. Nobody waits on it: it need not run by itself. `unit`: what it gives, in ns."""

    def __init__(self, timer: Callable[[], float], unit: int) -> None:
        self.now: Callable[[], int] = lambda: int(timer() * unit)

    def wait_until(self, instant: int) -> None:
        """Returns at once."""


def terms_of(item: pytest.Item) -> TestTerms:
    """How this test is measured; a `UsageError` for a mark that says what nobody knows."""
    import pytest

    option, said = item.config.option, _read_mark(item)
    seconds, least = (
        said.get("max_time", option.benchmark_max_time),
        said.get("min_rounds", option.benchmark_min_rounds),
    )
    if not isinstance(least, int) or least < 1 or not isinstance(seconds, int | float) or not 0 < seconds < 86400:
        raise pytest.UsageError(f"{item.nodeid}: the mark benchmark wants min_rounds >= 1 and max_time in seconds")
    kind = str(said.get("warmup", option.benchmark_warmup)).lower()
    if kind not in WARMUPS:
        raise pytest.UsageError(f"{item.nodeid}: the mark benchmark wants warmup True or False, auto, on or off")
    timer = said.get("timer", option.benchmark_timer)
    name, clock = _find_clock(timer, item.nodeid)
    budget = CallBudget(seconds=float(seconds), least=least, warmup=WARMUPS[kind])
    return TestTerms(budget=budget, group=str(said.get("group") or ""), timer=name, clock=clock)


def case_of(
    item: pytest.Item, terms: TestTerms, *, options: Mapping[str, Scalar], load: Load | None = None, work: str = ""
) -> Case:
    """The test as a case. Its parameters are the case's; what no record can hold is called as in the test's id."""
    timed = {"timer": terms.timer} if terms.timer else {}
    return Case(
        name=bare_name(item),
        target=Target(runtime=RUNTIME, uri=item.nodeid, options={**options, **timed}, work=work),
        params=params_of(item),
        load=load or Load(duration=terms.budget.seconds, warmup=terms.budget.warmup),
        version=_version(item),
        tags=(terms.group,) if terms.group else (),
    )


def bare_name(item: pytest.Item) -> str:
    """The node id without the parameters."""
    called = getattr(getattr(item, "callspec", None), "id", None)
    return item.nodeid if called is None else item.nodeid.removesuffix(f"[{called}]")


def params_of(item: pytest.Item) -> dict[str, Scalar]:
    """The parameters of a test by name."""
    spec = getattr(item, "callspec", None)
    if spec is None:
        return {}
    parts = spec.id.split("-")
    names = parts if len(parts) == len(spec.params) else [spec.id] * len(spec.params)
    return {name: _scalar(value, called) for (name, value), called in zip(spec.params.items(), names, strict=True)}


def plain_value(value: object, depth: int = 0) -> Value:
    """What a test adds to its result, as a record can hold it: numbers, texts, lists and mappings; else its text."""
    if isinstance(value, str):
        return value[: 10 * MOST_TEXT]
    if isinstance(value, int):  # of which one that is too long has no decimal text
        return value if value.bit_length() <= MOST_BITS else f"{value:#x}"[:MOST_TEXT]
    if value is None:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < MOST_DEEP and isinstance(value, Mapping):
        return {_text(name): plain_value(inner, depth + 1) for name, inner in value.items()}
    if depth < MOST_DEEP and isinstance(value, list | tuple | set | frozenset):
        return [plain_value(inner, depth + 1) for inner in value]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a number of numpy's
        return plain_value(value.item(), depth + 1)
    return _text(value)


def _read_mark(item: pytest.Item) -> dict[str, Any]:
    import pytest

    said: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("benchmark"))):  # the nearest one counts most
        if mark.args:
            raise pytest.UsageError(f"{item.nodeid}: the mark benchmark takes keywords alone")
        said |= mark.kwargs
    for name in said:
        if name not in KNOWN:
            raise pytest.UsageError(f"{item.nodeid}: the mark benchmark has no {name!r}: {did_you_mean(name, KNOWN)}")
    return said


def _find_clock(timer: Any, where: str) -> tuple[str, Clock | None]:
    import pytest

    if isinstance(timer, str) and timer not in USUAL_TIMERS:
        import pkgutil

        try:
            timer = pkgutil.resolve_name(timer)
        except (ImportError, AttributeError, ValueError) as error:
            raise pytest.UsageError(f"{where}: timer: {error}") from None
    if isinstance(timer, str):
        return "", None
    name = f"{getattr(timer, '__module__', '')}.{getattr(timer, '__qualname__', repr(timer))}".strip(".")
    if not callable(timer):
        raise pytest.UsageError(f"{where}: timer: {timer!r} cannot be called")
    if name in USUAL_TIMERS:
        return "", None
    clock = TimerClock(timer, 1 if name.endswith("_ns") else 10**9)
    if not _runs(clock):
        raise pytest.UsageError(f"{where}: timer: {name} does not run: it should give a number that grows")
    return name, clock


def _runs(clock: TimerClock) -> bool:
    """Whether the clock has moved within a second: nothing that waits for one which stands would ever end."""
    try:
        begin, end = clock.now(), time.monotonic() + 1.0
        while clock.now() <= begin:
            if time.monotonic() > end:
                return False
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _text(value: object) -> str:
    try:
        return str(value)[:MOST_TEXT]
    except Exception as error:  # the border to the user's class
        return f"{type(value).__name__}, whose __str__ raised {type(error).__name__}"


def _scalar(value: object, called: str) -> Scalar:
    if isinstance(value, int) and value.bit_length() <= MOST_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return value if isinstance(value, str) and len(value) <= MOST_TEXT else called[:MOST_TEXT]


def _version(item: pytest.Item) -> str:
    """A hash of the test's source; "" where there is none."""
    try:
        source = inspect.getsource(item.function)  # type: ignore[attr-defined]
    except (OSError, TypeError, AttributeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]
