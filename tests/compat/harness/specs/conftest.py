"""Spec files as the tests write them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]

MODEL: dict[str, Any] = {
    "name": "tiny",
    "format": "caffe2",
    "files": {
        "init": {"filename": "init_net.pb", "location": "init_net.pb", "md5": "b1946ac92492d2347c6235b4d2611184"},
        "predict": {"filename": "predict_net.pb", "location": "predict_net.pb"},
    },
}
TEST: dict[str, Any] = {"identifier": "{ID}", "metric": "delay", "iter": 5, "warmup": 1}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a spec with that model (keys beside the usual ones; None takes one away) and those tests."""
    (tmp_path / "init_net.pb").write_text("hello\n")
    (tmp_path / "predict_net.pb").write_text("world\n")

    def one(*tests: dict[str, Any], name: str = "spec.json", model: dict[str, Any] | None = None, **more: Any) -> Path:
        merged = {**copy.deepcopy(MODEL), **(model or {})}
        merged = {key: value for key, value in merged.items() if value is not None}
        content = {"model": merged, "tests": [{**TEST, **test} for test in tests], **more}
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2))
        return path

    return one
