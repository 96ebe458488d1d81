"""Arrays for servers that take tensors: drawn as the inputs of any model are, and texts where one takes texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchwright.errors import RequestError
from benchwright.records import Inputs, ResultWarning
from benchwright.targets.signatures import TensorSignature, format_shape
from benchwright.worker.endpoints.vocabulary import WORDS, WordSource
from benchwright.worker.runtimes.inputs.feeds import Array, Feed, build, is_constant
from benchwright.worker.runtimes.inputs.shapes import resolve

TEXT = "str"  # the dtype of an input that takes texts; servers call it BYTES
MOST_ELEMENTS = 2**28  # of all requests together: the sizes are those that a stranger's server tells
_WORDS = 16  # of each text
_MOST_TEXTS = 1_000_000


def draw_arrays(
    specs: Sequence[TensorSignature], inputs: Inputs, warnings: list[ResultWarning] | None = None
) -> list[Feed]:
    """The arrays of each request, `inputs.count` of them: random, constant or from files, as `inputs` says.

    An input of the dtype "str" takes texts; each of its random elements is one of sixteen words, unlike all others.
    """
    if inputs.source == "random":
        _check_sizes(resolve(specs, inputs, []), max(1, inputs.count))
    feeds, found = build(specs, inputs)
    if warnings is not None:
        warnings += found
    drawn = [spec for spec in specs if spec.dtype == TEXT and _is_drawn(spec, inputs)]
    source = WordSource(WORDS)
    for place, feed in enumerate(feeds):
        feed |= {spec.name: _draw_texts(source, spec.name, feed[spec.name].shape, inputs, place) for spec in drawn}
    return feeds


def _is_drawn(spec: TensorSignature, inputs: Inputs) -> bool:
    return inputs.source == "random" and spec.name not in inputs.files and not is_constant(spec.name, inputs)


def _check_sizes(specs: Sequence[TensorSignature], count: int) -> None:
    """Refuses inputs that would fill the memory."""
    sizes = {spec.name: count * math.prod(int(size or 0) for size in spec.shape or ()) for spec in specs}
    for spec in specs:
        if spec.dtype == TEXT and sizes[spec.name] > _MOST_TEXTS:
            raise RequestError(f"input {spec.name!r} takes {sizes[spec.name]:,} texts, more than {_MOST_TEXTS:,}")
    if sum(sizes.values()) > MOST_ELEMENTS:
        shapes = ", ".join(f"{spec.name} {spec.dtype}{format_shape(spec.shape)}" for spec in specs)
        raise RequestError(
            f"the inputs have {sum(sizes.values()):,} elements: {shapes}",
            remedy=f"ask for fewer than {MOST_ELEMENTS:,} in all, with --shape, --batch-size and --input-count",
        )


def _draw_texts(source: WordSource, name: str, shape: tuple[int, ...], inputs: Inputs, place: int) -> Array:
    key, count = f"{inputs.seed} {name}", math.prod(shape)
    texts = [source.text(f"{key} {number}", _WORDS, number) for number in range(place * count, (place + 1) * count)]
    return np.array(texts, dtype="U").reshape(shape)
