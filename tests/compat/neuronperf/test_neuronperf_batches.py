"""Data sets: single items become batches, and a call never counts more items than it had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import benchwright.compat.neuronperf as npf
from benchwright.compat.neuronperf.feeds import CallerInputs
from benchwright.errors import LoadError, OptionError
from benchwright.worker.runtimes.pipeline import batches
from benchwright.worker.runtimes.pipeline import feeds as feeding

ONCE: dict[str, Any] = {"n_models": 1, "workers_per_model": 1, "duration": 20.0, "multiprocess": False, "verbosity": 0}
IMAGE, VECTOR = np.ones((3, 4, 4), dtype=np.float32), np.ones(5, dtype=np.float32)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class Images:
    """64 pairs of an image and its label, as torchvision's data sets have them."""

    def __init__(self, count: int = 64) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        if i >= self.count:
            raise IndexError
        return torch.full((3, 4, 4), float(i)), i % 2


class Brightness:
    """Remembers what it was called with, and calls odd numbers the first class."""

    seen: list[tuple[int, ...]] = []  # noqa: RUF012 - of the one test that clears it

    def __call__(self, images: Any) -> Any:
        type(self).seen.append(tuple(images.shape))
        odd = np.asarray(images)[:, 0, 0, 0] % 2
        return np.stack([1 - odd, odd], axis=1)


def finished(reports: list[Any]) -> Any:
    (report,) = reports
    assert (report["status"], report["reason"]) == ("finished", "")
    return report


# ---- how many items there are ----


def test_the_guides_data_set_of_single_items_is_batched_and_counted_once() -> None:
    Brightness.seen.clear()
    report = finished(npf.cpu.benchmark(Brightness, Images, [8], preprocess_fn=lambda x: x[0], **ONCE))
    assert (report["total_infs"], report["batch_size"]) == (64, 8)
    assert set(Brightness.seen) == {(8, 3, 4, 4)}
    assert report["notes"]["batches"] == "8 items of the data set were put together for each call"


def test_a_list_of_single_items_is_batched_too() -> None:
    Brightness.seen.clear()
    report = finished(npf.cpu.benchmark(Brightness, list(Images()), [8], eval_metrics=["accuracy"], **ONCE))  # type: ignore[call-overload]
    assert report["total_infs"] == 64 and set(Brightness.seen) == {(8, 3, 4, 4)}
    assert (report["accuracy"], report["eval_records"]) == (1.0, 64)


def test_what_makes_no_whole_batch_is_left_out_of_the_timing_and_counted_in_the_accuracy() -> None:
    Brightness.seen.clear()
    report = finished(npf.cpu.benchmark(Brightness, Images, [10], eval_metrics=["accuracy"], **ONCE))
    assert report["total_infs"] == 60 and "4 items at its end" in report["notes"]["batches"]
    assert (report["eval_records"], report["accuracy"]) == (64, 1.0)
    assert set(Brightness.seen) == {(10, 3, 4, 4)}  # the last four as well, among six that fill it up


def test_copies_and_workers_share_whole_batches() -> None:
    shared = {**ONCE, "n_models": 2, "workers_per_model": 2}
    report = finished(npf.cpu.benchmark(Brightness, Images, [8], preprocess_fn=first, **shared))
    assert report["total_infs"] == 64


def test_single_items_are_no_batch_of_their_first_dimension() -> None:
    report = finished(npf.cpu.benchmark(Brightness, Images, preprocess_fn=first, **ONCE))
    assert (report["batch_size"], report["total_infs"]) == (1, 64)


def first(item: Any) -> Any:
    return item[0]


def image_alone(item: Any) -> Any:
    return item[0][0]


def test_what_preprocess_gives_must_be_the_batch_that_is_counted() -> None:
    (report,) = npf.cpu.benchmark(Brightness, Images, [8], preprocess_fn=image_alone, **ONCE)
    assert report["status"] == "failed" and report["throughput_avg"] is None
    assert "leading dimension of 3; the batch size asked for is 8" in report["reason"]


def test_batches_of_another_size_are_refused_with_both_numbers() -> None:
    loader = torch.utils.data.DataLoader(Images(8), batch_size=4)  # type: ignore[arg-type]
    (report,) = npf.cpu.benchmark(Brightness, loader, [8], preprocess_fn=first, **ONCE)
    assert report["status"] == "failed" and "leading dimension of 4" in report["reason"] and "is 8" in report["reason"]
    whole = finished(npf.cpu.benchmark(Brightness, loader, preprocess_fn=first, **ONCE))
    assert (whole["batch_size"], whole["total_infs"]) == (4, 8)


def test_a_short_last_batch_is_not_counted_as_a_whole_one() -> None:
    loader = torch.utils.data.DataLoader(Images(10), batch_size=4)  # type: ignore[arg-type]
    report = finished(npf.cpu.benchmark(Brightness, loader, eval_metrics=["accuracy"], **ONCE))
    assert report["total_infs"] == 8 and report["accuracy"] == 1.0


def test_too_few_items_for_one_batch_are_named() -> None:
    (report,) = npf.cpu.benchmark(Brightness, few, [8], preprocess_fn=first, **ONCE)
    assert report["status"] == "failed" and "has 5 items; the batch size asked for is 8" in report["reason"]


def few() -> Any:
    return Images(5)


def test_an_index_says_how_many_items_its_model_takes() -> None:
    Path("model.onnx").write_bytes(b"")
    index = npf.model_index.save(npf.model_index.create("model.onnx", batch_size=4), "index.json")
    reports = npf.benchmark(lambda name, device: Brightness(), index, Images, preprocess_fn=first, **ONCE)
    assert finished(reports)["total_infs"] == 64


