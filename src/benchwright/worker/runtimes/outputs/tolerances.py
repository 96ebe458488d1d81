"""How far outputs may be from what is expected when nobody says: about half of the digits their type has.

Two backends that compute the same model add the same numbers in another order, so they differ by a few units of the
last digit for each layer; something that is really wrong (a layer, a layout, a missing step) changes the first digits.
The usual tolerance lies between the two. Cancellation leaves small elements with the error of the large ones they come
from, so a share of the whole output's size (its root mean square) is allowed as well.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from benchwright.records import Tolerance
from benchwright.stats import errors

Array = npt.NDArray[Any]

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
