"""PyTorch: modules by class and factory, TorchScript, exported programs; options, devices, precisions."""

from __future__ import annotations

import io
import pickle
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Inputs
from benchwright.worker.runtimes.onnxruntime import OnnxRuntime
from benchwright.worker.runtimes.torch import Torch

MakeCase = Callable[..., Case]

FILE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Dropout(0.9))

    def forward(self, x, scale=None):
        assert not torch.is_grad_enabled() or self.layers[0].weight.requires_grad
        return self.layers(x) if scale is None else self.layers(x) * scale

class Grows(nn.Module):
    def forward(self, x):
        return x + 1

class Image(nn.Module):
    def forward(self, x):
        return torch.tensor(x.is_contiguous(memory_format=torch.channels_last))

class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 4)

    def forward(self, ids, mask):
        return self.table(ids) * mask

class Mode(nn.Module):
    def forward(self, x):
        return torch.tensor(torch.is_inference_mode_enabled())

def factory():
    return Net()

made = Net()
not_a_module = 3

def makes_nothing():
    return 3

def fails():
    raise RuntimeError("no weights")
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "torch_nets.py"
    path.write_text(FILE)
    before, modules, threads = sys.path[:], set(sys.modules), torch.get_num_threads()
    yield path
    sys.path[:] = before
    torch.set_num_threads(threads)
    for name in set(sys.modules) - modules:
        if name == "torch_nets":
            del sys.modules[name]


X = Inputs(batch_size=2, shapes={"x": (1, 8)})


def _load(case: Case) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Torch().load(case)


def _output(loaded: Any) -> torch.Tensor:
    """The answer of a call made in a thread of its own."""
    answers: list[Any] = []

    def work() -> None:
        try:
            answers.append(loaded.call(*loaded.arguments[0]))
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(answers[0], Exception):
        raise answers[0]
    return answers[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["Net", "factory", "made"])
def test_modules_by_class_factory_and_instance(name: str, file: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case("torch", f"{file}::{name}", inputs=X))
    first, again = _output(loaded), _output(loaded)
    assert first.shape == (2, 4) and torch.equal(first, again)  # dropout is off
    assert loaded.device == "cpu" and loaded.items_per_call == 2
    assert loaded.details["inputs"] == {"0": "float32[2x8]"}
    assert loaded.versions["torch"] == torch.__version__


def test_the_seed_decides_the_weights(file: Path, make_case: MakeCase) -> None:
    def answer(seed: int) -> torch.Tensor:
        return _output(_load(make_case("torch", f"{file}::Net", inputs=X, options={"seed": seed})))

    assert torch.equal(answer(1), answer(1))
    assert not torch.equal(answer(1), answer(2))


def test_torchscript_and_export_give_what_the_module_gives(file: Path, tmp_path: Path, make_case: MakeCase) -> None:
    eager = _load(make_case("torch", f"{file}::Net", inputs=X))
    net = sys.modules["torch_nets"].Net().eval()
    expected = net(*eager.arguments[0]).detach()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(net, torch.rand(2, 8)).save(str(tmp_path / "net.pt"))  # type: ignore[no-untyped-call]
        program = torch.export.export(net, (torch.rand(3, 8),), dynamic_shapes={"x": {0: torch.export.Dim("b")}})
        torch.export.save(program, str(tmp_path / "net.pt2"))
    script = _load(make_case("torch", tmp_path / "net.pt", inputs=X))
    exported = _load(make_case("torch", tmp_path / "net.pt2", inputs=Inputs(batch_size=2)))
    assert torch.allclose(_output(script), expected)
    assert torch.allclose(_output(exported), expected)
    assert exported.details["inputs"] == {"0": "float32[2x8]"}
    with pytest.raises(LoadError, match="keeps what it was exported with; precision cannot be changed"):
        _load(make_case("torch", tmp_path / "net.pt2", precision="fp16"))


