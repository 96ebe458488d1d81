"""Options arrive as text or as numbers, and mean the same."""

from __future__ import annotations

import pytest

from benchwright.errors import LoadError
from benchwright.worker.runtimes import options as read


@pytest.mark.parametrize("value", [True, "true", "Yes", "on", "1", 1])
def test_true(value: bool | str | int) -> None:
    assert read.boolean({"o": value}, "o", False) is True


@pytest.mark.parametrize("value", [False, "false", "no", "OFF", 0])
def test_false(value: bool | str | int) -> None:
    assert read.boolean({"o": value}, "o", True) is False


def test_defaults() -> None:
    assert read.boolean({}, "o", True) is True
    assert read.whole({}, "o", 7) == 7
    assert read.number({}, "o", 1.5) == 1.5
    assert read.nanoseconds({}, "o", "2ms") == 2_000_000
    assert read.choice({}, "o", "a", ("a", "b")) == "a"


def test_numbers_from_text() -> None:
    assert read.whole({"o": "12"}, "o", 0) == 12
    assert read.number({"o": "1e-3"}, "o", 0) == 0.001
    assert read.nanoseconds({"o": 0.5}, "o", "0") == 500_000_000
    assert read.nanoseconds({"o": "18us"}, "o", "0") == 18_000


@pytest.mark.parametrize("value", ["maybe", 2, None])
def test_neither_true_nor_false(value: str | int | None) -> None:
    with pytest.raises(LoadError, match="neither true nor false"):
        read.boolean({"o": value}, "o", False)


@pytest.mark.parametrize("value", ["x", "1.5", -1, True, "inf", None])
def test_not_whole(value: str | int | None) -> None:
    with pytest.raises(LoadError, match="option o"):
        read.whole({"o": value}, "o", 0)


@pytest.mark.parametrize("value", ["x", -0.1, "nan", True])
def test_not_a_number(value: str | float) -> None:
    with pytest.raises(LoadError, match="option o"):
        read.number({"o": value}, "o", 0)


def test_unknown_names() -> None:
    read.refuse_unknown({"threads": 1}, {"threads"}, "torch")
    with pytest.raises(LoadError, match=r"torch has no option 'thraeds'\n  did you mean 'threads'\?"):
        read.refuse_unknown({"thraeds": 1}, {"threads", "compile"}, "torch")
