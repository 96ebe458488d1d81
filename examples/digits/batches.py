"""The input pipeline of the training: the 1,797 handwritten digits that scikit-learn brings along, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

TRAINED = 1437  # of the digits; the other 360 say how good the model is


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """All images, 64 grey values from 0 to 1 each, and what they show, in an order that is always the same.

    The file has them writer by writer; in its own order the last ones would be of people whom the model never saw.
    """
    table = torch.tensor(np.loadtxt(_file(), delimiter=",", dtype=np.float32))
    order = torch.randperm(len(table), generator=torch.Generator().manual_seed(0))
    return table[order, :-1] / 16.0, table[order, -1].long()


def _file() -> Path:
    """Where scikit-learn has the digits. To import it would take longer than the whole training."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise SystemExit("the digits are a part of scikit-learn: pip install scikit-learn")
    return Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"


def batches(images: torch.Tensor, size: int, seed: int, *, slow: bool = False) -> Iterator[torch.Tensor]:
    """The places of the images of each batch of an epoch, shuffled; `slow` works through every grey value in Python."""
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    for chosen in order.split(size):
        if slow:
            brighten(images[chosen])
        yield chosen


def brighten(images: torch.Tensor) -> list[list[float]]:
    """What an input pipeline should never do: one grey value after the other."""
    return [[min(1.0, float(value) * 1.01) for value in image] for image in images]
