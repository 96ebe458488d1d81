"""A model with the user's code around it: arguments, parts, data sets, accuracy."""

from __future__ import annotations

import json
import os
import threading
from array import array
from collections.abc import Iterator
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchwright.errors import LoadError, MeasureError
from benchwright.records import Case, Histogram, Inputs, Load, Scalar, Target
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.pipeline import Pipeline, examples, feeds, parts

CODE = """
import numpy as np
from pathlib import Path

calls = []  # one list, however many of these names are asked for

class Model:
    def __init__(self):
        calls.append("made")
    def __call__(self, *args, **named):
        calls.append((args, named))
        return (args or tuple(named.values()))[0]

class Broken:
    def __init__(self):
        raise OSError("no weights")

def same(x): return x
def plus(x): return x + 1
def pair(x): return x, x
def by_name(x): return {"x": x}
def fails(x): raise KeyError("missing")
def noted(*given): calls.append(given)
def noted_calls(): return calls

class Items:
    def __len__(self): return 5
    def __getitem__(self, i): return np.full((1, 2), i)

def stream():
    for i in range(5):
        yield [np.full((1, 2), i), i % 2]

def nothing(): return []

class Share:
    def __init__(self): self.n = 0
    def process_record(self, output, target): self.n += int(output.sum()) >= target
    @staticmethod
    def aggregate(metrics): return {"n": sum(m.n for m in metrics), "nan": float("nan")}
"""


@pytest.fixture
def code(tmp_path: Path) -> str:
    name = f"pipeline_code_{os.urandom(4).hex()}.py"  # imported under its own name, which stays
    (tmp_path / name).write_text(CODE)
    return str(tmp_path / name)


def case(code: str, name: str = "Model", *items: Any, batch: int = 1, source: str = "", **options: Scalar) -> Case:
    folder = Path(code).parent / "items"
    if not source:
        examples.write(folder, items or [np.zeros((1, 2))])
    target = Target(runtime="pipeline", uri=f"{code}::{name}", options=options)
    return Case(name="m", target=target, inputs=Inputs(source=source or str(folder), batch_size=batch), load=Load())


def load(*given: Any, **more: Any) -> Loaded:
    return Pipeline().load(case(*given, **more))


def noted(loaded: Loaded) -> Any:
    """What the module of the model's class has seen."""
    import sys

    return sys.modules[type(loaded.model).__module__].calls  # type: ignore[attr-defined]


# ---- arguments ----


def test_without_functions_the_model_itself_is_called(code: str) -> None:
    loaded = load(code, "Model", np.ones((3, 2)), np.zeros((3, 2)), batch=3)
    assert loaded.call is loaded.model and len(loaded.arguments) == 2 and loaded.items_per_call == 3
    assert parts.metrics({}) == [] and list(loaded.report().metrics) == []


@pytest.mark.parametrize(
    ("item", "preprocess", "args", "named"),
    [
        (np.zeros((4, 3)), "same", [(4, 3)], {}),
        (np.zeros((4, 3)), "pair", [(4, 3), (4, 3)], {}),
        (np.zeros((4, 3)), "by_name", [], {"x": (4, 3)}),
        ((np.zeros(2), np.zeros(3)), "", [(2,), (3,)], {}),
        ({"a": np.zeros(2)}, "", [], {"a": (2,)}),
    ],
)
def test_one_array_is_one_argument_a_tuple_is_several_a_mapping_names_them(
    code: str, item: Any, preprocess: str, args: list[Any], named: dict[str, Any]
) -> None:
    options = {"preprocess": f"{code}::{preprocess}"} if preprocess else {"postprocess": f"{code}::same"}
    loaded = load(code, "Model", item, batch=examples.batch_size(item), **options)
    loaded.call(*loaded.arguments[0])
    given, by_name = noted(loaded)[-1]
    assert [each.shape for each in given] == args
    assert {name: each.shape for name, each in by_name.items()} == named


def test_a_mapping_without_functions_names_the_arguments(code: str) -> None:
    loaded = load(code, "Model", {"a": np.zeros((1, 2))})
    loaded.call(*loaded.arguments[0])
    assert list(noted(loaded)[-1][1]) == ["a"]


