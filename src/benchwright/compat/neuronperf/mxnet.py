"""Apache MXNet, which there is no runtime for: every call says so, and what to use instead."""

from __future__ import annotations

from typing import Any, NoReturn

from benchwright.errors import TargetError


def benchmark(*_: Any, **__: Any) -> NoReturn:
    """Refuses to measure a model of MXNet, and says what to do."""
    raise TargetError(_WHY, remedy=_REMEDY)


def compile(*_: Any, **__: Any) -> NoReturn:  # noqa: A001 - the name its users know
    """Refuses to prepare a model of MXNet, and says what to do."""
    raise TargetError(_WHY, remedy=_REMEDY)


def evaluate(*_: Any, **__: Any) -> NoReturn:
    """Refuses to evaluate a model of MXNet, and says what to do."""
    raise TargetError(_WHY, remedy=_REMEDY)


_WHY = "Benchwright has no runtime for MXNet, which has been retired and has no releases for the Pythons of today"
_REMEDY = (
    "export the model to ONNX with mxnet.onnx.export_model, where MXNet is installed, and use npf.onnxruntime; "
    "or give npf.cpu a class that calls it"
)
