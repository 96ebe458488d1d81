"""Python callables as benchmarks: `benchwright run examples/bench_text.py`, or one of them with `::name`."""

import json
import random
import re
import zlib

from benchwright import benchmark

WORDS = ("model", "tensor", "batch", "layer", "weight", "token", "kernel", "stream")


def text(words: int) -> str:
    """The same words every time."""
    return " ".join(random.Random(0).choices(WORDS, k=words))


@benchmark(params={"words": [100, 1000]}, setup=text, items="words")
def tokenize(document: str) -> list[str]:
    """Setup's value is the first argument; its parameter `words` counts the items of a call."""
    return re.findall(r"\w+", document)


@benchmark(params={"words": [1000], "level": [1, 6]}, setup=text)
def compress(document: str, level: int) -> bytes:
    """A parameter of setup and one of the function."""
    return zlib.compress(document.encode(), level)


def encode() -> str:
    """A plain function is a benchmark as it is: `bench_text.py::encode`."""
    return json.dumps({"words": WORDS})
