"""Every call of NeuronPerf's public documents: its arguments in their places, their defaults, what it gives back."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import benchwright.compat.neuronperf as npf
from benchwright.errors import DeviceError, OptionError, TargetError

REQUIRED = inspect.Parameter.empty
_BENCHMARK = {
    "model_filename": REQUIRED,
    "inputs": REQUIRED,
    "batch_sizes": None,
    "duration": 60,
    "n_models": None,
    "pipeline_sizes": None,
    "cast_modes": None,
    "workers_per_model": None,
    "env_setup_fn": None,
    "setup_fn": None,
    "preprocess_fn": None,
    "postprocess_fn": None,
    "dataset_loader_fn": None,
    "verbosity": 1,
    "multiprocess": True,
    "multiinterpreter": False,
    "return_timers": False,
    "device_type": "cpu",  # the documents have "neuron", which cannot be had
}
_COMPILE = {
    "model": REQUIRED,
    "inputs": REQUIRED,
    "batch_sizes": None,
    "pipeline_sizes": None,
    "performance_levels": None,
    "models_dir": "models",
    "filename": None,
    "compiler_args": None,
    "verbosity": 1,
}
_EVALUATE = {"model_filename": REQUIRED, "dataset": REQUIRED}
DOCUMENTED: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
    ("benchmark", npf.benchmark, {"load_fn": REQUIRED, **_BENCHMARK}),
    *((f"{door}.benchmark", getattr(npf, door).benchmark, _BENCHMARK) for door in ("torch", "tensorflow")),
    ("compile", npf.compile, {"compile_fn": REQUIRED, **_COMPILE}),
    *((f"{door}.compile", getattr(npf, door).compile, _COMPILE) for door in ("torch", "tensorflow")),
    ("torch.evaluate", npf.torch.evaluate, _EVALUATE),
    ("get_reports", npf.get_reports, {"results": REQUIRED, "batch_sizes": None}),
    (
        "print_reports",
        npf.print_reports,
        {"reports": REQUIRED, "cols": npf.SUMMARY_COLS, "sort_by": "throughput_peak", "reverse": False},
    ),
    ("write_csv", npf.write_csv, {"reports": REQUIRED, "filename": None, "cols": npf.REPORT_COLS}),
    ("write_json", npf.write_json, {"reports": REQUIRED, "filename": None}),
    (
        "model_index.create",
        npf.model_index.create,
        {
            "filename": REQUIRED,
            "input_idx": 0,
            "batch_size": 1,
            "pipeline_size": 1,
            "cast_mode": "none",
            "compile_s": None,
        },
    ),
    ("model_index.save", npf.model_index.save, {"index": REQUIRED, "filename": None, "root_dir": None}),
    ("model_index.load", npf.model_index.load, {"path": REQUIRED}),
    ("model_index.copy", npf.model_index.copy, {"old_index": REQUIRED, "new_index": REQUIRED, "new_dir": REQUIRED}),
    ("model_index.move", npf.model_index.move, {"old_index": REQUIRED, "new_index": REQUIRED, "new_dir": REQUIRED}),
    ("model_index.delete", npf.model_index.delete, {"index": REQUIRED}),
    ("register_metric", npf.register_metric, {"name": REQUIRED, "cls": REQUIRED}),
    ("register_metric_from_existing", npf.register_metric_from_existing, {"old": REQUIRED, "new": REQUIRED}),
    ("list_metrics", npf.list_metrics, {}),
    ("set_verbosity", npf.set_verbosity, {"verbosity": REQUIRED}),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("name", "function", "expected"), DOCUMENTED, ids=[name for name, *_ in DOCUMENTED])
def test_arguments_stand_where_the_documents_have_them(
    name: str, function: Callable[..., Any], expected: dict[str, Any]
) -> None:
    given = inspect.signature(function).parameters.values()
    positional = {each.name: each.default for each in given if each.kind is each.POSITIONAL_OR_KEYWORD}
    assert list(positional.items())[: len(expected)] == list(expected.items())


@pytest.mark.parametrize("door", ["cpu", "gpu", "torch", "tensorflow", "onnxruntime", "openvino", "jax", "litert"])
def test_every_door_has_the_documented_places(door: str) -> None:
    """A door may fill in the device or the runtime; nothing before them moves."""
    names = list(inspect.signature(getattr(npf, door).benchmark).parameters)
    assert names[: len(_BENCHMARK)] == list(_BENCHMARK)


def test_positions_mean_what_the_documents_say() -> None:
    before, after, called = 2.0, 3.0, []
    loaded = npf.benchmark(
        *(lambda name, device: called.append((name, device)) or Adding(), "by-name", np.ones((1, 2))),
        *([1], 0.1, [1], [1], None, [2]),  # batch sizes, duration, copies, pipelines, casts, workers
        *(None, None, lambda x: x * before, lambda y: y * after, None, 0, False, False, True, "cpu"),
    )
    assert called == [("by-name", 0)]
    ((config, raw),) = loaded
    assert (config["pipeline_size"], config["workers_per_model"], config["n_models"]) == (1, 2, 1)
    (report,) = npf.get_reports([(config, raw)])
    assert (report["status"], report["reason"]) == ("finished", "")


class Adding:
    def __call__(self, x: Any) -> Any:
        return x + 1


# ---- benchmark guide, examples: a script as its users write it ----

GUIDE = """
import torch

