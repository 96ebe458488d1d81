"""What models are fed, without any framework."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchwright.errors import LoadError
from benchwright.records import Inputs
from benchwright.worker.runtimes.inputs.feeds import MOST_ITEMS, TensorSignature, build, random_array

IMAGE = TensorSignature(name="image", shape=("batch", 3, None, None), dtype="float32")
IDS = TensorSignature(name="ids", shape=("batch", 16), dtype="int64")


def test_random_arrays_are_seeded_by_name_and_number() -> None:
    asked = Inputs(batch_size=2, seed=7, count=3)
    feeds, warnings = build([IDS], asked)
    again, _ = build([IDS], asked)
    assert warnings == [] and len(feeds) == 3
    assert all(np.array_equal(a["ids"], b["ids"]) for a, b in zip(feeds, again, strict=True))
    assert not np.array_equal(feeds[0]["ids"], feeds[1]["ids"])
    assert not np.array_equal(build([IDS], Inputs(seed=8, batch_size=2))[0][0]["ids"], feeds[0]["ids"])
    beside = build([TensorSignature(name="mask", shape=(2, 4), dtype="bool"), IDS], Inputs(batch_size=2, seed=7))[0][0]
    assert np.array_equal(beside["ids"], feeds[0]["ids"])


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("float32", 0, 1), ("float16", 0, 1), ("float64", 0, 1), ("uint8", 0, 255), ("int8", 0, 99), ("int64", 0, 99)],
)
def test_random_values_stay_in_a_sensible_range(dtype: str, low: int, high: int) -> None:
    array = random_array(TensorSignature(name="x", shape=(1000,), dtype=dtype), 0)
    assert array.dtype == dtype and array.shape == (1000,)
    assert low <= array.min() < array.max() <= high


def test_random_booleans_and_scalars() -> None:
    flags = random_array(TensorSignature(name="x", shape=(1000,), dtype="bool"), 0)
    assert flags.dtype == bool and 300 < flags.sum() < 700
    assert random_array(TensorSignature(name="rate", shape=(), dtype="float32"), 0).shape == ()


def test_text_cannot_be_drawn() -> None:
    with pytest.raises(LoadError, match="cannot be drawn at random"):
        build([TensorSignature(name="x", shape=(1,), dtype="string")], Inputs())


# ---- shapes ----


def test_the_batch_size_fills_the_leading_dimension_and_its_symbol_elsewhere() -> None:
    state = TensorSignature(name="state", shape=(2, "batch", 8), dtype="float32")
    feed = build([IDS, state], Inputs(batch_size=5))[0][0]
    assert feed["ids"].shape == (5, 16) and feed["state"].shape == (2, 5, 8)


def test_other_free_dimensions_come_from_the_shapes() -> None:
    feed = build([IMAGE, IDS], Inputs(batch_size=4, shapes={"image": (1, 3, 32, 48)}))[0][0]
    assert feed["image"].shape == (4, 3, 32, 48) and feed["ids"].shape == (4, 16)
    every = build([IMAGE], Inputs(batch_size=4, shapes={"": (4, 3, 8, 8)}))[0][0]
    assert every["image"].shape == (4, 3, 8, 8)


def test_an_explicit_leading_dimension_is_taken_with_a_warning() -> None:
    feeds, warnings = build([IDS], Inputs(shapes={"ids": (50, 16)}))
    assert feeds[0]["ids"].shape == (50, 16)
    assert [w.code for w in warnings] == ["batch-shape"] and "--batch-size 50" in warnings[0].remedy


FIXED = TensorSignature(name="x", shape=(4, 8), dtype="float32")


@pytest.mark.parametrize(
    ("spec", "inputs", "message"),
    [
        (
            FIXED,
            Inputs(),
            r"fixed leading dimension of 4; the batch size asked for is 1\n  use --batch-size 4, or export",
        ),
        (FIXED, Inputs(batch_size=8), "fixed leading dimension of 4; the batch size asked for is 8"),
        (FIXED, Inputs(shapes={"x": (4, 9)}), r"is \[4, 8\]; the shape asked for is \[4, 9\]"),
        (
            IMAGE,
            Inputs(),
            r"input 'image' is float32 \[1, 3, \?, \?\]\n  'image' looks like an image: add --shape image:1x3x224x224",
        ),
        (IMAGE, Inputs(shapes={"imgae": (1, 3, 8, 8)}), "no input 'imgae'\n  did you mean 'image'"),
        (IMAGE, Inputs(shapes={"image": (1, 3, 8)}), r"is \[\?, 3, \?, \?\]; the shape asked for is \[1, 3, 8\]"),
        (IDS, Inputs(batch_size=2, shapes={"ids": (3, 16)}), "shape says 3, the batch size asked for is 2"),
        (IDS, Inputs(dtypes={"ids": "int32"}), "takes int64; the dtype asked for is int32"),
    ],
)
def test_mismatches_name_both_and_the_remedy(spec: TensorSignature, inputs: Inputs, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        build([spec], inputs)


def test_a_fixed_shape_that_is_asked_for_is_taken_as_it_is() -> None:
    assert build([FIXED], Inputs(shapes={"x": (4, 8)}))[0][0]["x"].shape == (4, 8)
    assert build([FIXED], Inputs(batch_size=4))[0][0]["x"].shape == (4, 8)


# ---- files ----


def test_an_npy_file_is_cut_into_batches(tmp_path: Path) -> None:
    rows = np.arange(10 * 16, dtype=np.int64).reshape(10, 16)
    np.save(tmp_path / "ids.npy", rows)
    feeds, _ = build([IDS], Inputs(source=str(tmp_path / "ids.npy"), batch_size=4))
    assert len(feeds) == 2
    assert np.array_equal(feeds[1]["ids"], rows[4:8])
    limited, _ = build([IDS], Inputs(source=str(tmp_path / "ids.npy"), count=3))
    assert len(limited) == 3


def test_an_npz_file_and_a_folder_of_them(tmp_path: Path) -> None:
    for i in range(3):
        image, ids = np.full((1, 3, 4, 4), i, dtype=np.float64), np.full((1, 16), i)
        np.savez(tmp_path / f"{i}.npz", image=image, ids=ids)
    feeds, _ = build([IMAGE, IDS], Inputs(source=str(tmp_path)))
    assert [feed["image"][0, 0, 0, 0] for feed in feeds] == [0, 1, 2]
    assert feeds[0]["image"].dtype == np.float32 and list(feeds[0]) == ["image", "ids"]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((1, 15), dtype=np.int64), r"is \[\?, 16\], the array is \[1, 15\]"),
        (np.zeros((16,), dtype=np.int64), r"the array is \[16\]"),
        (np.zeros((1, 16), dtype=np.float32), "takes int64, not float32"),
        (np.array(["a"], dtype=object), "allow_pickle=False"),
        (np.zeros((0, 16), dtype=np.int64), "no complete batch of 1"),
    ],
)
def test_arrays_that_do_not_fit(array: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    with pytest.raises(LoadError, match=message):
        build([IDS], Inputs(source=str(tmp_path / "x.npy")))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="No such file"):
        build([IDS], Inputs(source=str(tmp_path / "none.npy")))
    with pytest.raises(LoadError, match=r"unknown ending\n  known: \.npy"):
        build([IDS], Inputs(source=str(tmp_path / "data.csv")))
    with pytest.raises(LoadError, match=r"holds no \.npy"):
        build([IDS], Inputs(source=str(tmp_path)))
    np.savez(tmp_path / "x.npz", other=np.zeros(1))
    with pytest.raises(LoadError, match=r"no array for input 'ids'\n  it holds: other"):
        build([IDS], Inputs(source=str(tmp_path / "x.npz")))


# ---- data sets ----

DATA = """
import itertools
import numpy as np