def test_torch_agrees_with_onnxruntime(tiny: Path, tmp_path: Path, make_case: MakeCase) -> None:
    """The same weights as a module and as an ONNX file give the same answer to the same seeded input."""
    (tmp_path / "torch_twin.py").write_text(
        "import onnx, torch\nfrom onnx import numpy_helper\nfrom torch import nn\n\n"
        "def twin():\n"
        f"    graph = onnx.load({str(tiny)!r}).graph\n"
        "    arrays = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in graph.initializer}\n"
        "    layers = []\n"
        "    for i in range(len(arrays) // 2):\n"
        "        rows, columns = arrays[f'w{i}'].shape\n"
        "        layer = nn.Linear(rows, columns)\n"
        "        layer.weight.data, layer.bias.data = arrays[f'w{i}'].T.contiguous(), arrays[f'b{i}']\n"
        "        layers += [layer, nn.ReLU()]\n"
        "    net = nn.Sequential(*layers[:-1])\n"
        "    net.forward = lambda x, inner=net.forward: inner(x)\n"
        "    return net\n"
    )
    inputs = Inputs(batch_size=4, seed=5)
    reference = OnnxRuntime().load(make_case("onnxruntime", tiny, inputs=inputs))
    expected = reference.call(*reference.arguments[0])[0]
    shaped = Inputs(batch_size=4, seed=5, shapes={"x": (1, 256)})
    loaded = _load(make_case("torch", tmp_path / "torch_twin.py::twin", inputs=shaped))
    sys.path.remove(str(tmp_path))
    assert np.allclose(_output(loaded).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_several_inputs_with_their_dtypes(file: Path, make_case: MakeCase) -> None:
    inputs = Inputs(shapes={"ids": (1, 6), "mask": (1, 6, 1)}, dtypes={"ids": "int64"}, batch_size=3)
    loaded = _load(make_case("torch", f"{file}::Lookup", inputs=inputs))
    assert _output(loaded).shape == (3, 6, 4)
    assert loaded.details["inputs"] == {"0": "int64[3x6]", "1": "float32[3x6x1]"}
    with pytest.raises(LoadError, match="input 'mask' is of any shape"):
        _load(make_case("torch", f"{file}::Lookup", inputs=Inputs(shapes={"ids": (1, 6)})))


def test_inputs_from_a_file_keep_their_dtype(file: Path, tmp_path: Path, make_case: MakeCase) -> None:
    np.savez(tmp_path / "in.npz", ids=np.zeros((1, 6), dtype=np.int64), mask=np.ones((1, 6, 1), dtype=np.float32))
    loaded = _load(make_case("torch", f"{file}::Lookup", inputs=Inputs(source=str(tmp_path / "in.npz"))))
    assert _output(loaded).shape == (1, 6, 4)


def test_example_inputs_spare_the_shape(root: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case("torch", root / "examples" / "torch_mlp.py::Mlp", inputs=Inputs(batch_size=3)))
    assert _output(loaded).shape == (3, 10)


@pytest.mark.parametrize(("option", "expected"), [("true", True), ("false", False)])
def test_inference_mode_holds_in_every_thread(option: str, expected: bool, file: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case("torch", f"{file}::Mode", inputs=X, options={"inference_mode": option}))
    assert [bool(_output(loaded)) for _ in range(2)] == [expected] * 2


def test_closing_leaves_inference_mode(file: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case("torch", f"{file}::Mode", inputs=X))
    assert loaded.call(*loaded.arguments[0]) and torch.is_inference_mode_enabled()
    loaded.close()
    assert not torch.is_inference_mode_enabled()


def test_options_reach_torch(file: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case("torch", f"{file}::Net", inputs=X, options={"threads": 1}))
    assert torch.get_num_threads() == loaded.details["threads"] == 1
    image = Inputs(shapes={"x": (2, 3, 4, 5)}, batch_size=2)
    plain = _load(make_case("torch", f"{file}::Image", inputs=image))
    last = _load(make_case("torch", f"{file}::Image", inputs=image, options={"channels_last": True}))
    assert (bool(_output(plain)), bool(_output(last))) == (False, True)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp16", torch.float16), ("bf16", torch.bfloat16), ("fp32", torch.float32)]
)
def test_precisions(precision: str, dtype: torch.dtype, file: Path, make_case: MakeCase) -> None:
    loaded = _load(make_case("torch", f"{file}::Grows", inputs=X, precision=precision))
    assert _output(loaded).dtype == dtype


def test_a_compiled_model_gives_the_same_answer(file: Path, make_case: MakeCase) -> None:
    eager = _output(_load(make_case("torch", f"{file}::Net", inputs=X)))
    options = {"compile": True, "compile_backend": "eager"}
    loaded = _load(make_case("torch", f"{file}::Net", inputs=X, options=options))
    assert loaded.details["compiled"] is True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.allclose(_output(loaded), eager)


