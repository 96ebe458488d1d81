"""Which classes are benchmarks, and of what style."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchwright.errors import LoadError
from benchwright.worker.runtimes.classes import STYLES, conventions
from benchwright.worker.runtimes.classes.conventions import ClassParameters, dimensions_of, value_of_case


class Plain:
    def time_a(self) -> None: ...

    def track_b(self) -> None: ...

    def benchmark_c(self) -> None: ...

    def benchmarkCamel(self) -> None: ...  # noqa: N802

    def benchmarks(self) -> None: ...

    def helper(self) -> None: ...

    time_limit = 5
    _time_hidden = None


class Reports:
    def report_benchmark(self) -> None: ...

    def benchmarkOp(self) -> None: ...  # noqa: N802

    def time_step(self) -> None: ...


class PerfZero(Reports):
    def __init__(self, output_dir: Any = None, root_data_dir: Any = None, **rest: Any) -> None:
        self.seen = (output_dir, root_data_dir, rest)


class NoTpu:
    def __init__(self, root_data_dir: str) -> None:
        self.seen = root_data_dir


class Keywords:
    def __init__(self, **rest: Any) -> None:
        self.seen = rest


@pytest.mark.parametrize(
    ("cls", "style"),
    [
        (Plain, "plain"),
        (Keywords, "plain"),
        (Reports, "tf_benchmark"),
        (PerfZero, "perfzero"),
        (NoTpu, "perfzero"),
        (int, "plain"),
    ],
)
def test_styles(cls: type, style: str) -> None:
    assert conventions.style_of(cls) == style
    assert style in STYLES


def test_methods_in_the_order_they_are_written_a_bases_first() -> None:
    class Child(Plain):
        def time_own(self) -> None: ...

    assert conventions.methods_of(Child) == ["time_a", "track_b", "benchmark_c", "benchmarkCamel", "time_own"]
    assert conventions.methods_of(PerfZero) == ["benchmarkOp"]
    assert conventions.methods_of(PerfZero, "plain") == ["benchmarkOp", "time_step"]


@pytest.mark.parametrize(("name", "kind"), [("time_a", "time"), ("track_a", "track"), ("benchmark_a", "single")])
def test_kinds(name: str, kind: str) -> None:
    assert conventions.kind_of(name, "plain") == kind
    assert conventions.kind_of(name, "perfzero") == conventions.kind_of(name, "tf_benchmark") == "single"


def test_constructors() -> None:
    given: dict[str, Any] = {"output_dir": "o", "root_data_dir": "d", "tpu": None}
    assert conventions.construct(PerfZero, "perfzero", **given).seen == ("o", "d", {"tpu": None})
    assert conventions.construct(PerfZero, "tf_benchmark", **given, more={"x": 1}).seen == (None, None, {"x": 1})
    assert conventions.construct(NoTpu, "perfzero", **given).seen == "d"  # PerfZero itself breaks here
    assert conventions.construct(Keywords, "plain", **given).seen == {}
    assert conventions.construct(PerfZero, "perfzero", **given, more={"output_dir": "gs://b"}).seen[0] == "gs://b"
    assert isinstance(conventions.construct(Reports, "perfzero", **given), Reports)


class _Readme:
    """The constructor that PerfZero's README asks for."""

    def __init__(self, output_dir: str, data_dir: str, **kwargs: Any) -> None:
        self.seen = (output_dir, data_dir, kwargs)


class _Spare:
    def __init__(self, output_dir: str = "", data_dir: str | None = None) -> None:
        self.seen = (output_dir, data_dir)


class _Own:
    def __init__(self, output_dir: str = "", data_dir: str = "/mine", **kwargs: Any) -> None:
        self.seen = (data_dir, kwargs)


class _Both:
    def __init__(self, output_dir: str = "", root_data_dir: str = "", data_dir: str | None = None) -> None:
        self.seen = (root_data_dir, data_dir)


def test_the_readmes_data_dir_is_handed_to_who_waits_for_it() -> None:
    given: dict[str, Any] = {"output_dir": "o", "root_data_dir": "d", "tpu": None}
    assert conventions.style_of(_Readme) == "perfzero"
    assert conventions.construct(_Readme, "perfzero", **given).seen == ("o", "d", {"root_data_dir": "d", "tpu": None})
    assert conventions.construct(_Readme, "perfzero", **given, more={"data_dir": "x"}).seen[1] == "x"
    assert conventions.construct(_Spare, "perfzero", **given).seen == ("o", "d")
    # As under PerfZero, which knows no data_dir: what the class brings stays.
    assert conventions.construct(_Own, "perfzero", **given).seen == ("/mine", {"root_data_dir": "d", "tpu": None})
    assert conventions.construct(_Both, "perfzero", **given).seen == ("d", None)


def _with(params: Any, names: Any = None) -> ClassParameters:
    body = {"params": params, "time_x": lambda self: None, **({"param_names": names} if names else {})}
    return dimensions_of(type("C", (), body), "time_x", "plain")


def test_parameters_by_name_and_in_order() -> None:
    assert _with({"n": [1, 2]}) == ClassParameters(values={"n": (1, 2)})
    assert _with([1, 2]) == ClassParameters(values={"param1": (1, 2)}, positional=True)
    assert _with([[1], ["a", "b"]], ["n"]) == ClassParameters(values={"n": (1,), "param2": ("a", "b")}, positional=True)
    assert _with(([1, 2],), ["n"]).values == {"n": (1, 2)}
    assert _with(None) == _with([]) == ClassParameters()


def test_a_methods_own_parameters_come_first() -> None:
    class C:
        params = (1,)

        def time_x(self) -> None: ...

        time_x.params = (7,)  # type: ignore[attr-defined]

    assert dimensions_of(C, "time_x", "plain").values == {"param1": (7,)}
    assert dimensions_of(C, "time_x", "perfzero") == ClassParameters()


@pytest.mark.parametrize("params", [{"n": 5}, {"n": "abc"}, {"n": []}, [[1], []]])
def test_parameters_that_are_none(params: Any) -> None:
    with pytest.raises(LoadError, match="params: "):
        _with(params)


def test_values_that_a_case_cannot_hold_are_shown_and_found_again() -> None:
    values = [np.float32, np.int64(5), (1, 2), None, True, 1, float("nan"), test_styles]
    dimensions = _with({"v": values})
    assert dimensions.values_of_case() == {"v": ("float32", 5, "(1, 2)", None, True, 1, "nan", "test_styles")}
    assert [dimensions.value("v", value_of_case(value)) for value in values] == values
    assert dimensions.value("v", "by hand") == "by hand"
    assert "0x" not in str(value_of_case(object()))


def test_two_values_of_one_look_would_be_one_case() -> None:
    with pytest.raises(LoadError, match="v has two values that look like '<object object>'"):
        _with({"v": [object(), object()]}).values_of_case()


def test_summaries() -> None:
    assert conventions.summary_of(test_summaries) == ""
    assert conventions.summary_of(conventions.style_of) == "The style that a class has by itself."