import benchwright.compat.neuronperf as npf
import benchwright.compat.neuronperf.torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.flatten(1)[:, :2]


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.rand(3, 4, 4), i % 2


class Passed(npf.BaseEvalMetric):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def process_record(self, output, target):
        self.seen += len(target)

    @staticmethod
    def aggregate(metrics):
        return sum(metric.seen for metric in metrics)


def load(filename, device_id):
    assert device_id == 0
    return torch.export.load(filename).module()


def my_loader(dataset, workers):
    return torch.utils.data.DataLoader(dataset, batch_size=4)


batch_sizes = [1, 4]
example_inputs = [torch.zeros([size, 3, 4, 4]) for size in batch_sizes]
apart = dict(n_models=1, workers_per_model=1, duration=0.1, verbosity=0)
once = dict(apart, multiprocess=False)

index = npf.torch.compile(Model(), example_inputs, batch_sizes, [1])
model = npf.model_index.load(index)["model_configs"][1]["filename"]

reports = {
    "index": npf.torch.benchmark(index, example_inputs, **once)
    + npf.torch.benchmark(index, example_inputs, [4], 0.1, 1, None, None, 1, multiprocess=False),
    "data set": npf.torch.benchmark(model, Images(), [4], preprocess_fn=lambda x: x[0], **apart),
    "load_fn": npf.benchmark(load, model, example_inputs[1], **once),
    "loader": npf.torch.benchmark(
        model, Images(), batch_sizes=[4], dataset_loader_fn=my_loader, preprocess_fn=lambda x: x[0], **once
    ),
}
npf.register_metric("passed", Passed)
npf.register_metric_from_existing("topk", "top1", k=1)
untimed = dict(once, workers_per_model=2, duration=0, batch_sizes=4)
reports["accuracy"] = npf.torch.benchmark(model, Images(), eval_metrics=["Hit Rate", "passed"], **untimed)
reports["accuracy"] += npf.torch.evaluate(
    model, Images(), metrics=["accuracy", "top1"], batch_sizes=4, multiprocess=False
)

