from dataclasses import replace

import pytest

from benchwright import precision
from benchwright.records import Better, Case, Environment, Estimate, Load, Metric, Result, Status, Target

CASE = Case(name="c", target=Target(runtime="fake", uri="fake:"), load=Load(precision=0.01))


def _round(point: float | None, number: int = 0) -> Result:
    metrics: tuple[Metric, ...] = ()
    if point is not None:
        narrow = Estimate(point=point, low=point * 0.999, high=point * 1.001)
        metrics = (Metric(name="latency_p50", unit="s", better=Better.LOWER, estimate=narrow, count=1000),)
    return Result(
        id=f"r-{number}",
        case=CASE,
        round=number,
        status=Status.OK if metrics else Status.FAILED,
        environment=Environment(machine={}, system={}),
        started_at="2026-01-01",
        duration=1.0,
        metrics=metrics,
    )


def test_rounds_that_agree_are_enough() -> None:
    rounds = [_round(p, i) for i, p in enumerate([1.0, 1.0005, 0.9995, 1.0002, 0.9998])]
    assert not precision.is_wanting(CASE, rounds)
    assert list(precision.missed(CASE, rounds)) == []


def test_rounds_that_differ_want_more_although_each_is_precise() -> None:
    rounds = [_round(p, i) for i, p in enumerate([1.0, 1.1, 0.9])]
    assert precision.is_wanting(CASE, rounds)
    (warning,) = precision.missed(CASE, rounds)
    assert warning.code == "precision-missed"
    assert "asked for ±1.00%" in warning.seen and "--rounds" in warning.remedy


@pytest.mark.parametrize("rounds", [[], [1.0, None], [None]])
def test_more_rounds_do_not_help_where_some_failed(rounds: list[float | None]) -> None:
    assert not precision.is_wanting(CASE, [_round(p, i) for i, p in enumerate(rounds)])


def test_without_a_precision_nothing_is_wanting() -> None:
    case = replace(CASE, load=Load())
    assert not precision.is_wanting(case, [replace(_round(p), case=case) for p in (1.0, 2.0)])
