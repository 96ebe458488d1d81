"""The TensorFlow runtime on models that TensorFlow itself wrote."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get(
    "BENCHWRIGHT_TENSORFLOW_PYTHON", str(Path(__file__).parents[2] / ".venv-tensorflow" / "bin" / "python")
)
MAKE = """
import sys
import tensorflow as tf

class Plain(tf.Module):
    @tf.function
    def __call__(self, x):
        return x * 2

model = tf.keras.Sequential([tf.keras.Input((8,), name="x"), tf.keras.layers.Dense(4)])
model.save("dense.keras")
model.export("saved")
"""
CODE = """
import tensorflow as tf

def make():
    return tf.keras.Sequential([tf.keras.Input((8,), name="x"), tf.keras.layers.Dense(4)])

class Plain(tf.Module):
    def __call__(self, x):
        return x * 2
"""
SHORT = ("--rounds", "1", "--duration", "0.1", "--no-save", "--json")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tensorflow")
    (folder / "net.py").write_text(CODE)
    subprocess.run([PYTHON, "-c", MAKE], cwd=folder, check=True, capture_output=True)
    return folder


def _run(folder: Path, *given: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [PYTHON, "-m", "benchwright", "run", *given, *SHORT], cwd=folder, capture_output=True, text=True
    )
    return done.returncode, json.loads(done.stdout)["data"] if done.stdout else {}, done.stderr


@pytest.mark.parametrize(
    "given",
    [
        ["dense.keras", "--batch-size", "4", "--option", "intra_op_threads=1"],
        pytest.param(["saved/saved_model.pb", "--batch-size", "4"], marks=pytest.mark.soak),
        pytest.param(
            ["net.py::make", "--runtime", "tensorflow", "--batch-size", "4", "--option", "jit_compile=true"],
            marks=pytest.mark.soak,
        ),
        pytest.param(
            ["net.py::Plain", "--runtime", "tensorflow", "--shape", "x:1x8", "--batch-size", "4"],
            marks=pytest.mark.soak,
        ),
    ],
    ids=["keras", "saved model", "factory", "module"],
)
def test_every_kind_of_model_is_measured(models: Path, given: list[str]) -> None:
    code, told, errors = _run(models, *given)
    assert code == 0, errors
    (result,) = told["results"]
    assert result["status"] == "ok"
    assert list(result["details"]["inputs"].values()) == ["float32[4x8]"]
    assert result["environment"]["runtimes"]["tensorflow"]


@pytest.mark.soak
def test_what_cannot_be_done_is_refused_before_or_recorded(models: Path) -> None:
    assert _run(models, "dense.keras", "--option", "intra=1")[0] == 2
    code, told, _ = _run(models, "dense.keras", "--device", "gpu")
    assert code == 1
    assert "no device 'gpu'" in told["results"][0]["error"]["message"]
    (models / "bad.keras").write_bytes(b"nothing")
    code, told, _ = _run(models, "bad.keras")
    assert code == 1
    assert "bad.keras" in told["results"][0]["error"]["message"]
