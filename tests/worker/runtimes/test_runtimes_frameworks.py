"""ONNX Runtime, OpenVINO and PyTorch give the same answer to the same input, and take the options they are given."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Inputs, Load
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.onnxruntime import OnnxRuntime, _nodes
from benchwright.worker.runtimes.openvino import OpenVino

MakeCase = Callable[..., Case]
RUNTIMES: dict[str, Any] = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}
BOTH = pytest.mark.parametrize("runtime", RUNTIMES)


def _outputs(loaded: Loaded, index: int = 0) -> np.ndarray:
    answer = loaded.call(*loaded.arguments[index])
    return np.array(answer[0])


def _reference(path: Path, batch_size: int, index: int = 0, seed: int = 0) -> np.ndarray:
    """The perceptron computed with numpy from the weights in the file."""
    import onnx
    from onnx import numpy_helper

    from benchwright.worker.runtimes.inputs.feeds import TensorSignature, random_array

    graph = onnx.load(str(path)).graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    layers = len(weights) // 2
    values = random_array(
        TensorSignature(name="x", shape=(batch_size, len(weights["w0"])), dtype="float32"), seed, index
    )
    for i in range(layers):
        values = values @ weights[f"w{i}"] + weights[f"b{i}"]
        values = np.maximum(values, 0) if i < layers - 1 else values
    return values


@BOTH
@pytest.mark.parametrize("batch_size", [1, 8])
def test_outputs_equal_the_model_computed_by_hand(
    runtime: str, batch_size: int, tiny: Path, make_case: MakeCase
) -> None:
    inputs = Inputs(batch_size=batch_size, count=2, seed=3)
    loaded = RUNTIMES[runtime]().load(make_case(runtime, tiny, inputs=inputs))
    for index in (0, 1, 0):
        assert np.allclose(_outputs(loaded, index), _reference(tiny, batch_size, index, seed=3), rtol=1e-4, atol=1e-5)
    assert loaded.items_per_call == batch_size
    assert loaded.versions[runtime]
    assert loaded.details["inputs"] == {"x": f"float32[{batch_size}x256]"}


@BOTH
def test_one_input_takes_the_short_path_and_is_as_right(runtime: str, tiny: Path, make_case: MakeCase) -> None:
    loaded = RUNTIMES[runtime]().load(make_case(runtime, tiny))
    assert len(loaded.arguments) == 1
    gc.collect()
    churn = [np.full((1, 256), -1e9, dtype=np.float32) for _ in range(1000)]  # would land in memory freed too early
    assert churn and np.allclose(_outputs(loaded), _reference(tiny, 1), rtol=1e-4, atol=1e-5)


@BOTH
@pytest.mark.parametrize("options", [{}, {"io_binding": True}], ids=["plain", "binding"])
def test_threads_do_not_mix_their_answers(
    runtime: str, options: dict[str, bool], tiny: Path, make_case: MakeCase
) -> None:
    if runtime == "openvino":
        options = {}
    case = make_case(runtime, tiny, inputs=Inputs(count=3), load=Load(workers=2), options=options)
    loaded = RUNTIMES[runtime]().load(case)
    failures: list[Exception] = []

    def work(index: int) -> None:
        try:
            for _ in range(100):
                loaded.call(*loaded.arguments[index])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@BOTH
def test_dynamic_shapes_come_from_the_request(runtime: str, dynamic: Path, make_case: MakeCase) -> None:
    shapes = {"x": (1, 3, 24, 40)}
    loaded = RUNTIMES[runtime]().load(make_case(runtime, dynamic, inputs=Inputs(batch_size=2, shapes=shapes)))
    assert _outputs(loaded).shape == (2, 10)
    assert loaded.details["inputs"] == {"x": "float32[2x3x24x40]"}
    with pytest.raises(LoadError, match="--shape x:1x3x224x224"):
        RUNTIMES[runtime]().load(make_case(runtime, dynamic))


@BOTH
def test_a_fixed_batch_fits_or_fails(runtime: str, fixed: Path, make_case: MakeCase) -> None:
    assert _outputs(RUNTIMES[runtime]().load(make_case(runtime, fixed, inputs=Inputs(batch_size=4)))).shape == (4, 4)
    with pytest.raises(LoadError, match="fixed leading dimension of 4; the batch size asked for is 1"):
        RUNTIMES[runtime]().load(make_case(runtime, fixed))


@BOTH
def test_a_damaged_file_is_told(runtime: str, tmp_path: Path, make_case: MakeCase) -> None:
    path = tmp_path / "damaged.onnx"
    path.write_bytes(b"not a model at all" * 100)
    with pytest.raises(LoadError, match="could not"):
        RUNTIMES[runtime]().load(make_case(runtime, path))


# ---- ONNX Runtime ----


def test_session_options_reach_the_session(tiny: Path, make_case: MakeCase) -> None:
    options = {
        "intra_op_num_threads": "1",
        "inter_op_num_threads": 3,
        "graph_optimization_level": "basic",
        "execution_mode": "ORT_PARALLEL",
        "enable_mem_pattern": "false",
        "session.set_denormal_as_zero": "1",
    }
    loaded = OnnxRuntime().load(make_case("onnxruntime", tiny, options=options))
    session = loaded.call.__self__  # type: ignore[attr-defined]
    used = session.get_session_options()
    assert (used.intra_op_num_threads, used.inter_op_num_threads) == (1, 3)
    assert used.graph_optimization_level.name == "ORT_ENABLE_BASIC"
    assert used.execution_mode.name == "ORT_PARALLEL"
    assert used.enable_mem_pattern is False
    assert used.get_session_config_entry("session.set_denormal_as_zero") == "1"
    assert loaded.details["intra_op_num_threads"] == 1


def test_a_binding_gives_the_same_outputs(tiny: Path, make_case: MakeCase) -> None:
    loaded = OnnxRuntime().load(make_case("onnxruntime", tiny, options={"io_binding": True}))
    (binding,) = loaded.arguments[0]
    loaded.call(binding)
    assert np.allclose(binding.copy_outputs_to_cpu()[0], _reference(tiny, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"intra_op_threads": 1}, r"no option 'intra_op_threads'\n  did you mean 'intra_op_num_threads'\?"),
        ({"graph_optimization_level": "bsic"}, "unknown value 'bsic'\n  did you mean 'basic'"),
        ({"intra_op_num_threads": "many"}, "intra_op_num_threads=many"),
        ({"enable_mem_pattern": "perhaps"}, "neither true nor false"),
    ],
)
def test_wrong_session_options(options: dict[str, str], message: str, tiny: Path, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match=message):
        OnnxRuntime().load(make_case("onnxruntime", tiny, options=options))


@pytest.mark.parametrize(
    ("device", "options", "message"),
    [
        ("cuda", {}, r"CUDAExecutionProvider is not in this onnxruntime, which has .*CPU.*\n  install onnxruntime-gpu"),
        ("cuda:1", {}, "CUDAExecutionProvider"),
        ("cdua", {}, "has no device 'cdua'\n  did you mean 'cuda'"),
        ("cpu", {"provider": "QNNExecutionProvider"}, "QNNExecutionProvider is not in this onnxruntime"),
        ("cpu", {"provider": "AzureExecutionProvider"}, r"got no node of the graph\n  nodes went to: CPUExecutionProv"),
    ],
)
def test_a_provider_that_is_not_used_fails(
    device: str, options: dict[str, str], message: str, tiny: Path, make_case: MakeCase
) -> None:
    with pytest.raises(DeviceError, match=message):
        OnnxRuntime().load(make_case("onnxruntime", tiny, device=device, options=options))


class _Part:
    """What onnxruntime tells of one part of a graph. Only with an accelerator's own build is a graph ever divided."""

    def __init__(self, ep_name: str, nodes: int) -> None:
        self.ep_name = ep_name
        self._nodes = nodes

    def get_nodes(self) -> list[object]:
        return [object()] * self._nodes


