"""One output beside what was expected of it: errors, the verdict, and both in the words of our records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchwright.records import Better, Case, Estimate, Metric, Tolerance, Value
from benchwright.stats import errors
from benchwright.stats.errors import Errors, ShapeError
from benchwright.units import format_number
from benchwright.worker.runtimes.inputs import array_files
from benchwright.worker.runtimes.outputs import COMPARED as COMPARED

Array = npt.NDArray[Any]

MOST_LISTED = 10_000  # elements of all outputs together that are told one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedOutput:
    """One output beside what was expected of it."""

    name: str  # as the expectation calls it
    own: str  # as the runtime does
    place: str
    found: Array
    expected: Array
    tolerance: Tolerance
    errors: Errors
    top: Mapping[int, float]  # agreement of the so many largest elements

    @property
    def is_judged(self) -> bool:
        """Whether a tolerance was set for the output."""
        return self.tolerance != Tolerance()

    @property
    def off(self) -> int:
        """Elements out of tolerance; where none was set for elements, those that are no finite number on one side."""
        by_element = self.tolerance.absolute is not None or self.tolerance.relative is not None
        return self.errors.off if by_element else self.errors.unlike

    @property
    def reasons(self) -> list[str]:
        """The reasons why the output is out of tolerance; empty when it is within."""
        asked, seen = self.tolerance, []
        if self.is_judged and self.off:
            seen.append(_describe_worst(self))
        if asked.cosine is not None and self.errors.cosine is None:
            seen.append("it has no cosine: no element is a finite number on both sides")
        elif asked.cosine is not None and self.errors.cosine is not None and self.errors.cosine < asked.cosine:
            seen.append(f"its cosine is {self.errors.cosine:.6f}, below {asked.cosine:g}")
        if asked.top is not None and self.top[asked.top] < 1:
            where = "" if self.found.ndim < 2 else f" in {1 - self.top[asked.top]:.3g} of the rows"
            seen.append(f"its {asked.top} largest elements are others{where}")
        return seen


def compare_output(name: str, own: str, found: Array, case: Case) -> ComparedOutput:
    """The case's expected output `name` beside what was found; a `LoadError` or `ShapeError` where that cannot be."""
    wanted = case.expected
    assert wanted is not None
    place = wanted.outputs[name]
    expected = array_files.read(place, name or own, found.shape)
    tolerance = wanted.tolerances.get(name, wanted.tolerances.get(""))
    try:
        if tolerance is None:
            tolerance = usual_tolerance(found, expected, case.target.precision)
        apart = errors.compare(found, expected, absolute=tolerance.absolute or 0.0, relative=tolerance.relative or 0.0)
        ranks = [1] if found.ndim and found.shape[-1] > 1 else []
        ranks += [tolerance.top] if tolerance.top and tolerance.top not in ranks else []
        top = {k: errors.agreement(found, expected, k) for k in ranks}
    except ShapeError as error:
        raise ShapeError(f"output {own!r} is {error} ({place})") from None
    return ComparedOutput(
        name=name,
        own=own,
        place=place,
        found=found,
        expected=expected,
        tolerance=tolerance,
        errors=apart,
        top=top,
    )


def metrics(each: ComparedOutput, suffix: str) -> Iterable[Metric]:
    """The errors of one output as metrics; `suffix` tells it from the other outputs."""
    apart = each.errors
    lower = {
        "error_max_abs": apart.max_abs,
        "error_mean_abs": apart.mean_abs,
        "error_rms": apart.rms,
        "error_max_rel": apart.max_rel,
        "error_mean_rel": apart.mean_rel,
    }
    if each.is_judged:
        lower["out_of_tolerance"] = float(each.off)
    higher = {} if apart.cosine is None else {"cosine": apart.cosine}
    if each.found.ndim <= 2 or each.tolerance.top:  # elsewhere the last axis seldom holds scores
        higher |= {f"top{k}": share for k, share in each.top.items()}
    for better, figures in ((Better.LOWER, lower), (Better.HIGHER, higher)):
        for name, value in figures.items():
            exact = Estimate(point=value, low=None, high=None, method=COMPARED)
            yield Metric(name=f"{name}{suffix}", unit="", better=better, estimate=exact, count=apart.size)