npf.list_metrics()
npf.print_reports(sum(reports.values(), []))
npf.write_json(sum(reports.values(), []), "reports.json")
npf.write_csv(reports["index"], "reports.csv", npf.REPORT_COLS)
npf.model_index.delete(index)
"""


@pytest.mark.soak  # imports torch.export and compiles: most of a minute
@pytest.mark.timeout(300)
def test_the_guides_calls_run_as_they_are(tmp_path: Path) -> None:
    Path("guide.py").write_text(GUIDE)
    ended = subprocess.run([sys.executable, "guide.py"], capture_output=True, text=True, timeout=290, check=False)
    assert ended.returncode == 0, ended.stderr
    reports = json.loads(Path("reports.json").read_text())
    assert [(r["status"], r["reason"]) for r in reports] == [("finished", "")] * len(reports)
    one, four, positional, data_set, _, loader, timeless, evaluated = reports
    assert [one["batch_size"], four["batch_size"], positional["batch_size"]] == [1, 4, 4]
    assert (positional["workers_per_model"], positional["pipeline_size"]) == (1, 1)
    assert data_set["total_infs"] == loader["total_infs"] == 12
    assert timeless["passed"] == 12 and timeless["Hit Rate"] is not None and timeless["throughput_avg"] is None
    assert timeless["workers_per_model"] == 2 and "nothing was timed" in timeless["notes"]["timing"]
    assert evaluated["accuracy"] == evaluated["top1"]
    assert not list(Path("models").iterdir())


# ---- evaluate guide ----

FIGURES = {  # of TP 40, FP 10, FN 20, TN 30
    "Accuracy": 0.7,
    "TruePositiveRate": 40 / 60,
    "Sensitivity": 40 / 60,
    "Recall": 40 / 60,
    "Hit Rate": 40 / 60,
    "TrueNegativeRate": 0.75,
    "Specificity": 0.75,
    "Selectivity": 0.75,
    "PositivePredictiveValue": 0.8,
    "Precision": 0.8,
    "NegativePredictiveValue": 0.6,
    "FalseNegativeRate": 20 / 60,
    "FalsePositiveRate": 0.25,
    "FalseDiscoveryRate": 0.2,
    "FalseOmissionRate": 0.4,
    "PositiveLikelihoodRatio": 2.6667,
    "NegativeLikelihoodRatio": 0.4444,
    "PrevalenceThreshold": 0.3798,
    "ThreatScore": 0.5714,
    "F1Score": 0.7273,
    "MeanAbsoluteError": 0.3,
    "MeanSquaredError": 0.3,
    "topk": 1.0,
}


class Echo:
    def __call__(self, x: Any) -> Any:
        return x


def test_every_documented_metric_has_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    counts = ((1, 1, 40), (1, 0, 10), (0, 1, 20), (0, 0, 30))  # called, is, how often
    items = [(np.array([[float(called)]]), is_so) for called, is_so, often in counts for _ in range(often)]
    names = [name for name in FIGURES if name != "topk"]
    (report,) = npf.cpu.evaluate(Echo, items, metrics=names, multiprocess=False, verbosity=0)
    assert {name: report[name] for name in names} == pytest.approx({n: FIGURES[n] for n in names}, abs=1e-4)
    npf.list_metrics()
    lines = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "Name" and set(FIGURES) <= set(lines)


def test_formulas_are_the_usual_ones(capsys: pytest.CaptureFixture[str]) -> None:
    npf.list_metrics()
    told = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines() if not line.startswith("Hit"))
    assert told["FalseDiscoveryRate"] == "FP / (FP + TP)" and told["FalseOmissionRate"] == "FN / (FN + TN)"
    assert told["Recall"] == "Alias for TruePositiveRate"


def test_a_metric_must_have_what_its_base_class_leaves_open() -> None:
    class Half(npf.BaseEvalMetric):
        def process_record(self, output: Any, target: Any) -> None:
            pass

    with pytest.raises(OptionError, match="Half has no aggregate"):
        npf.register_metric("half", Half)
    with pytest.raises(NotImplementedError):
        npf.BaseEvalMetric().process_record(1, 1)


def test_nothing_is_timed_only_where_accuracy_is_asked_for() -> None:
    with pytest.raises(OptionError, match="duration"):
        npf.cpu.benchmark(Echo, np.ones((1, 1)), duration=0)
    with pytest.raises(OptionError, match="metrics is empty"):
        npf.cpu.evaluate(Echo, [(np.ones((1, 1)), 1)], metrics=[])


# ---- reports ----


def test_batch_sizes_correct_the_throughput() -> None:
    once: dict[str, Any] = {"n_models": 1, "workers_per_model": [1, 2], "multiprocess": False, "verbosity": 0}
    results = npf.cpu.benchmark(Echo, np.ones((1, 1)), max_infers=20, return_timers=True, **once)
    plain, corrected = npf.get_reports(results), npf.get_reports(results, [4, 8])
    for before, after, size in zip(plain, corrected, (4, 8), strict=True):
        assert after["throughput_avg"] == pytest.approx(size * before["throughput_avg"])
        assert (after["batch_size"], after["total_infs"]) == (size, size * before["total_infs"])
        assert after["latency_ms_p50"] == before["latency_ms_p50"]
    assert [report["batch_size"] for report in npf.get_reports(results, 3)] == [3, 3]
    with pytest.raises(OptionError, match="3 numbers for 2 results"):
        npf.get_reports(results, [1, 2, 3])
    with pytest.raises(OptionError, match="batch_sizes"):
        npf.get_reports(results, 1.18)  # type: ignore[arg-type]


def test_columns_can_be_added_to() -> None:
    assert [*npf.PRINT_COLS, "cast_mode"] == npf.SUMMARY_COLS + ["cast_mode"]  # noqa: RUF005 - as scripts do it
    assert npf.REPORT_COLS is npf.CSV_COLS


# ---- the model index guide ----


def test_an_index_is_made_by_position() -> None:
    index = npf.model_index.create("a.pt", 2, 4, 1, "matmult", 1.5)
    (config,) = index["model_configs"]
    assert (config["input_idx"], config["batch_size"], config["pipeline_size"]) == (2, 4, 1)
    assert (config["cast_mode"], config["compile_s"]) == ("matmult", 1.5)
    both = npf.model_index.append(index, npf.model_index.create("b.pt"))
    assert len(npf.model_index.filter(both, cast_modes=["matmult"])["model_configs"]) == 1
    assert len(npf.model_index.filter(both, input_idx=0)["model_configs"]) == 1
    with pytest.raises(OptionError, match="model_name"):
        npf.model_index.create("a.pt", "net")  # type: ignore[arg-type]


# ---- what cannot be had ----


def test_a_neuron_device_says_why_and_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    once: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "max_infers": 2, "multiprocess": False}
    with pytest.raises(DeviceError, match="no runtime for Neuron devices") as refused:
        npf.cpu.benchmark(Echo, np.ones((1, 1)), **{**once, "device_type": "neuron"})
    assert "BENCHWRIGHT_NEURON=cpu" in refused.value.remedy
    monkeypatch.setenv("BENCHWRIGHT_NEURON", "cpu")
    (report,) = npf.cpu.benchmark(Echo, np.ones((1, 1)), **{**once, "device_type": "neuron"})
    assert (report["status"], report["device_type"]) == ("finished", "cpu")


def test_the_arguments_of_a_data_loader_have_a_function_in_their_place() -> None:
    with pytest.raises(OptionError, match="dataloader_kwargs") as refused:
        npf.torch.benchmark(Echo, np.ones((1, 1)), dataloader_kwargs={"num_workers": 2})
    assert "dataset_loader_fn" in refused.value.remedy


def test_what_load_fn_is_not_is_said() -> None:
    with pytest.raises(OptionError, match=r"load_fn: 'm\.onnx' cannot be called"):
        npf.benchmark("m.onnx", np.ones((1, 1)), [1])  # type: ignore[arg-type]
    with pytest.raises(TargetError, match="load_fn loads what a name stands for"):
        npf.benchmark(Echo, Echo, np.ones((1, 1)))  # type: ignore[arg-type]


def test_a_module_that_load_fn_makes_gets_tensors() -> None:
    def load(name: str, device: int) -> Any:
        return torch.nn.Linear(2, 3)

    once: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "max_infers": 2, "multiprocess": False}
    for inputs in (torch.ones(1, 2), np.ones((1, 2), dtype=np.float32)):
        (report,) = npf.benchmark(load, "any name", inputs, postprocess_fn=lambda y: y.sum().item(), **once)
        assert (report["status"], report["reason"]) == ("finished", "")
