"""What cannot be measured, or means nothing, is refused before anything starts."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchwright.errors import OptionError, TargetError
from benchwright.execution.rounds import Plan
from benchwright.prices.amounts import parse_price
from benchwright.records import Arrivals, Case, Inputs, Load, Mode, Objective, Scalar, Target
from benchwright.records.prices import Price
from benchwright.targets.sources import Request
from benchwright.units.objectives import objective
from benchwright.workflows import validation

FAKE = "fake:constant"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"workers": (0,)}, "workers"),
        ({"copies": ()}, "copies"),
        ({"batch_sizes": (1.5,)}, "batch size"),
        ({"load": Load(samples=0)}, "samples: 0 is below 1"),
        ({"load": Load(duration=0.0)}, "duration: 0.0 is not above zero"),
        ({"load": Load(duration=float("nan"))}, "duration: nan is not above zero"),
        ({"load": Load(timeout=-1.0)}, "timeout: -1.0 is not above zero"),
        ({"load": Load(warmup=-1.0)}, "warmup: -1.0 is not zero or above"),
        ({"load": Load(loops=-1)}, "loops: -1 is below 0"),
        ({"load": Load(mode=Mode.MULTISTREAM, streams=0)}, "streams: 0 is below 1"),
        ({"inputs": Inputs(count=0)}, "input count: 0 is below 1"),
        ({"load": Load(mode=Mode.OPEN)}, "an open loop needs a rate"),
        ({"load": Load(mode=Mode.OPEN, once=True), "rates": (5.0,)}, "an open loop ends after"),
        ({"load": Load(mode=Mode.OPEN, find_rate=True)}, "needs an objective to meet"),
        ({"load": Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE, trace="absent")}, "trace absent"),
        ({"load": Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE, trace="t"), "rates": (5.0,)}, "a trace sets the rate"),
        ({"load": Load(mode=Mode.OPEN, find_rate=True), "rates": (5.0,)}, "searches the rate by itself"),
        ({"load": Load(arrivals=Arrivals.CONSTANT)}, "--arrivals applies to an open loop only"),
        ({"load": Load(precision=0.01, samples=100)}, "two rules for when to stop"),
        ({"load": Load(precision=0.01), "rates": (5.0,)}, "an open loop ends after"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        validation.check(Request(**{"targets": [FAKE], **fields}), rounds=1)


def test_a_search_aims_at_percentiles_from_above() -> None:
    good = Objective(metric="latency_p99", relation="<", bound=0.01)
    for bad in (
        Objective(metric="latency", relation="<", bound=0.01),
        Objective(metric="latency_p99", relation=">", bound=0.01),
        Objective(metric="throughput", relation=">", bound=10),
    ):
        load = Load(mode=Mode.OPEN, find_rate=True, objectives=(good, bad))
        with pytest.raises(OptionError, match="cannot aim at"):
            validation.check(Request(targets=[FAKE], load=load), rounds=1)
    traced = Load(mode=Mode.OPEN, find_rate=True, objectives=(good,), arrivals=Arrivals.TRACE)
    with pytest.raises(OptionError, match="a trace sets the rate itself"):
        validation.check(Request(targets=[FAKE], load=traced), rounds=1)
    validation.check(Request(targets=[FAKE], load=Load(mode=Mode.OPEN, find_rate=True, objectives=(good,))), rounds=1)


def test_a_rate_makes_arrivals_meaningful() -> None:
    load = Load(arrivals=Arrivals.CONSTANT)
    validation.check(Request(targets=[FAKE], load=load, rates=(5.0,)), rounds=1)
    validation.check(Request(targets=[FAKE], load=Load(precision=0.01, duration=5.0)), rounds=1)


@pytest.mark.parametrize("tag", ["", "  ", "last", "last~2", "nightly.json", "runs.jsonl.gz", "x.parquet"])
def test_a_tag_that_finds_no_run_is_refused(tag: str) -> None:
    with pytest.raises(OptionError, match="tag"):
        validation.check_tags(["good", tag])
    validation.check_tags(["good", "lasting", "at-last", "v1.2"])


# ---- inputs ----


def _checked(source: Path | str) -> None:
    validation.check(Request(targets=[FAKE], inputs=Inputs(source=str(source))), rounds=1)


def _saved(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("absent.npz", None, "absent.npz: No such file"),
        ("empty.npy", b"", "empty.npy: not a NumPy file; it is empty"),
        ("text.npz", b"hello", "text.npz: not a NumPy file; it begins with b'hello'"),
        ("x.csv", b"1,2", "x.csv: unknown ending"),
        ("folder/notes.txt", b"", "folder holds no .npy or .npz file"),
        ("folder/x.npy", b"1,2", "x.npy: not a NumPy file"),
    ],
)
def test_inputs_that_are_no_arrays_are_refused(name: str, content: bytes | None, complaint: str) -> None:
    path = Path(name)
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    source = path.parent if "/" in name else path
    with pytest.raises(OptionError, match=complaint) as refused:
        _checked(source)
    assert refused.value.remedy


def test_arrays_are_inputs() -> None:
    np.save("x.npy", np.zeros(3))
    Path("y.npz").write_bytes(_saved(x=np.zeros(3)))
    Path("none.npz").write_bytes(_saved())
    for source in ("x.npy", "y.npz", "none.npz", "."):
        _checked(source)


def test_a_data_set_must_have_a_home() -> None:
    with pytest.raises(TargetError, match=r"there is no file rows\.py"):
        _checked("rows.py::rows")
    with pytest.raises(OptionError, match="there is no module 'no_such_rows' here"):
        _checked("no_such_rows:rows")
    Path("rows.py").touch()
    _checked("rows.py::rows")
    _checked("rows:rows")
    _checked("json:loads")


# ---- what a runtime knows without its library ----


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        (Target(runtime="torch", uri="m.pt", options={"compil": True}), "torch has no option 'compil'"),
        (Target(runtime="torch", uri="m.pt", precision="fp61"), "torch has no precision 'fp61'"),
        (Target(runtime="openvino", uri="m.onnx", precision="fp61"), "openvino has no precision 'fp61'"),
        (Target(runtime="onnxruntime", uri="m.onnx", device="cdua:1"), "onnxruntime has no device 'cdua'"),
        (Target(runtime="command", uri="true", options={"stdi": "x"}), "command has no option 'stdi'"),
        (Target(runtime="command", uri="true", device="cuda"), "command cannot see that device 'cuda' is used"),
        (Target(runtime="python", uri="a:b", options={"threads": 1}), "python has no option 'threads'"),
        (Target(runtime="fake", uri="fake:constant?latncy=1ms"), "fake has no option 'latncy'"),
        (Target(runtime="fake", uri="fake:constant", device="tpu"), "fake has no device 'tpu'"),
    ],
)
def test_what_no_library_needs_to_judge_is_refused(target: Target, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint) as refused:
        validation.check_cases([Case(name="m", target=target)])
    assert refused.value.remedy or target.runtime == "python"


def test_what_only_the_library_knows_is_left_to_it() -> None:
    options: dict[str, Scalar] = {"intra_op_num_threads": 1, "no_such_option": 1}
    targets = [
        Target(runtime="onnxruntime", uri="m.onnx", options=options, device="cuda:1"),
        Target(runtime="onnxruntime", uri="m.onnx", device="own", options={"provider": "OwnExecutionProvider"}),
        Target(runtime="openvino", uri="m.onnx", options=options, device="npu"),
        Target(runtime="torch", uri="m.pt", device="xpu", precision="bf16"),
    ]
    validation.check_cases([Case(name="m", target=target) for target in targets])


@pytest.mark.parametrize("price", [0, -1.18, float("nan"), float("inf"), "1.18", True])
def test_a_price_is_a_number_above_zero(price: Any) -> None:
    with pytest.raises(OptionError, match=r"cost per hour: .* is not"):
        validation.check_cost(Plan(cases=[], price=Price.bare(price)))
    validation.check_cost(Plan(cases=[], price=Price.bare(1.18)))


@pytest.mark.parametrize(
    ("price", "bound", "says"),
    [
        ("0.34USD/h", "cost_per_million<1USD", ""),
        ("0.34", "cost_per_million<1", ""),
        ("0.34USD/h", "cost_per_million<1", "may mean 1 USD, as the price is, or another currency"),
        ("0.34USD/h", "cost_per_run<1EUR", "the cost is in USD"),
        ("", "cost_per_million<1USD", "known where the machine has a price"),
    ],
)
def test_a_bound_of_a_cost_is_in_the_currency_of_the_price(price: str, bound: str, says: str) -> None:
    case = Case(name="x", target=Target(runtime="fake", uri="fake:"), load=Load(objectives=(objective(bound),)))
    plan = Plan(cases=[case], price=parse_price(price, what="--price") if price else None)
    if not says:
        validation.check_cost(plan)
        return
    with pytest.raises(OptionError) as refused:
        validation.check_cost(plan)
    assert says in refused.value.message


def test_no_price_is_asked_for_nothing() -> None:
    validation.check_cost(Plan(cases=[]))
