"""What `compile` leaves: files that no later call overwrites or deletes, each of them whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import benchwright.compat.neuronperf as npf
import make_model
from benchwright.compat.neuronperf import compilation, tensorflow
from benchwright.errors import DeviceError, OptionError, TargetError

EXAMPLES = Path(__file__).parents[3] / "examples"
ONE = torch.ones(1, 4)
QUIET: dict[str, Any] = {"verbosity": 0}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Net(torch.nn.Module):
    """Says how many numbers it gives, so that one can be told from another of its name."""

    def __init__(self, width: int = 2, *, broken: bool = False) -> None:
        super().__init__()
        self.layer, self.broken = torch.nn.Linear(4, width), broken

    def forward(self, x: Any) -> Any:
        if self.broken:
            raise ValueError("broken")
        return self.layer(x)


def width_of(index: str, number: int = 0) -> int:
    config = npf.model_index.load(index)["model_configs"][number]
    return int(torch.export.load(config["filename"]).module()(ONE).shape[1])


def files() -> set[str]:
    return {str(path) for path in Path("models").rglob("*")}


def test_a_second_model_of_the_same_name_leaves_the_first_alone() -> None:
    first = npf.torch.compile(Net(2), ONE, **QUIET)
    second = npf.torch.compile(Net(3), ONE, **QUIET)
    assert first != second and (width_of(first), width_of(second)) == (2, 3)
    named = [npf.torch.compile(Net(n), ONE, filename=f"{n}.json", model_name="net", **QUIET) for n in (4, 5)]
    assert [width_of(index) for index in named] == [4, 5]


def test_a_compile_that_fails_leaves_the_earlier_one_and_nothing_else() -> None:
    good = npf.torch.compile(Net(2), ONE, **QUIET)
    before = files()
    bad = npf.torch.compile(Net(2, broken=True), ONE, **QUIET)
    (config,) = npf.model_index.load(bad)["model_configs"]
    assert config["status"] == "error" and "broken" in config["error"]
    assert files() == before and width_of(good) == 2
    npf.model_index.delete(bad)
    assert files() == before


def test_the_same_model_twice_is_two_files_so_that_one_can_be_deleted() -> None:
    model = Net(2)
    first, second = (npf.torch.compile(model, ONE, **QUIET) for _ in range(2))
    assert len(files()) == 2
    npf.model_index.delete(first)
    assert len(files()) == 1 and width_of(second) == 2


def test_a_write_that_is_cut_off_leaves_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(job: compilation.CompileJob) -> None:
        job.path.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compilation.compile_with(compilation.Compiler(runtime="", ending=".x", write=half), "m", ONE, **QUIET)
    assert not files()


def test_names_are_files_whatever_the_model_is_called() -> None:
    index = npf.torch.compile(Net(2), ONE, model_name="a/b c", **QUIET)
    assert Path(index).is_file() and "/" not in index and width_of(index) == 2
    with pytest.raises(OptionError, match=r"'net' does not end with \.json"):
        npf.torch.compile(Net(2), ONE, filename="net")


@pytest.fixture
def tiny() -> str:
    Path("tiny.onnx").write_bytes(make_model.make("tiny").SerializeToString())
    return "tiny.onnx"


def test_what_belongs_to_a_model_gets_its_name_too(tiny: str) -> None:
    x = np.ones((1, 256), dtype=np.float32)
    first, second = (npf.openvino.compile(tiny, x, **QUIET) for _ in range(2))
    for index in (first, second):
        (config,) = npf.model_index.load(index)["model_configs"]
        assert config["status"] == "finished" and Path(config["filename"]).with_suffix(".bin").is_file()
    npf.model_index.delete(first)
    assert len(files()) == 2


def test_without_links_no_file_is_overwritten_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(compilation.os, "link", refused)  # type: ignore[attr-defined]
    model = Net(2)
    indexes = [npf.torch.compile(model, ONE, **QUIET) for _ in range(2)]
    assert len(files()) == 2 and [width_of(index) for index in indexes] == [2, 2]


def test_every_example_is_compiled_and_knows_its_number() -> None:
    inputs = [torch.ones(1, 4), torch.ones(2, 4), torch.ones(1, 4) * 2]
    index = npf.torch.compile(Net(2), inputs, batch_sizes=[1, 2], pipeline_sizes=[1, 2], **QUIET)
    configs = npf.model_index.load(index)["model_configs"]
    found = [(c["batch_size"], c["pipeline_size"], c["input_idx"]) for c in configs]
    assert found == [(1, 1, 0), (1, 2, 0), (1, 1, 2), (1, 2, 2), (2, 1, 1), (2, 2, 1)]


def test_cast_modes_are_files_of_their_own() -> None:
    index = npf.torch.compile(Net(2), ONE, cast_modes=["none", "matmult", "all-bf16", "fp8"], **QUIET)
    plain, products, everything, unknown = npf.model_index.load(index)["model_configs"]
    assert [c["cast_mode"] for c in (plain, products, everything)] == ["none", "matmult", "all-bf16"]
    assert len({c["filename"] for c in (plain, products, everything)}) == 3
    for config, types in ((plain, False), (products, True), (everything, True)):
        program = torch.export.load(config["filename"])
        assert program.module()(ONE).dtype is torch.float32
        assert ("bfloat16" in str(program.graph_module.print_readable(print_output=False))) is types
    assert unknown["status"] == "error" and "'fp8'" in unknown["error"] and "all-fp16" in unknown["error"]
    once: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "duration": 0.1, "multiprocess": False, **QUIET}
    (report,) = npf.torch.benchmark(index, ONE, cast_modes="matmult", **once)
    assert (report["status"], report["cast_mode"]) == ("finished", "matmult")


def test_a_framework_without_cast_modes_says_so(tiny: str) -> None:
    index = npf.onnxruntime.compile(tiny, np.ones((1, 256), dtype=np.float32), cast_modes="all", **QUIET)
    (config,) = npf.model_index.load(index)["model_configs"]
    assert config["status"] == "error" and "onnxruntime cannot make the cast mode 'all'" in config["error"]


def test_a_neuron_instance_is_no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match=r"compiler_target 'inf2'.*Neuron's own compiler"):
        npf.torch.compile(Net(2), ONE, compiler_target="inf2")
    monkeypatch.setenv("BENCHWRIGHT_NEURON", "cpu")
    assert width_of(npf.torch.compile(Net(2), ONE, compiler_target="inf2", **QUIET)) == 2


def test_a_function_of_the_callers_own_compiles() -> None:
    def exported(model: Any, example: Any, path: str, *, note: str = "") -> None:
        assert note == "kept"
        torch.export.save(torch.export.export(model, (example,)), f"{path}.pt2")

    given: dict[str, Any] = {"compiler_args": {"note": "kept"}, "model_name": "net.v2", **QUIET}
    index = npf.compile(exported, Net(2).eval(), ONE, **given)
    (config,) = npf.model_index.load(index)["model_configs"]
    assert "net.v2_b1_" in config["filename"] and config["filename"].endswith(".pt2") and width_of(index) == 2
    nothing = npf.compile(lambda *_: None, Net(2), ONE, **QUIET)
    assert "no file was written" in npf.model_index.load(nothing)["model_configs"][0]["error"]
    with pytest.raises(OptionError, match="cannot be called"):
        npf.compile("function", Net(2), ONE)  # type: ignore[arg-type]


def test_a_keras_model_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    class Keras:
        def __call__(self, x: Any) -> Any:
            return x

        def save(self, path: str) -> None:
            Path(path).write_text("keras")

    monkeypatch.setattr(compilation, "check_installed", lambda name: None)
    index = tensorflow.compile(Keras(), np.ones((2, 3)), **QUIET)
    (config,) = npf.model_index.load(index)["model_configs"]
    assert Path(config["filename"]).suffix == ".keras" and Path(config["filename"]).read_text() == "keras"


@pytest.mark.parametrize("verb", ["benchmark", "compile", "evaluate"])
def test_mxnet_says_why_and_what_to_use(verb: str) -> None:
    with pytest.raises(TargetError, match="no runtime for MXNet") as refused:
        getattr(npf.mxnet, verb)("model", ONE)
    assert "npf.onnxruntime" in refused.value.remedy
