"""Models of real frameworks: prepared, listed in an index, measured, evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import benchwright.compat.neuronperf as npf
import make_model

BRIEF: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "duration": 0.2}
EXAMPLES = Path(__file__).parents[3] / "examples"
SIZES = [np.ones((size, 256), dtype=np.float32) for size in (1, 2, 3)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    npf.set_verbosity(1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """x[batch, 256] -> y[batch, 10]."""
    path = tmp_path_factory.mktemp("models") / "tiny.onnx"
    path.write_bytes(make_model.make("tiny").SerializeToString())
    return str(path)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


class Stubborn(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.shape[0] == 2:
            raise ValueError("not two")
        return x


def two_rows(output: Any) -> None:
    first = output[0] if isinstance(output, list | tuple) else output
    assert first.shape == (2, 10)


def finished(reports: list[Any]) -> Any:
    (report,) = reports
    assert (report["status"], report["reason"]) == ("finished", "")
    assert report["total_infs"] > 0
    return report


@pytest.mark.soak
def test_an_index_of_three_sizes_lends_the_one_that_is_asked_for() -> None:
    name = npf.torch.compile(Net, [torch.from_numpy(x) for x in SIZES], models_dir="made", verbosity=0)
    index = npf.model_index.load(name)
    assert [config["batch_size"] for config in index["model_configs"]] == [1, 2, 3]
    assert all(config["compile_s"] > 0 and Path(config["filename"]).is_file() for config in index["model_configs"])
    report = finished(npf.torch.benchmark(name, SIZES, batch_sizes=2, postprocess_fn=two_rows, **BRIEF))
    assert (report["batch_size"], report["model_name"], report["performance_level"]) == (2, "Net", 3)
    assert report["model_filename"] == index["model_configs"][1]["filename"]


@pytest.mark.soak
def test_what_could_not_be_prepared_is_a_failed_report(capsys: pytest.CaptureFixture[str]) -> None:
    name = npf.compile(Stubborn(), SIZES[:2], filename="stubborn.json", model_name="stubborn")
    one, two = npf.model_index.load(name)["model_configs"]
    assert (one["status"], two["status"]) == ("finished", "error") and "not two" in two["error"]
    assert "not two" in capsys.readouterr().err
    good, bad = npf.benchmark(name, SIZES, verbosity=0, **BRIEF)  # type: ignore[arg-type]
    assert good["status"] == "finished" and bad["status"] == "failed"
    assert "not two" in bad["reason"] and bad["batch_size"] == 2
    npf.print_reports([good, bad])
    assert "not two" in capsys.readouterr().out


def test_one_bad_entry_of_an_index_spoils_no_other(tiny: str) -> None:
    create = npf.model_index.create
    entries = [create("absent.onnx"), create(tiny, pipeline_size=100_000), create(tiny, pipeline_size=0), create(tiny)]
    name = npf.model_index.save(npf.model_index.append(*entries), "mixed.json")
    *bad, good = npf.benchmark(name, SIZES, verbosity=0, **BRIEF)  # type: ignore[arg-type]
    assert finished([good])["model_filename"] == tiny
    for report, reason in zip(
        bad, ("no file absent.onnx", "100000 needs as many devices", "pipeline_size"), strict=True
    ):
        assert report["status"] == "failed" and reason in report["reason"]
    (alone,) = npf.benchmark(npf.model_index.save(create("absent.onnx"), "bad.json"), SIZES, verbosity=0, **BRIEF)  # type: ignore[arg-type]
    assert alone["status"] == "failed"


def test_an_onnx_file_is_optimised_for_each_size_and_level(tiny: str) -> None:
    name = npf.onnxruntime.compile(tiny, SIZES[:2], performance_levels=[0, 3], verbosity=0)
    configs = npf.model_index.load(name)["model_configs"]
    assert [(c["batch_size"], c["performance_level"]) for c in configs] == [(1, 0), (1, 3), (2, 0), (2, 3)]
    assert len({config["filename"] for config in configs}) == 4
    report = finished(
        npf.onnxruntime.benchmark(
            name, SIZES, batch_sizes=[2], performance_levels=[3], postprocess_fn=two_rows, **BRIEF
        )
    )
    assert report["performance_level"] == 3 and report["infer_ms_p50"] <= report["latency_ms_p50"]


def test_a_file_is_measured_by_the_runtime_it_is_for(tiny: str) -> None:
    report = finished(npf.benchmark(tiny, SIZES, batch_sizes=2, model_name="mine", **BRIEF))  # type: ignore[arg-type]
    assert (report["model_name"], report["batch_size"]) == ("mine", 2)


@pytest.mark.parametrize("runtime", ["openvino", "jax"])
def test_other_frameworks_prepare_and_measure(runtime: str, tiny: str) -> None:
    framework = getattr(npf, runtime)
    name = framework.compile(tiny if runtime == "openvino" else doubled, SIZES[1], verbosity=0)
    (config,) = npf.model_index.load(name)["model_configs"]
    assert (config["status"], config["batch_size"]) == ("finished", 2)
    finished(framework.benchmark(name, SIZES, batch_sizes=2, multiprocess=False, verbosity=0, **BRIEF))


def doubled(x: Any) -> Any:
    return 2 * x


@pytest.mark.soak
def test_a_torch_class_on_the_cpu_is_a_torch_model() -> None:
    report = finished(npf.cpu.benchmark(Net, torch.ones(2, 256), setup_fn=in_inference_mode, **BRIEF))
    assert report["model_filename"] == "Net"


def in_inference_mode(_: int, config: dict[str, Any], model: Any) -> None:
    assert isinstance(model, torch.nn.Module) and not model.training and config["batch_size"] == 2


@pytest.mark.soak
def test_evaluate_alone() -> None:
    items = [(np.eye(256, dtype=np.float32)[i : i + 1], 0) for i in range(3)]
    (report,) = npf.torch.evaluate(Chosen, items, metrics=["accuracy", "topk"], verbosity=0)
    assert (report["status"], report["reason"]) == ("finished", "") and report["throughput_avg"] is None
    assert (report["accuracy"], report["topk"], report["eval_records"]) == (pytest.approx(1 / 3), 1.0, 3)


class Chosen(torch.nn.Module):
    """The first of three classes for the first of the inputs, and so on."""

    def forward(self, x: Any) -> Any:
        return x[:, :3]
