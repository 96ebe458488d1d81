"""What is measured: a no-op, and a small ONNX model of about 18 µs a call on one core."""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

_MAKER = Path(__file__).resolve().parents[2] / "examples" / "make_model.py"


def no_op() -> None:
    """Does nothing."""


@cache
def model(variant: str = "tiny", batch: int = 1) -> Path:
    """The file of an example model with a fixed batch; written once for each process, removed at its end."""
    import onnx

    path = _folder() / f"{variant}.onnx"
    onnx.save(runpy.run_path(str(_MAKER))["make"](variant, batch), path)
    return path


def session_call(path: Path) -> Callable[[], Any]:
    """One inference in ONNX Runtime on one thread, as a callable without arguments."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    shapes = {i.name: i.shape for i in session.get_inputs()}
    feed = {name: np.random.default_rng(0).standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return partial(session.run, [output.name for output in session.get_outputs()], feed)


@cache
def _folder() -> Path:
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="benchwright-"))
    return Path(_FOLDERS[0].name)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []  # they go when this module does