def pairs():
    for i in range(3):
        yield np.full((1, 3, 4, 4), i, dtype=np.float32), np.full((1, 16), i)

def endless():
    for i in itertools.count():
        yield np.full((1, 16), i)

def broken():
    yield np.zeros((1, 16), dtype=np.int64)
    raise ValueError("row 1 is damaged")

ready = [{"ids": np.zeros((1, 16), dtype=np.int64)}]
"""


@pytest.fixture
def data(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "data_set.py").write_text(DATA)
    before, modules = sys.path[:], set(sys.modules)
    yield str(tmp_path / "data_set.py")
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_data_set_gives_tuples_or_mappings(data: str) -> None:
    feeds, _ = build([IMAGE, IDS], Inputs(source=f"{data}::pairs"))
    assert [int(feed["ids"][0, 0]) for feed in feeds] == [0, 1, 2]
    assert len(build([IDS], Inputs(source=f"{data}::ready"))[0]) == 1


def test_an_endless_data_set_needs_a_count(data: str) -> None:
    assert len(build([IDS], Inputs(source=f"{data}::endless", count=20))[0]) == 20
    with pytest.raises(LoadError, match=f"did not end after {MOST_ITEMS} items"):
        build([IDS], Inputs(source=f"{data}::endless"))


def test_a_failing_data_set(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoadError, match="failed: ValueError: row 1 is damaged"):
        build([IDS], Inputs(source=f"{data}::broken"))
    assert "in broken" in capsys.readouterr().err
    with pytest.raises(LoadError, match=r"2 arrays for 1 inputs \(ids\)"):
        build([IDS], Inputs(source=f"{data}::pairs"))


# ---- what a spec says of its inputs ----


def test_a_spec_seeds_by_its_own_names_so_that_every_file_of_a_model_gets_the_same_numbers() -> None:
    ours = build([TensorSignature(name="sound", shape=(2, 4), dtype="float32")], Inputs(batch_size=2))[0][0]["sound"]
    theirs = Inputs(batch_size=2, names={"serving_default_x:0": "sound"})
    named = build([TensorSignature(name="serving_default_x:0", shape=(2, 4), dtype="float32")], theirs)[0][0]
    assert np.array_equal(named["serving_default_x:0"], ours)


@pytest.mark.parametrize(
    ("dtype", "bounds"), [("float32", (-1.0, 1.0)), ("int64", (5.0, 8.0)), ("uint8", (250.0, 256.0))]
)
def test_random_numbers_fill_their_range_and_do_not_leave_it(dtype: str, bounds: tuple[float, float]) -> None:
    asked = Inputs(ranges={"x": bounds})
    array = build([TensorSignature(name="x", shape=(1, 1000), dtype=dtype)], asked)[0][0]["x"]
    assert array.dtype == dtype and bounds[0] <= array.min() and array.max() < bounds[1]
    assert np.ptp(array) > 0.9 * (bounds[1] - bounds[0] - (dtype != "float32"))


def test_a_range_that_holds_no_number_of_the_type() -> None:
    for dtype, bounds in (("uint8", (-5.0, 5.0)), ("int64", (0.2, 0.8)), ("int8", (0.0, 500.0))):
        with pytest.raises(LoadError, match="no such number lies from"):
            build([TensorSignature(name="x", shape=(1,), dtype=dtype)], Inputs(ranges={"x": bounds}))


def test_an_input_of_a_file_stands_beside_random_ones(tmp_path: Path) -> None:
    saved = np.arange(6, dtype=np.float32).reshape(1, 6)
    np.save(tmp_path / "x.npy", saved)
    (tmp_path / "ids.txt").write_text("1\n2\n3\n4\n", encoding="utf-8")
    specs = [
        TensorSignature(name="x", shape=("n", 6), dtype="float32"),
        TensorSignature(name="ids", shape=("n", 2, 2), dtype="int64"),
        TensorSignature(name="noise", shape=("n", 3), dtype="float32"),
    ]
    files = {"x": str(tmp_path / "x.npy"), "ids": str(tmp_path / "ids.txt")}
    shapes = {"ids": (1, 2, 2)}
    one, other = build(specs, Inputs(files=files, batch_size=3, count=2, shapes=shapes))[0]
    assert np.array_equal(one["x"], np.repeat(saved, 3, axis=0)), "one item is repeated until the batch is full"
    assert one["ids"].dtype == np.int64 and one["ids"].tolist() == [[[1, 2], [3, 4]]] * 3
    assert np.array_equal(one["x"], other["x"]) and not np.array_equal(one["noise"], other["noise"])


def test_a_file_that_does_not_fit_its_input(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 5), np.float32))
    (tmp_path / "half.txt").write_text("0.5\n1.5\n", encoding="utf-8")
    with pytest.raises(LoadError, match=r"input 'x' is \[1, 6\], the array is \[2, 5\]"):
        build(
            [TensorSignature(name="x", shape=("n", 6), dtype="float32")], Inputs(files={"x": str(tmp_path / "x.npy")})
        )
    with pytest.raises(LoadError, match=r"the array is \[2, 5\]"):
        build(
            [TensorSignature(name="x", shape=("n", 5), dtype="float32")],
            Inputs(batch_size=3, files={"x": str(tmp_path / "x.npy")}),
        )
    with pytest.raises(LoadError, match="takes int64"):
        build([TensorSignature(name="x", shape=(1, 2), dtype="int64")], Inputs(files={"x": str(tmp_path / "half.txt")}))
    with pytest.raises(LoadError, match="did you mean 'image'"):
        build([TensorSignature(name="image", shape=(1,), dtype="float32")], Inputs(ranges={"imgae": (0.0, 1.0)}))


def test_arrays_of_a_data_set_may_bear_the_specs_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", sound=np.ones((1, 4), np.float32))
    asked = Inputs(source=str(tmp_path / "x.npz"), names={"x:0": "sound"})
    assert build([TensorSignature(name="x:0", shape=("n", 4), dtype="float32")], asked)[0][0]["x:0"].sum() == 4
