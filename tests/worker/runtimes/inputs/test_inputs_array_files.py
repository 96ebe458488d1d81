"""Arrays in files, and in the containers that libraries answer with."""

from __future__ import annotations

import collections
from pathlib import Path

import numpy as np
import pytest

from benchwright.errors import LoadError
from benchwright.worker.runtimes.inputs import array_files
from benchwright.worker.runtimes.outputs import tensors

Y = np.array([[0.1, 0.25, 0.65]], np.float32)


def test_an_archive_gives_the_array_that_is_meant(tmp_path: Path) -> None:
    array_files.write(tmp_path / "one.npz", {"a": Y})
    array_files.write(tmp_path / "two.npz", {"a": Y, "b": Y + 1})
    assert array_files.read(str(tmp_path / "one.npz"), "other").tolist() == Y.tolist()
    assert array_files.read(str(tmp_path / "two.npz"), "b").tolist() == (Y + 1).tolist()
    assert array_files.read(f"{tmp_path}/two.npz::a", "b").tolist() == Y.tolist()
    with pytest.raises(LoadError, match="holds no array 'c'"):
        array_files.read(str(tmp_path / "two.npz"), "c")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npy", b"not an array", "no numbers can be read"),
        ("a.npz", b"not an archive", "no numbers can be read|not a zip file"),
        ("a.txt", b"1\n2 3\n", "a.txt:2: '2 3' is not a number"),
        ("a.bin", b"1\n", "unknown ending .bin"),
    ],
)
def test_files_that_hold_no_numbers_say_where(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LoadError, match=message):
        array_files.read(str(tmp_path / name), "y")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(LoadError, match="no numbers can be read"):
        array_files.read(str(tmp_path / "o.npy"), "o")


def test_containers_of_every_kind_are_taken_apart() -> None:
    pair = collections.namedtuple("pair", "left right")
    shown = tensors.name_arrays({"a": [Y, (Y, None)], "b": pair(Y, 2.0), "c": None}, ["unused"])
    assert list(shown) == ["a.0", "a.1.0", "b.left", "b.right"] and shown["b.right"].shape == ()
    assert list(tensors.name_arrays(Y, ["y"])) == ["y"] and list(tensors.name_arrays(Y, [])) == ["output"]
    assert list(tensors.name_arrays([Y, Y], ["p", "q"])) == ["p", "q"] and list(tensors.name_arrays((Y, Y), ["p"])) == [
        "0",
        "1",
    ]
    assert tensors.name_arrays([1, 2.5], [])["output"].tolist() == [1, 2.5]
    with pytest.raises(LoadError, match="not numbers"):
        tensors.name_arrays(["cat", "dog"], [])
