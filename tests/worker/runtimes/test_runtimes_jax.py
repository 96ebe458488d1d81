"""JAX: functions, factories and exported programs, each call waited for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Inputs
from benchwright.worker.runtimes.inputs.feeds import TensorSignature, random_array
from benchwright.worker.runtimes.jax import Jax

MakeCase = Callable[..., Case]
SOURCE = """
import jax.numpy as jnp

def double(x):
    return x * 2

def make():
    return lambda x: x + 1

class Net:
    def __call__(self, x):
        return jnp.sum(x)

    def example_inputs(self, batch_size):
        return jnp.ones((batch_size, 3))

nothing = 3

def broken():
    raise RuntimeError("no weights")
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    file = tmp_path / "jax_net.py"
    file.write_text(SOURCE)
    return file


def _load(make_case: MakeCase, uri: object, **fields: Any) -> Any:
    return Jax().load(make_case("jax", str(uri), **fields))


def _answer(loaded: Any, index: int = 0) -> np.ndarray:
    return np.asarray(loaded.call(*loaded.arguments[index]))


def test_a_function_is_compiled_and_called_with_arrays(net: Path, make_case: MakeCase) -> None:
    inputs = Inputs(shapes={"x": (1, 4)}, batch_size=2, count=2)
    loaded = _load(make_case, f"{net}::double", inputs=inputs)
    for index in (0, 1):
        given = random_array(TensorSignature(name="x", shape=(2, 4), dtype="float32"), 0, index)
        assert np.allclose(_answer(loaded, index), given * 2)
    assert loaded.details["inputs"] == {"0": "float32[2x4]"}
    assert loaded.details["jit"] is True
    assert loaded.versions["jax"]


def test_a_factory_and_a_class_are_called_for_the_model(net: Path, make_case: MakeCase) -> None:
    made = _load(make_case, f"{net}::make", inputs=Inputs(shapes={"x": (1, 2)}))
    assert np.all(_answer(made) >= 1)
    assert _answer(_load(make_case, f"{net}::Net", inputs=Inputs(batch_size=5))) == 15


def test_precision_casts_what_is_fed(net: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case, f"{net}::double", inputs=Inputs(shapes={"x": (1, 2)}), precision="bf16")
    assert loaded.details["inputs"] == {"0": "bfloat16[1x2]"}


def test_an_exported_program_tells_what_it_takes(tmp_path: Path, make_case: MakeCase) -> None:
    import jax
    from jax import export

    (batch,) = export.symbolic_shape("b")
    program = export.export(jax.jit(lambda x: x - 1))(jax.ShapeDtypeStruct((batch, 3), np.float32))
    path = tmp_path / "m.jax"
    path.write_bytes(bytes(program.serialize()))
    loaded = _load(make_case, path, inputs=Inputs(batch_size=4))
    assert _answer(loaded).shape == (4, 3)
    with pytest.raises(LoadError, match="exported with"):
        _load(make_case, path, precision="fp16")


@pytest.mark.parametrize(
    ("name", "fields", "error", "says"),
    [
        ("double", {}, LoadError, "leaves sizes open: input 'x' is of any shape"),
        ("double", {"inputs": Inputs(shapes={"y": (1,)})}, LoadError, "no parameter 'y'"),
        ("double", {"device": "tpu"}, DeviceError, "no device 'tpu'"),
        ("double", {"options": {"jitt": True}}, LoadError, "no option 'jitt'"),
        ("double", {"precision": "int4"}, LoadError, "no precision 'int4'"),
        ("nothing", {}, LoadError, "cannot be called"),
        ("broken", {}, LoadError, "no weights"),
    ],
)
def test_what_cannot_be_done_is_refused(
    net: Path, make_case: MakeCase, name: str, fields: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        _load(make_case, f"{net}::{name}", **fields)


def test_a_damaged_program_is_named(tmp_path: Path, make_case: MakeCase) -> None:
    (tmp_path / "bad.jax").write_bytes(b"not a program")
    with pytest.raises(LoadError, match=r"bad\.jax"):
        _load(make_case, tmp_path / "bad.jax")


def test_the_command_line_measures_it(net: Path, tmp_path: Path) -> None:
    given = [
        f"{net}::double",
        "--runtime",
        "jax",
        "--shape",
        "x:1x4",
        "--rounds",
        "1",
        "--duration",
        "0.1",
        "--no-save",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "benchwright", "run", *given, "--json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert '"status": "ok"' in done.stdout
