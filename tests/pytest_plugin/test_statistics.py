"""pytest-benchmark's figures: what cannot be, such as a mean above the largest value, is never said."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchwright.exchange.exporters.pytest_benchmark import split_name, summarize
from suites import run_suite


@given(st.lists(st.floats(min_value=0, max_value=1e3), min_size=1, max_size=8))
@example([1.4893333333333333e-06] * 6)
def test_figures_lie_within_the_values(values: list[float]) -> None:
    told = summarize(values)
    assert told["min"] <= told["mean"] <= told["max"] and told["min"] <= told["median"] <= told["max"]
    assert told["iqr"] >= 0 and told["rounds"] == len(values)
    assert told["stddev"] == 0 or len(set(values)) > 1


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/test_x.py::TestY::test_z[a::b[c]]", ("a/test_x.py::TestY::test_z", "[a::b[c]]")),
        ("[a]/test_x.py::test_z", ("[a]/test_x.py::test_z", "")),
        ("case[3]", ("case", "[3]")),
    ],
)
def test_names_are_split_before_their_parameters(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


def test_the_unit_is_that_of_the_smallest_and_the_timer_is_named(pytester: pytest.Pytester) -> None:
    suite = """
        import pytest, time
        def test_none(benchmark): benchmark.pedantic(int, rounds=9, iterations=9)
        def test_some(benchmark): benchmark.pedantic(time.sleep, args=(0.001,), rounds=2)
        @pytest.mark.benchmark(timer=time.monotonic)
        def test_more(benchmark): benchmark.pedantic(time.sleep, args=(0.001,), rounds=2)
    """
    ended = run_suite(pytester, suite, "--benchmark-columns=min", "--benchmark-json=out.json", "--benchwright-no-save")
    assert "name (times in ms)" not in ended.stdout.str() and "name (times in " in ended.stdout.str()
    assert '"timer": "time.monotonic"' in (pytester.path / "out.json").read_text(encoding="utf-8")