def _divided(session: type, parts: list[_Part]) -> type:
    """A session of the real library that says it has CUDA and divided the graph so."""

    class Divided(session):  # type: ignore[misc]
        def __init__(self, path: str, options: object, providers: object) -> None:
            super().__init__(path, options, providers=["CPUExecutionProvider"])

        def get_providers(self) -> list[str]:
            return ["CUDAExecutionProvider", "CPUExecutionProvider"]

        def get_provider_graph_assignment_info(self) -> list[_Part]:
            return parts

    return Divided


@pytest.mark.parametrize(
    ("parts", "seen"),
    [
        ([_Part("CUDAExecutionProvider", 9)], []),
        (
            [_Part("CUDAExecutionProvider", 4), _Part("CPUExecutionProvider", 2), _Part("CPUExecutionProvider", 1)],
            ["CUDAExecutionProvider computes 4 of 7 nodes; others: CPUExecutionProvider 3"],
        ),
    ],
)
def test_nodes_that_stay_on_the_cpu_are_told(
    parts: list[_Part], seen: list[str], tiny: Path, make_case: MakeCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "InferenceSession", _divided(onnxruntime.InferenceSession, parts))
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    loaded = OnnxRuntime().load(make_case("onnxruntime", tiny, device="cuda"))
    assert [(warning.code, warning.seen) for warning in loaded.warnings] == [("fallback", text) for text in seen]
    assert loaded.details["nodes"] == (
        {"CUDAExecutionProvider": 4, "CPUExecutionProvider": 3} if seen else {"CUDAExecutionProvider": 9}
    )


def test_nodes_on_the_cpu_are_counted(tiny: Path, make_case: MakeCase) -> None:
    import onnx

    loaded = OnnxRuntime().load(make_case("onnxruntime", tiny, options={"graph_optimization_level": "disable_all"}))
    assert loaded.details["nodes"] == {"CPUExecutionProvider": len(onnx.load(str(tiny)).graph.node)}
    assert list(loaded.warnings) == []