def test_weights_are_read_but_never_unpickled(file: Path, tmp_path: Path, make_case: MakeCase) -> None:
    _load(make_case("torch", f"{file}::Net", inputs=X))
    net = sys.modules["torch_nets"].Net()
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    loaded = _load(make_case("torch", f"{file}::Net", inputs=X, options={"weights": str(tmp_path / "weights.pt")}))
    assert torch.allclose(_output(loaded), net.eval()(*loaded.arguments[0]))

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "executed",))

    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Evil()))
    for uri, options in ((f"{file}::Net", {"weights": str(tmp_path / "evil.pt")}), (tmp_path / "evil.pt", {})):
        with pytest.raises(LoadError):
            _load(make_case("torch", uri, inputs=X, options=options))
    assert not (tmp_path / "executed").exists()
    with pytest.raises(LoadError, match=r"is not TorchScript; .*\n  name the module and its weights"):
        _load(make_case("torch", tmp_path / "weights.pt", inputs=X))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"m\.pt is empty\n  the file may be incomplete"),
        (b"PK\x03\x04" + bytes(100), r"torch could not load .*m\.pt: .*\n  the file may be incomplete"),
        (b"hello" * 100, r"torch could not load .*m\.pt: .*\n  the file may be incomplete"),
        (pickle.dumps({"w": 1}), r"m\.pt is not TorchScript; .*\n  name the module and its weights"),
    ],
)
def test_a_file_that_is_no_model_is_told_apart(
    content: bytes, message: str, tmp_path: Path, make_case: MakeCase, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.pt").write_bytes(content)
    with pytest.raises(LoadError, match=message) as refused:
        _load(make_case("torch", tmp_path / "m.pt", inputs=X))
    assert "\n" not in refused.value.message
    assert "Traceback" not in capsys.readouterr().err


def test_weights_that_do_not_fit_are_named(file: Path, tmp_path: Path, make_case: MakeCase) -> None:
    path = tmp_path / "weights.pt"

    def message() -> str:
        with pytest.raises(LoadError) as refused:
            _load(make_case("torch", f"{file}::Net", inputs=X, options={"weights": str(path)}))
        return refused.value.message

    assert message() == f"weights {path}: No such file or directory"
    torch.save({"other": torch.zeros(1)}, path)
    assert message().startswith(f"torch could not use the weights {path}: ")
    path.write_bytes(path.read_bytes()[:300])
    assert message().startswith(f"torch could not load the weights {path}: ")


def test_what_is_pickled_in_an_archive_is_not_executed(tmp_path: Path, make_case: MakeCase) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "executed",))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.rand(2, 8),)), str(tmp_path / "good.pt2"))
    payload = io.BytesIO()
    torch.save(Evil(), payload)
    with zipfile.ZipFile(tmp_path / "good.pt2") as good, zipfile.ZipFile(tmp_path / "evil.pt2", "w") as evil:
        for name in good.namelist():
            evil.writestr(name, payload.getvalue() if "sample_inputs" in name else good.read(name))
    inputs = Inputs(batch_size=2)
    assert _output(_load(make_case("torch", tmp_path / "good.pt2", inputs=inputs))).shape == (2, 8)
    with pytest.raises(LoadError, match="torch could not load"):
        _load(make_case("torch", tmp_path / "evil.pt2", inputs=inputs))
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("name", "inputs", "options", "message"),
    [
        ("Nte", X, {}, "did you mean 'Net'"),
        ("not_a_module", X, {}, "neither a module nor a class or function that makes one"),
        ("makes_nothing", X, {}, "made int, not an nn.Module"),
        ("fails", X, {}, "could not load .*: no weights"),
        (
            "Net",
            Inputs(),
            {},
            r"leaves sizes open: input 'x' is of any shape\n  'x' looks like an image: add --shape x:1x3x224x224",
        ),
        ("Net", Inputs(shapes={"y": (1, 8)}), {}, "forward has no parameter 'y'"),
        ("Net", X, {"compil": True}, "did you mean 'compile'"),
    ],
)
def test_wrong_requests(
    name: str, inputs: Inputs, options: dict[str, bool], message: str, file: Path, make_case: MakeCase
) -> None:
    with pytest.raises(LoadError, match=message):
        _load(make_case("torch", f"{file}::{name}", inputs=inputs, options=options))


@pytest.mark.parametrize("device", ["cuda", "cuda:3", "mps", "tpu"])
def test_an_absent_device_fails(device: str, file: Path, make_case: MakeCase) -> None:
    with pytest.raises(DeviceError, match="torch"):
        _load(make_case("torch", f"{file}::Net", inputs=X, device=device))


def test_a_build_for_the_device_without_its_driver_is_told_what_is_missing(
    file: Path, make_case: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What PyTorch with CUDA says in a container that was not given the card."""

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU")

    monkeypatch.setattr(torch, "empty", refuse)
    with pytest.raises(DeviceError, match=r"no NVIDIA driver(.|\n)*install its driver; a container is given the card"):
        _load(make_case("torch", f"{file}::Net", inputs=X, device="cuda"))


def test_an_unknown_precision(file: Path, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match=r"no precision 'fp8'\n  known: fp32, fp16, bf16"):
        _load(make_case("torch", f"{file}::Net", inputs=X, precision="fp8"))
