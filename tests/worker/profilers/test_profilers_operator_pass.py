"""The operators of real models, as each library tells them, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright import plugins
from benchwright.records import Case, Inputs, Operator, Target
from benchwright.worker.profilers.operator_pass import DETAIL, MOST, RecordedCalls, Recording
from benchwright.worker.runtimes import Report


def test_onnxruntime_tells_every_node_once_a_call(tiny_model: Path, tmp_path: Path) -> None:
    found = _recorded("onnxruntime", str(tiny_model), folder=tmp_path, inputs=Inputs(count=3))
    assert sorted(operator.kind for operator in found) == ["FusedGemm"] * 4 + ["Gemm"]
    assert len({operator.name for operator in found}) == 5
    assert not any("kernel_time" in operator.name for operator in found)
    assert all(operator.shapes.startswith("[1x") for operator in found)


def test_openvino_tells_what_it_executed_and_names_what_it_merged(tiny_model: Path, tmp_path: Path) -> None:
    found = _recorded("openvino", str(tiny_model), folder=tmp_path, inputs=Inputs(count=2))
    dense = [operator for operator in found if operator.kind == "FullyConnected"]
    assert len(dense) == 5
    assert any(" + a0" in operator.name for operator in dense)  # the activation that follows
    assert not any(operator.kind in ("Parameter", "Result", "Constant") for operator in found)
    assert "[1x256]" in dense[0].shapes


def test_torch_tells_operators_by_module(root: Path, tmp_path: Path) -> None:
    found = _recorded("torch", f"{root / 'examples' / 'torch_mlp.py'}::Mlp", folder=tmp_path)
    products = {operator.name: operator for operator in found if operator.kind == "aten::addmm"}
    assert set(products) == {"layers.0", "layers.2", "layers.4"}
    assert products["layers.0"].shapes == "[128] [1x64] [64x128]"
    assert not any(operator.kind.startswith("benchwright") for operator in found)
    assert {operator.name for operator in found if operator.kind == "aten::relu"} == {"layers.1", "layers.3"}


def test_torch_counts_no_time_twice(root: Path) -> None:
    loaded = plugins.load("runtimes", "torch")().load(_case("torch", f"{root / 'examples' / 'torch_mlp.py'}::Mlp"))
    calls = RecordedCalls(loaded, most=8)
    found = plugins.load("operators", "torch")().record(loaded, calls)
    loaded.close()
    assert len(found) == len(calls.latencies) == 8
    for spent, latency in zip(found, calls.latencies, strict=True):  # linear calls addmm, which calls copy_
        assert sum(each.seconds for each in spent) <= latency


def test_jax_tells_what_xla_executed(tmp_path: Path) -> None:
    (tmp_path / "net_jax.py").write_text(
        "import jax.numpy as jnp\n\n\ndef net(x):\n    return jnp.tanh(x @ jnp.ones((64, 32))) @ jnp.ones((32, 4))\n"
    )
    found = _recorded("jax", f"{tmp_path / 'net_jax.py'}::net", folder=tmp_path, inputs=Inputs(shapes={"x": (2, 64)}))
    assert any("tanh" in operator.kind for operator in found)
    assert not any(operator.kind[-1].isdigit() for operator in found)


def test_a_callable_that_computes_with_torch_tells_its_operators(tmp_path: Path) -> None:
    (tmp_path / "bench_torch.py").write_text(
        "import torch\n\nx = torch.rand(8, 8)\n\n\ndef product():\n    return x @ x\n"
    )
    found = _recorded("python", f"{tmp_path / 'bench_torch.py'}::product", folder=tmp_path)
    assert [(o.name, o.kind, o.calls) for o in found if o.kind == "aten::mm"] == [("aten::mm", "aten::mm", 1.0)]


def _recorded(runtime: str, uri: str, *, folder: Path, inputs: Inputs | None = None) -> list[Operator]:
    """What the pass of a worker finds; every operator executed as often as the calls say, longest first."""
    session = Recording(_case(runtime, uri, inputs), folder)
    loaded = plugins.load("runtimes", runtime)().load(session.case)
    session.ready()
    report = session.add_to(Report(), loaded)
    loaded.close()
    assert list(report.warnings) == []
    found = list(report.operators)
    assert found == sorted(found, key=lambda operator: -operator.seconds)
    assert sum(operator.share for operator in found) == pytest.approx(1.0)
    assert all(operator.calls == int(operator.calls) >= 1 for operator in found)
    about = report.details[DETAIL]
    assert isinstance(about, dict) and 5 <= int(str(about["calls"])) <= MOST
    assert sum(operator.seconds for operator in found) > 0
    return found


def _case(runtime: str, uri: str, inputs: Inputs | None = None) -> Case:
    return Case(name="m", target=Target(runtime=runtime, uri=uri), inputs=inputs or Inputs())
