"""Arrays for servers that take tensors: drawn as the inputs of any model are, and texts where one takes texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchwright.errors import RequestError
from benchwright.records import Inputs
from benchwright.targets.signatures import TensorSignature
from benchwright.worker.endpoints.vocabulary import WORDS, WordSource
from benchwright.worker.runtimes.inputs.feeds import Array, Feed, build

TEXT = "str"  # the dtype of an input that takes texts; servers call it BYTES
_WORDS = 16  # of each text
_MOST_TEXTS = 1_000_000


def draw_arrays(specs: Sequence[TensorSignature], inputs: Inputs) -> list[Feed]:
    """The arrays of each request, `inputs.count` of them: random, constant or from files, as `inputs` says.

    An input of the dtype "str" takes texts; each of its elements is one of sixteen words, unlike all others.
    """
    numbers = [spec for spec in specs if spec.dtype != TEXT]
    feeds = build(numbers, inputs)[0] if numbers else [{} for _ in range(max(1, inputs.count))]
    source = WordSource(WORDS)
    return [
        {spec.name: feed[spec.name] if spec.name in feed else _draw_texts(source, spec, inputs, i) for spec in specs}
        for i, feed in enumerate(feeds)
    ]


def _draw_texts(source: WordSource, spec: TensorSignature, inputs: Inputs, place: int) -> Array:
    sizes = spec.shape or ()
    if spec.shape is None or any(not isinstance(size, int) for size in sizes[1:]):
        raise RequestError(f"input {spec.name!r} takes texts, and their number is open", remedy="give --shape")
    shape = tuple(size if isinstance(size, int) else inputs.batch_size for size in sizes)
    count = math.prod(shape)
    if count > _MOST_TEXTS:
        raise RequestError(f"input {spec.name!r} takes {count:,} texts, more than {_MOST_TEXTS:,}")
    key = f"{inputs.seed} {spec.name}"
    texts = [source.text(f"{key} {number}", _WORDS, number) for number in range(place * count, (place + 1) * count)]
    return np.array(texts, dtype=object).reshape(shape)
