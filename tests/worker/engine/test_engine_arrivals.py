"""Arrival schedules: drawn whole from a seed, before time zero."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.records import Arrivals, Load, Mode
from benchwright.worker.engine.arrivals import MOST_ARRIVALS, arrivals, load_of_probe, load_of_round


def _load(**fields: object) -> Load:
    return Load(mode=Mode.OPEN, **fields)  # type: ignore[arg-type]


def test_constant_arrivals_do_not_drift() -> None:
    schedule = arrivals(_load(arrivals=Arrivals.CONSTANT, rate=3, duration=1000))
    assert len(schedule) == 3000
    assert all(abs(instant - i * 10**9 // 3) <= 1 for i, instant in enumerate(schedule))


def test_poisson_gaps_are_exponential() -> None:
    schedule = arrivals(_load(rate=1000, samples=50_000))
    gaps = [b - a for a, b in pairwise([0, *schedule])]
    assert mean(gaps) == pytest.approx(1e6, rel=0.02)
    assert stdev(gaps) == pytest.approx(1e6, rel=0.02)  # of an exponential distribution it equals the mean
    assert sum(gap > 1e6 for gap in gaps) / len(gaps) == pytest.approx(math.exp(-1), abs=0.01)


def test_a_duration_bounds_poisson_arrivals_and_is_filled() -> None:
    schedule = arrivals(_load(rate=1000, duration=20))
    assert schedule[-1] <= 20e9
    assert len(schedule) == pytest.approx(20_000, abs=6 * math.sqrt(20_000))
    assert schedule[-1] > 19.9e9


@given(seed=st.integers(0, 2**32), rate=st.floats(0.1, 1e5), count=st.integers(1, 300))
def test_a_schedule_depends_on_its_seed_alone(seed: int, rate: float, count: int) -> None:
    load = _load(rate=rate, samples=count, seed=seed)
    schedule = arrivals(load)
    assert schedule == arrivals(load)
    assert len(schedule) == count
    assert all(a <= b for a, b in pairwise([0, *schedule]))
    assert count < 3 or schedule != arrivals(_load(rate=rate, samples=count, seed=seed + 1))


@given(seed=st.integers(0, 2**32), number=st.integers(1, 20))
def test_each_round_and_each_probe_draws_its_own_arrivals_from_the_seed(seed: int, number: int) -> None:
    load = _load(rate=50, samples=20, seed=seed)
    drawn = [arrivals(other) for other in (load, load_of_round(load, number), load_of_probe(load, number))]
    assert len({tuple(schedule) for schedule in drawn}) == 3
    assert load_of_round(load, 0) == load_of_probe(load, 0) == load
    assert load_of_round(load, number) == load_of_round(load, number) != load_of_round(load, number + 1)


@given(copies=st.integers(1, 5), count=st.integers(5, 100))
def test_copies_are_dealt_the_arrivals_in_turn(copies: int, count: int) -> None:
    whole = arrivals(_load(rate=100, samples=count))
    dealt = [arrivals(_load(rate=100, samples=count, copies=copies), copy=i) for i in range(copies)]
    assert sorted(instant for part in dealt for instant in part) == list(whole)
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_a_trace_is_taken_as_it_is(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text("# seconds\n0.5\n\n1.25  # here\n1.25\n3e0\n", encoding="utf-8")
    schedule = arrivals(_load(arrivals=Arrivals.TRACE, trace=str(trace)))
    assert list(schedule) == [500_000_000, 1_250_000_000, 1_250_000_000, 3_000_000_000]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0.5\nsoon\n", ":2: 'soon' is not a number"),
        ("0.5\nnan\n", ":2: 'nan' is not a number"),
        ("inf\n", ":1: 'inf' is not a number"),
        ("2\n1\n", ":2: 1 lies before the arrival above it"),
        ("-1\n", ":1: -1 lies before"),
        ("# nothing\n", "holds no arrivals"),
    ],
)
def test_a_bad_trace_is_refused_with_its_place(text: str, complaint: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=complaint):
        arrivals(_load(arrivals=Arrivals.TRACE, trace=str(trace)))


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file") as caught:
        arrivals(_load(arrivals=Arrivals.TRACE, trace=str(tmp_path / "absent")))
    assert "--trace" in caught.value.remedy


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "needs a rate"),
        ({"rate": 0.0}, "needs a rate"),
        ({"rate": 10, "arrivals": Arrivals.CONSTANT, "duration": 0.01}, "0 arrivals"),
        ({"rate": 1e9, "duration": 1.0}, f"outside 1 to {MOST_ARRIVALS:,}"),
        ({"rate": 1e-6, "duration": 1.0}, "0 arrivals are too few for 1 copies"),
        ({"rate": 10, "samples": 2, "copies": 3}, "2 arrivals are too few for 3 copies"),
    ],
)
def test_a_schedule_without_arrivals_for_all_is_refused(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint) as caught:
        arrivals(_load(**fields))
    assert caught.value.remedy


@pytest.mark.parametrize("arrivals_are", [Arrivals.POISSON, Arrivals.CONSTANT])
@pytest.mark.parametrize(("first", "last"), [(10.0, 1000.0), (1000.0, 10.0), (200.0, 200.0)])
def test_a_ramp_has_its_arrivals_where_the_area_under_the_rate_is(
    arrivals_are: Arrivals, first: float, last: float
) -> None:
    load = Load(mode=Mode.OPEN, rate=first, ramp_to=last, duration=10.0, arrivals=arrivals_are)
    instants = arrivals(load)
    assert list(instants) == sorted(instants) and instants[0] >= 0 and instants[-1] <= 10e9
    for quarter in range(4):
        begin, end = 2.5 * quarter, 2.5 * (quarter + 1)
        expected = 2.5 * (first + (last - first) * (begin + end) / 2 / 10)
        found = sum(begin * 1e9 <= instant < end * 1e9 for instant in instants)
        assert abs(found - expected) <= 2 + (5 * expected**0.5 if arrivals_are is Arrivals.POISSON else 0)


def test_a_ramp_without_an_end_is_refused() -> None:
    with pytest.raises(OptionError, match="needs a duration"):
        arrivals(Load(mode=Mode.OPEN, rate=1.0, ramp_to=2.0, samples=10))


def test_a_trace_of_requests_is_for_served_models(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"timestamp": 0, "input_length": 5, "output_length": 1}\n', encoding="utf-8")
    with pytest.raises(OptionError, match="are for a served model"):
        arrivals(Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE, trace=str(trace)))