def details(found: Sequence[ComparedOutput]) -> dict[str, Value]:
    """Everything about each output, for the details of a result; elements one by one only while there are few."""
    described: dict[str, Value] = {}
    left = MOST_LISTED
    for each in found:
        listed = each.errors.size <= left
        left -= each.errors.size if listed else 0
        described[each.name or each.own] = _describe_output(each, listed)
    return described


def _describe_output(each: ComparedOutput, listed: bool) -> Value:
    apart, tolerance = each.errors, each.tolerance
    described: dict[str, Value] = {
        "output": each.own,
        "file": each.place,
        "shape": list(each.found.shape),
        "dtype": str(each.found.dtype),
        "size": apart.size,
        **{name: getattr(apart, name) for name in ("max_abs", "mean_abs", "rms", "max_rel", "mean_rel", "cosine")},
        **{f"top{k}": share for k, share in each.top.items()},
        "off": each.off,
        "unlike": apart.unlike,
        "tolerance": {
            name: value
            for name in ("absolute", "relative", "cosine", "top")
            if (value := getattr(tolerance, name)) is not None
        },
        "within": not each.reasons if each.is_judged else None,
        "worst": None if apart.worst is None else list(apart.worst),
    }
    if apart.worst is not None:
        described["worst_found"] = _number(each.found[apart.worst])
        described["worst_expected"] = _number(each.expected[apart.worst])
    if listed:
        described["values"], described["golden"] = (
            [_number(v) for v in side.ravel()] for side in (each.found, each.expected)
        )
    return described


def _describe_worst(compared: ComparedOutput) -> str:
    apart = compared.errors
    assert apart.worst is not None
    unlike = f", {apart.unlike:,} of them no finite numbers" if apart.unlike else ""
    mine, theirs = (_number(side[apart.worst]) for side in (compared.found, compared.expected))
    where = f" at {list(apart.worst)}" if apart.worst else ""
    return (
        f"{compared.off:,} of its {apart.size:,} elements are too far off{unlike}; "
        f"the worst{where} is {_format_value(mine)}, expected {_format_value(theirs)}"
    )


def _number(value: Any) -> Value:
    """One element as JSON can hold it: what is not finite in words, a complex number too."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool | int):
        return plain
    if isinstance(plain, complex) or not np.isfinite(float(plain)):
        return str(plain)
    return float(plain)


def _format_value(value: Value) -> str:
    return format_number(value, 7) if isinstance(value, float) else str(value)


# ---- tolerances ----

# How far outputs may be from what is expected when nobody says: about half of the digits their type has.
#
# Two backends that compute the same model add the same numbers in another order, so they differ by a few units of the
# last digit for each layer; something that is really wrong (a layer, a layout, a missing step) changes the first
# digits. The usual tolerance lies between the two. Cancellation leaves small elements with the error of the large ones
# they come from, so a share of the whole output's size (its root mean square) is allowed as well.
RELATIVE = {"fp32": 1e-3, "fp16": 3e-2, "bf16": 1e-1}  # by the coarser of both sides; double precision as single
SHARE = 0.1  # of the relative tolerance, times the expected output's root mean square: the absolute one
_SHORT = {"float16": "fp16", "bfloat16": "bf16"}
_ORDER = tuple(RELATIVE)


def usual_tolerance(found: Array, expected: Array, precision: str = "") -> Tolerance:
    """The tolerance of an output nobody set one for; `precision` is the one that its backend was asked to compute in.

    Whole numbers and truth values must be equal, but for those of 8 bits: quantised, and rounded either way.
    """
    if found.dtype.kind in "bui" and expected.dtype.kind in "bui":
        quantised = "b" not in (found.dtype.kind, expected.dtype.kind) and found.dtype.itemsize == 1
        return Tolerance(absolute=1.0 if quantised else 0.0)
    kinds = [_SHORT.get(str(array.dtype), "fp32") for array in (found, expected)]
    coarsest = max([*kinds, precision if precision in RELATIVE else "fp32"], key=_ORDER.index)
    relative = RELATIVE[coarsest]
    return Tolerance(relative=relative, absolute=SHARE * relative * (errors.scale(expected) or 1.0))
