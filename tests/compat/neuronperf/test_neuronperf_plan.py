"""Which configurations there are, and the model index: acceptance case T7."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchwright.compat.neuronperf as npf
from benchwright.compat.neuronperf import plan
from benchwright.compat.neuronperf.feeds import CallerInputs
from benchwright.compat.neuronperf.plan import CrossedDimensions, Model
from benchwright.errors import DecodeError, DeviceError, OptionError, TargetError
from benchwright.machine import environment

index = npf.model_index


def pairs(dimensions: CrossedDimensions, pipeline_size: int = 1) -> list[tuple[int, int]]:
    model = Model(filename="m", batch_size=1, pipeline_size=pipeline_size)
    return [(copies, workers) for _, copies, workers in plan.cross_dimensions([model], dimensions)]


def test_worker_counts_are_outer_and_copies_inner() -> None:
    assert pairs(CrossedDimensions(devices=16)) == [(1, 1), (16, 1), (1, 2), (16, 2)]


def test_a_pipeline_has_fewer_copies_and_its_own_workers() -> None:
    assert pairs(CrossedDimensions(devices=16), pipeline_size=4) == [(1, 3), (4, 3)]
    assert pairs(CrossedDimensions(devices=2), pipeline_size=2) == [(1, 1)]


def test_max_stands_for_a_number_and_doubles_are_one() -> None:
    assert pairs(CrossedDimensions(n_models=[2, npf.MAX, 1], workers_per_model=[1], devices=2)) == [(2, 1), (1, 1)]


def test_a_pipeline_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OptionError, match=r"pipeline size of 4 .* there are 2"):
        pairs(CrossedDimensions(devices=2), pipeline_size=4)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "two", [1, 0], []])
def test_counts_are_whole_numbers_above_zero(wrong: Any) -> None:
    with pytest.raises(OptionError, match="batch_sizes"):
        plan.read_whole_numbers(wrong, "batch_sizes")


def test_counts_may_be_numpys() -> None:
    found = plan.read_whole_numbers([np.int64(4), 2, np.uint8(4)], "batch_sizes")
    assert found == [4, 2] and {type(each) for each in found} == {int}
    assert plan.read_whole_numbers(np.int32(3), "batch_sizes") == [3]


def test_a_device_that_is_absent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(environment.collect(), accelerators=())
    monkeypatch.setattr(environment, "collect", lambda: bare)
    with pytest.raises(DeviceError, match="gpu"):
        npf.gpu.benchmark(Doubling, np.zeros((1, 2)), duration=1)
    with pytest.raises(OptionError, match="tpu"):
        npf.benchmark(Doubling, np.zeros((1, 2)), device_type="tpu")  # type: ignore[arg-type]


class Doubling:
    def __call__(self, x: Any) -> Any:
        return 2 * x


# ---- inputs and batch sizes ----


def sizes(inputs: Any, **more: Any) -> list[int]:
    return CallerInputs(inputs, **{"asked": None, "prepared": False, "column": None, **more}).batch_sizes


def test_batch_sizes_come_from_the_leading_dimension() -> None:
    assert sizes(np.zeros((8, 3))) == [8]
    assert sizes([np.zeros((1, 3)), np.zeros((4, 3)), np.zeros((4, 3))]) == [1, 4]
    assert sizes((np.zeros((2, 3)), np.zeros((5,)))) == [2]
    assert sizes({"ids": np.zeros((3, 3))}) == [3]
    assert sizes("text") == [1]
    assert sizes(iter([np.zeros((6, 2))])) == [6]


def test_a_batch_size_that_the_inputs_do_not_have_is_an_error_that_names_both() -> None:
    with pytest.raises(OptionError, match=r"batch size 8 .* leading dimension of 1"):
        npf.cpu.benchmark(Doubling, np.zeros((1, 2)), batch_sizes=[1, 8], duration=1)


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"duration": 0}, "duration"),
        ({"stats_interval": -1}, "stats_interval"),
        ({"n_models": 0}, "n_models"),
        ({"workers_per_model": [1, "x"]}, "workers_per_model"),
        ({"max_infers": 0}, "max_infers"),
        ({"eval_metrics": ["acuracy"]}, "accuracy"),
        ({"pipeline_sizes": [1], "n_models": 500}, "pipeline_sizes"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(keywords: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        npf.cpu.benchmark(Doubling, [(np.zeros((1, 2)), 0)], **keywords)


# ---- the index ----


def test_indexes_are_created_appended_and_filtered() -> None:
    both = index.append(index.create("a", performance_level=2), index.create("b"))
    assert len(both["model_configs"]) == 2 and both["model_name"] == "a"
    assert len(index.filter(both, filename="a")["model_configs"]) == 1
    assert len(index.filter(both, compile_s=None)["model_configs"]) == 2
    assert len(index.filter(both, performance_levels=[2, 3])["model_configs"]) == 2
    assert index.filter(both, performance_level=2)["model_configs"][0]["filename"] == "a"


def test_duplicates_are_dropped_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="duplicate of d"):
        appended = index.append(*(index.create("d") for _ in range(10)))
    assert len(appended["model_configs"]) == 1


def test_a_filter_that_no_config_has_is_named() -> None:
    with pytest.raises(OptionError, match="did you mean 'batch_size'"):
        index.filter(index.create("a"), batch_siz=1)


def test_an_index_survives_its_file(tmp_path: Path) -> None:
    made = index.create("a", batch_size=4, compile_s=1.5, model_name="net")
    name = index.save(made, root_dir=tmp_path)
    assert index.load(name) == made
    assert index.append(name) == made


def test_an_old_index_is_read_with_its_defaults(tmp_path: Path) -> None:
    old = {"NeuronPerf_version": "0.8", "model_name": "net", "model_configs": [{"filename": "a.pt", "batch_size": 2}]}
    (tmp_path / "old.json").write_text(json.dumps(old))
    read = index.load(tmp_path / "old.json")
    assert read["version"] == "0.8"
    expected = {**index.DEFAULTS, "filename": "a.pt", "batch_size": 2}
    assert read["model_configs"] == [expected]
    assert (expected["pipeline_size"], expected["performance_level"], expected["status"]) == (1, 3, "finished")


@pytest.mark.parametrize("text", ["[]", "{}", "not json", '{"model_configs": [1]}'])
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "wrong.json").write_text(text)
    with pytest.raises(DecodeError, match=r"wrong\.json"):
        index.load(tmp_path / "wrong.json")
    with pytest.raises(TargetError, match=r"absent\.json"):
        index.load(tmp_path / "absent.json")


def test_an_index_moves_with_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.onnx").write_text("a")
    first = index.save(index.create("a.onnx", model_name="net"))
    copied = index.copy(first, "copied", "there")
    assert Path("a.onnx").exists() and Path("there/a.onnx").read_text() == "a"
    assert index.load(copied)["model_name"] == "copied"
    moved = index.move(first, "moved.json", "here")
    assert not Path("a.onnx").exists() and not Path(first).exists() and Path(moved) == Path("here/moved.json")
    assert index.load(moved)["model_configs"][0]["filename"] == "here/a.onnx"
    index.delete(moved)
    index.delete(copied)
    assert list(Path("here").iterdir()) == list(Path("there").iterdir()) == []


def test_models_of_one_name_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b", "there"):
        Path(folder).mkdir()
        Path(folder, "m.onnx").write_text(folder)
    both = index.save(index.append(index.create("a/m.onnx"), index.create("b/m.onnx"), index.create("./a/m.onnx")))
    for carry, name in ((index.copy, "copied"), (index.move, "moved")):
        made = index.load(carry(both, name, "there"))
        first, second, again = (config["filename"] for config in made["model_configs"])
        assert [Path(file).read_text() for file in (first, second)] == ["a", "b"] and again == first
    assert Path("there/m.onnx").read_text() == "there"  # which was there before
    assert not Path("a/m.onnx").exists() and not Path("b/m.onnx").exists()


def test_weights_go_with_their_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "m.xml").write_text(folder)
        Path(folder, "m.bin").write_text(f"weights of {folder}")
    both = index.save(index.append(index.create("a/m.xml"), index.create("b/m.xml")))
    moved = index.move(both, "moved", "there")
    for config, folder in zip(index.load(moved)["model_configs"], "ab", strict=True):
        assert Path(config["filename"]).with_suffix(".bin").read_text() == f"weights of {folder}"
    index.delete(moved)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("carry", [index.copy, index.move])
def test_files_that_are_in_the_folder_already_stay(carry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_text("m")
    made = carry(index.save(index.create("m.onnx")), "again", ".")
    (config,) = index.load(made)["model_configs"]
    assert config["filename"] == "m.onnx" and Path("m.onnx").read_text() == "m"


def test_deleting_what_is_gone_is_no_error(tmp_path: Path) -> None:
    index.delete(tmp_path / "absent.json")
    name = index.save(index.create(tmp_path / "absent.onnx"), root_dir=tmp_path)
    index.delete(name)
    assert not Path(name).exists()