# ---- the rule, item by item ----


@pytest.mark.parametrize(
    ("item", "size", "expected"),
    [
        ((IMAGE, 1), 8, 8),
        ((IMAGE, 1), 3, 3),  # three colours are no batch of three: it has one label
        ((IMAGE, 1), 1, 1),
        (IMAGE, 8, 8),
        (VECTOR, 2, 2),
        ((VECTOR, VECTOR), 2, 2),
        ({"ids": VECTOR, "mask": VECTOR}, 2, 2),
        (3.5, 4, 4),
        (np.ones((8, 5)), 8, 0),
        ((np.ones((8, 5)), np.ones(8)), 8, 0),
        ((np.ones((1, 5)), 1), 1, 0),
        ("text", 1, 0),
    ],
)
def test_single_items_are_put_together_and_batches_are_left(item: Any, size: int, expected: int) -> None:
    assert batches.grouping([item], item, size, None).together == expected


def test_a_batch_beside_its_targets_is_not_stacked() -> None:
    with pytest.raises(LoadError, match=r"leading dimension of 4; the batch size asked for is 8"):
        batches.grouping([], (np.ones((4, 5)), np.ones(4)), 8, None)


def test_a_preprocess_that_makes_the_batch_itself_gets_single_items() -> None:
    assert batches.grouping([], "a,b", 2, None, lambda item: np.zeros((2, 3))).together == 0
    assert batches.grouping([], (IMAGE, 1), 3, None, lambda item: item[0]).together == 3


def test_items_are_put_together_whatever_they_hold() -> None:
    one = batches.put_together([(IMAGE, {"a": 1.5}, "x"), (IMAGE, {"a": 2.5}, "y")])
    assert one[0].shape == (2, 3, 4, 4) and one[1]["a"].tolist() == [1.5, 2.5] and one[2] == ["x", "y"]
    assert isinstance(batches.put_together([torch.ones(2), torch.ones(2)]), torch.Tensor)
    with pytest.raises(LoadError, match=r"differ in shape.*\(2,\), \(3,\)"):
        batches.put_together([np.ones(2), np.ones(3)])
    with pytest.raises(LoadError, match="different numbers of parts"):
        batches.put_together([(1, 2), (1,)])


def test_rows_are_cut_wherever_they_are() -> None:
    cut = batches.first_rows({"a": np.ones((4, 2)), "b": [np.ones((4, 1)), 7], "c": [1, 2, 3, 4]}, 3, 4)
    assert cut["a"].shape == (3, 2) and cut["b"][0].shape == (3, 1) and cut["b"][1] == 7 and cut["c"] == [1, 2, 3]


def test_looping_goes_through_whole_batches_again() -> None:
    group = lambda data, item: batches.BatchGrouping(together=2)  # noqa: E731
    feed = feeding.feed_from("dataset", [np.full(1, i) for i in range(5)], None, share=(0, 1), loop=True, group=group)
    feed.begin()
    assert [feed.take().ravel().tolist() for _ in range(4)] == [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert feed.left_out == 1


# ---- the user's own loader ----


def by_fours(data: Any, workers: int) -> Any:
    assert workers == 2
    return torch.utils.data.DataLoader(data, batch_size=4)


def a_loader_for_each_worker(data: Any, workers: int) -> Any:
    shares = [[data[i] for i in range(n, len(data), workers)] for n in range(workers)]
    return [torch.utils.data.DataLoader(share, batch_size=4) for share in shares]


def by_fours_for_any(data: Any, workers: int) -> Any:
    return torch.utils.data.DataLoader(data, batch_size=4)


@pytest.mark.parametrize("loader", [by_fours, a_loader_for_each_worker])
def test_a_loader_makes_the_batches(loader: Any) -> None:
    common = {**ONCE, "workers_per_model": 2, "dataset_loader_fn": loader, "preprocess_fn": first}
    report = finished(npf.cpu.benchmark(Brightness, Images, batch_sizes=4, **common))
    assert report["total_infs"] == 64
    (wrong,) = npf.cpu.benchmark(Brightness, Images, batch_sizes=8, **common)
    assert wrong["status"] == "failed" and "leading dimension of 4" in wrong["reason"]


def test_a_loaders_batch_size_need_not_be_said() -> None:
    report = finished(
        npf.cpu.benchmark(
            Brightness, Images, dataset_loader_fn=by_fours_for_any, eval_metrics="accuracy", **{**ONCE, "duration": 0}
        )
    )
    assert (report["batch_size"], report["accuracy"], report["eval_records"]) == (4, 1.0, 16)
    with pytest.raises(OptionError, match="batch_sizes"):
        npf.cpu.benchmark(Brightness, iter(Images()), dataset_loader_fn=by_fours_for_any, **ONCE)


# ---- which input a model of an index is fed ----


def test_the_input_of_an_index_is_the_one_it_was_prepared_with(tmp_path: Path) -> None:
    inputs = [np.zeros((1, 2)), np.ones((1, 3)), np.zeros((2, 4))]
    feeds = CallerInputs(inputs, asked=None, prepared=False, column=None)

    def shapes(size: int, number: int | None) -> list[tuple[int, ...]]:
        fed = feeds.prepare(size, tmp_path, lambda thing, what: "", number)
        return [each.shape for each in feeding.open_data(fed.kind, fed.source, lambda _: None)]

    assert shapes(1, 1) == [(1, 3)] and shapes(1, 0) == [(1, 2)]
    assert shapes(2, 0) == [(2, 4)]  # an index that does not say: the one of its size
    assert shapes(1, None) == [(1, 2), (1, 3)]
