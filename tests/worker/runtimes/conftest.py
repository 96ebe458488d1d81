"""Cases for runtimes, and the example models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import make_model
from benchwright.records import Case, Inputs, Load, Scalar, Target

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="session")
def make_case() -> Callable[..., Case]:
    """`make_case("onnxruntime", path, options={...}, inputs=..., load=..., params=...)`."""

    def make(
        runtime: str,
        uri: str | Path,
        *,
        device: str = "cpu",
        precision: str = "",
        options: dict[str, Scalar] | None = None,
        inputs: Inputs | None = None,
        load: Load | None = None,
        params: dict[str, Scalar] | None = None,
    ) -> Case:
        target = Target(runtime=runtime, uri=str(uri), device=device, precision=precision, options=options or {})
        return Case(
            name="case", target=target, inputs=inputs or Inputs(), load=load or Load(), params=params or {"workers": 1}
        )

    return make


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A perceptron with a dynamic batch: x[batch, 256] -> y[batch, 10]."""
    return _saved(make_model.make("tiny"), tmp_path_factory.mktemp("models") / "tiny.onnx")


@pytest.fixture(scope="session")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A perceptron whose batch is fixed at 4."""
    return _saved(make_model.perceptron((8, 4), 4), tmp_path_factory.mktemp("models") / "fixed.onnx")


@pytest.fixture(scope="session")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolutional network whose height and width are dynamic as well."""
    model = make_model.convnet(32, (4, 8))
    for axis in (2, 3):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = f"side{axis}"
    return _saved(model, tmp_path_factory.mktemp("models") / "dynamic.onnx")


def _saved(model: Any, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path
