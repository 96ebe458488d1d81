"""Every example is executed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from benchwright import plugins
from benchwright.targets.sources import Request, plan
from benchwright.worker.runtimes import Loaded


def _load(request: Request) -> list[Loaded]:
    return [plugins.load("runtimes", case.target.runtime)().load(case) for case in plan(request)]


def _called(loaded: Loaded) -> object:
    answer = loaded.call(*loaded.arguments[0])
    if not loaded.is_async:
        return answer
    with ThreadPoolExecutor(1) as thread:  # another test's event loop may be running in this one
        return thread.submit(asyncio.run, answer).result()


def test_the_text_benchmarks_run(root: Path) -> None:
    file = str(root / "examples" / "bench_text.py")
    loaded = _load(Request(targets=[file, f"{file}::encode"]))
    answers = [_called(item) for item in loaded]
    assert [len(answer) for answer in answers[:2]] == [100, 1000]  # type: ignore[arg-type]
    assert [item.items_per_call for item in loaded] == [100, 1000, 1, 1, 1]
    assert len(answers[2]) >= len(answers[3]) > 0  # type: ignore[arg-type]
    assert str(answers[4]).startswith('{"words"')


@pytest.mark.parametrize("name", ["Mlp", "wide"])
def test_the_torch_model_runs(name: str, root: Path) -> None:
    target = str(root / "examples" / f"torch_mlp.py::{name}")
    (loaded,) = _load(Request(targets=[target], runtimes=("torch",), batch_sizes=(4,)))
    assert loaded.arguments[0][0].shape == (4, 64)
    assert loaded.call(*loaded.arguments[0]).shape == (4, 10)
    loaded.close()


@pytest.mark.parametrize("variant", ["tiny", "small"])
@pytest.mark.parametrize("batch", ["", "2"])
def test_the_models_are_made_and_run(variant: str, batch: str, root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "examples" / "make_model.py"), variant, str(tmp_path / "model.onnx")]
    subprocess.run(command + (["--batch", batch] if batch else []), check=True)
    request = Request(targets=[str(tmp_path / "model.onnx")], runtimes=("onnxruntime", "openvino"), batch_sizes=(2,))
    first, second = (np.array(_called(loaded)[0]) for loaded in _load(request))  # type: ignore[index]
    assert first.shape == (2, 10) and np.std(first) > 0.01
    assert np.allclose(first, second, rtol=1e-3, atol=1e-4)


def test_the_models_are_the_same_every_time(root: Path, tmp_path: Path) -> None:
    script = str(root / "examples" / "make_model.py")
    for name in ("a.onnx", "b.onnx"):
        subprocess.run([sys.executable, script, "tiny", str(tmp_path / name)], check=True)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
