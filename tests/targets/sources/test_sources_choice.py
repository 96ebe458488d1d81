"""Which source reads a target."""

from __future__ import annotations

import pytest

from benchwright.targets.sources import source_of


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("bench.py::Encode.onnx", "callables"),  # a method, whatever models end in
        ("bench.py", "callables"),
        ("model.onnx", "models"),
        ("fake:constant", "models"),
        ("model.yaml::test", "specs"),
    ],
)
def test_the_target_decides(target: str, name: str) -> None:
    assert source_of(target).name == name