def test_a_library_too_old_to_tell_is_good_enough_for_the_cpu_alone() -> None:
    class Old:
        def get_providers(self) -> list[str]:
            return ["CUDAExecutionProvider", "CPUExecutionProvider"]

    assert _nodes(Old(), "CPUExecutionProvider") == {}
    with pytest.raises(DeviceError, match=r"does not tell whether CUDA.* is used\n  install onnxruntime 1\.24\.1"):
        _nodes(Old(), "CUDAExecutionProvider")


def test_onnxruntime_has_no_precision_of_its_own(tiny: Path, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match="the model's own precision, not in 'fp16'"):
        OnnxRuntime().load(make_case("onnxruntime", tiny, precision="fp16"))


def test_workers_that_share_a_pool_are_warned_of(tiny: Path, make_case: MakeCase) -> None:
    warned = OnnxRuntime().load(make_case("onnxruntime", tiny, load=Load(workers=2))).warnings
    assert [warning.code for warning in warned] == ["threads"]
    calm = make_case("onnxruntime", tiny, load=Load(workers=2), options={"intra_op_num_threads": 1})
    assert list(OnnxRuntime().load(calm).warnings) == []


# ---- OpenVINO ----


def test_properties_reach_the_compiled_model(tiny: Path, make_case: MakeCase) -> None:
    options = {"inference_num_threads": 1, "NUM_STREAMS": "1", "PERFORMANCE_HINT": "LATENCY"}
    details = OpenVino().load(make_case("openvino", tiny, options=options)).details
    assert (details["inference_num_threads"], details["num_streams"]) == (1, 1)
    assert details["inference_precision_hint"] == "f32"
    assert details["execution_devices"] == "CPU"


def test_the_precision_hint_is_the_one_asked_for(tiny: Path, make_case: MakeCase) -> None:
    assert OpenVino().load(make_case("openvino", tiny, precision="fp32")).details["inference_precision_hint"] == "f32"
    with pytest.raises(LoadError, match=r"no precision 'int4'\n  known: fp32, fp16, bf16"):
        OpenVino().load(make_case("openvino", tiny, precision="int4"))


def test_a_precision_that_is_not_used_fails() -> None:
    from benchwright.worker.runtimes.openvino import _check_used

    class Type:
        def get_type_name(self) -> str:
            return "f32"

    class Compiled:  # what a processor without bf16 answers
        def get_property(self, name: str) -> Any:
            return ["CPU"] if name == "EXECUTION_DEVICES" else Type()

    _check_used(Compiled(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    with pytest.raises(DeviceError, match="asked for precision bf16 and uses f32"):
        _check_used(Compiled(), "CPU", {"INFERENCE_PRECISION_HINT": "bf16"})
    with pytest.raises(DeviceError, match="asked for GPU and uses CPU"):
        _check_used(Compiled(), "GPU", {})


def test_dynamic_models_can_stay_dynamic(tiny: Path, make_case: MakeCase) -> None:
    loaded = OpenVino().load(make_case("openvino", tiny, options={"reshape": False}))
    assert "?" in str(loaded.details["outputs"])
    assert np.allclose(_outputs(loaded), _reference(tiny, 1), rtol=1e-4, atol=1e-5)


def test_an_xml_model_equals_its_onnx_source(tiny: Path, tmp_path: Path, make_case: MakeCase) -> None:
    from benchwright.worker.runtimes.openvino import _import

    openvino = _import()
    openvino.save_model(openvino.Core().read_model(str(tiny)), str(tmp_path / "tiny.xml"), compress_to_fp16=False)
    loaded = OpenVino().load(make_case("openvino", tmp_path / "tiny.xml"))
    assert np.allclose(_outputs(loaded), _reference(tiny, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_stream": 1}, r"no option 'NUM_STREAM'\n  did you mean 'NUM_STREAMS'\?"),
        ({"available_devices": "CPU"}, "no option 'AVAILABLE_DEVICES'"),
        ({"NUM_STREAMS": "plenty"}, "could not compile"),
    ],
)
def test_wrong_properties(options: dict[str, str], message: str, tiny: Path, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match=message):
        OpenVino().load(make_case("openvino", tiny, options=options))


def test_an_absent_device_fails(tiny: Path, make_case: MakeCase) -> None:
    with pytest.raises(DeviceError, match="openvino has no device NPU here, only CPU"):
        OpenVino().load(make_case("openvino", tiny, device="npu"))


def test_telemetry_stays_off(tiny: Path) -> None:
    script = (
        "import sys; from benchwright.records import Case, Target\n"
        "from benchwright.worker.runtimes.openvino import OpenVino\n"
        f"OpenVino().load(Case(name='m', target=Target(runtime='openvino', uri={str(tiny)!r})))\n"
        "print([m for m in sys.modules if m.startswith('openvino_telemetry.')], sys.modules['openvino_telemetry'])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[] None"