def test_setup_functions_get_the_copy_its_configuration_and_the_model(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_COPY", "3")
    config = json.dumps({"n_models": 4})
    loaded = load(code, env_setup=f"{code}::noted", setup=f"{code}::noted", config=config)
    before, made, after = noted(loaded)
    assert before == (3, {"n_models": 4}) and made == "made" and after == (3, {"n_models": 4}, loaded.model)


def test_devices_are_shown_to_the_copy_that_they_are_for(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHWRIGHT_COPY", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    load(code, devices=4, devices_per_copy=2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "6,7"


def test_failures_of_the_users_code_say_whose_they_are(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoadError, match=r"Broken could not be constructed: OSError: no weights"):
        load(code, "Broken")
    with pytest.raises(MeasureError, match="preprocess_fn failed: KeyError"):
        load(code, preprocess=f"{code}::fails")
    loaded = load(code, postprocess=f"{code}::fails")
    with pytest.raises(MeasureError, match="postprocess_fn failed: KeyError"):
        loaded.call(*loaded.arguments[0])
    assert "no weights" in capsys.readouterr().err


def test_what_cannot_be_is_refused(code: str) -> None:
    with pytest.raises(LoadError, match="did you mean 'preprocess'"):
        load(code, preproces="x")
    with pytest.raises(LoadError, match=r"leading dimension of 1; the batch size asked for is 8"):
        load(code, batch=8)
    with pytest.raises(LoadError, match="list, which cannot be called"):
        load(code, preprocess=f"{code}::calls")
    with pytest.raises(LoadError, match="cannot be called with new arrays for each call"):
        options: dict[str, Scalar] = {"inner": "fake", "postprocess": f"{code}::same"}
        target = Target(runtime="pipeline", uri="constant", options=options)
        Pipeline().load(replace(case(code), target=target))


# ---- an inner runtime ----


MODULE = """
import torch

class Net(torch.nn.Module):
    def forward(self, ids, mask=None):
        return ids * 2 if mask is None else ids * mask
"""


def test_the_inner_runtime_gets_examples_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "net_of_pipeline.py"
    file.write_text(MODULE)
    ids, mask = torch.ones(2, 3), torch.full((2, 3), 5.0)
    for item, expected in ((ids, 2.0), ((ids, mask), 5.0), ({"mask": mask, "ids": ids}, 5.0)):
        loaded = load(str(file), "Net", item, batch=2, inner="torch")
        assert float(loaded.call(*loaded.arguments[0])[0, 0]) == expected
        loaded.close()


def test_preprocess_makes_what_the_inner_runtime_takes(tmp_path: Path, code: str) -> None:
    file = tmp_path / "net_of_pipeline.py"
    file.write_text(MODULE)
    loaded = load(str(file), "Net", "text", inner="torch", preprocess=f"{tmp_path}/prep.py::made", **_prep(tmp_path))
    assert float(loaded.call(*loaded.arguments[0])) == 2.0 * 4
    loaded.close()


def _prep(folder: Path) -> dict[str, Any]:
    (folder / "prep.py").write_text(
        "import numpy as np\ndef made(text): return np.full((1, 1), len(text), dtype='float32')\n"
        "def out(y): return y.sum()\n"
    )
    return {"postprocess": f"{folder}/prep.py::out", "inner.threads": 1}


# ---- parts ----


def test_parts_are_timed_apart_and_warming_up_is_forgotten(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_OUTPUT", str(tmp_path))
    loaded = load(code, preprocess=f"{code}::plus")
    loaded.call(*loaded.arguments[0])
    loaded.begin()
    for _ in range(10):
        loaded.call(*loaded.arguments[0])
    report = loaded.report()
    names = {metric.name for metric in report.metrics}
    assert {"infer", "infer_p50", "infer_p99", "preprocess", "postprocess_p90", "input_wait"} <= names
    assert {metric.count for metric in report.metrics} == {10}
    (told,) = parts.read(tmp_path)
    assert told.copy == 0 and told.load > 0 and told.warmup > 0
    assert {name: len(column) for name, column in told.parts.items()} == dict.fromkeys(parts.NAMES, 10)  # type: ignore[arg-type]


def test_parts_beyond_the_limit_are_counted_in_bounded_memory(tmp_path: Path) -> None:
    written = parts.CallParts(limit=5000)
    write = written.writer()
    for i in range(12_000):
        write(i, 2 * i, 1000 + i, 0)
    column = written.collect()["infer"]
    assert isinstance(column, Histogram) and column.total == 12_000
    assert (column.minimum, column.maximum, column.sum) == (1000, 12_999, sum(range(1000, 13_000)))
    parts.write(tmp_path, parts.CopyReport(copy=1, load=1.0, warmup=2.0, parts=written.collect()))
    (told,) = parts.read(tmp_path)
    assert told.parts == written.collect()


def test_threads_write_side_by_side() -> None:
    written = parts.CallParts(limit=100)

    def work() -> None:
        for _ in range(50):
            written.writer()(1, 2, 3, 4)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written.collect()["infer"] == array("q", [3] * 200)
    written.forget()
    assert written.collect() == {}


# ---- data sets ----


def taken(loaded: Loaded) -> list[int]:
    """What the engine's own loop would call, until the data set ends."""
    loaded.begin()
    return [int(np.ravel(output)[0]) for output in starmap(loaded.call, iter(lambda: (), None))]


@pytest.mark.parametrize(("name", "options"), [("Items", {}), ("stream", {"target": -1})])
@pytest.mark.parametrize("copy", [0, 1])
def test_a_data_set_is_used_once_each_copy_its_share(
    code: str, name: str, options: dict[str, Any], copy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHWRIGHT_COPY", str(copy))
    whole = case(code, source=f"{code}::{name}", data="dataset", **options)
    loaded = Pipeline().load(Case(name="m", target=whole.target, inputs=whole.inputs, load=Load(copies=2)))
    warm = [int(np.ravel(loaded.call())[0]) for _ in range(4)]
    assert warm == [copy] * 4  # warming up uses nothing up
    assert taken(loaded) == [0, 2, 4] if copy == 0 else [1, 3]


def test_a_looped_data_set_begins_anew(code: str) -> None:
    loaded = load(code, source=f"{code}::Items", data="dataset", loop=True)
    loaded.begin()
    assert [int(np.ravel(loaded.call())[0]) for _ in range(12)] == [0, 1, 2, 3, 4] * 2 + [0, 1]


def test_a_data_set_without_an_item_for_a_copy_is_refused(code: str) -> None:
    with pytest.raises(LoadError, match="no items"):
        load(code, source=f"{code}::nothing", data="dataset")
    with pytest.raises(LoadError, match="no column 5"):
        load(code, source=f"{code}::stream", data="dataset", target=5)


# ---- accuracy ----


def test_an_evaluation_sees_every_item_once(code: str) -> None:
    asked = [
        {"name": "Accuracy", "metric": "accuracy", "init": {"threshold": 3}},
        {"name": "mine", "metric": f"{code}::Share"},
    ]
    evaluate, out = json.dumps(asked), f"{code}::first"
    Path(code).write_text(CODE + "\ndef first(y): return float(y[0, 0])\n")
    loaded = load(code, source=f"{code}::stream", data="dataset", evaluate=evaluate, postprocess=out, preprocess="")
    with pytest.raises(LoadError, match="metric mine: AttributeError"):
        loaded.call()
    loaded = load(code, source=f"{code}::stream", data="dataset", evaluate=json.dumps(asked[:1]), postprocess=out)
    loaded.call()
    # decisions of 0..4 against the threshold: 0 0 0 1 1; targets: 0 1 0 1 0
    assert loaded.report().details == {"accuracy": {"Accuracy": 0.6}, "records": 5}
    loaded = load(code, source=f"{code}::stream", data="dataset", evaluate=json.dumps(asked[1:]))
    loaded.call()
    assert loaded.report().details["accuracy"] == {"mine": {"n": 5, "nan": None}}


# ---- examples ----


def test_examples_survive_their_files(tmp_path: Path) -> None:
    given: list[Any] = [
        np.arange(6).reshape(2, 3),
        (np.float32(1.5), "text", None, True, b"\x00\xff"),
        {"a": torch.ones(2, dtype=torch.bfloat16), "b": [1, 2.5]},
    ]
    assert examples.write(tmp_path, given) == (3, True)
    array_, tuple_, mapping = examples.read(tmp_path)
    assert array_.tolist() == given[0].tolist() and array_.dtype == given[0].dtype
    assert tuple_ == given[1] and isinstance(tuple_, tuple)
    assert torch.equal(mapping["a"], given[2]["a"]) and mapping["a"].dtype == torch.bfloat16
    assert mapping["b"] == [1, 2.5]


def test_items_are_written_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "MOST_ITEMS", 3)

    def endless() -> Iterator[int]:
        while True:
            yield 1

    assert examples.write(tmp_path, endless()) == (3, False)
    assert examples.read(tmp_path) == [1, 1, 1]
    monkeypatch.setattr(examples, "MOST_BYTES", 1)
    assert examples.write(tmp_path / "small", endless()) == (1, False)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"the example\['a'\]\[1\] is object"):
        examples.write(tmp_path, [{"a": [1, object()]}])
    with pytest.raises(LoadError, match="array of objects"):
        examples.write(tmp_path, [np.array([{}])])


def test_a_column_is_the_target() -> None:
    assert feeds.without_target((1, 2), -1) == 1
    assert feeds.without_target((1, 2, 3), 0) == (2, 3)
    assert feeds.target_of([1, 2, 3], 0) == 1
