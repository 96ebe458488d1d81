"""Which percentiles a count of calls can carry."""

from __future__ import annotations

import pytest

from benchwright.stats import ranks, validity


def test_a_shortfall_says_what_is_needed() -> None:
    short = validity.check(500, [0.5, 0.99, 0.999])
    assert short == [validity.Shortfall(quantile=0.999, needed=3688, have=500)]
    assert str(short[0]) == "p99.9 from 500 calls is a guess: needs 3,688"


def test_enough_is_where_an_interval_begins_to_exist() -> None:
    for q in (0.5, 0.9, 0.99):
        needed = validity.needed_for_percentile(q)
        assert validity.enough_for_percentile(needed, q) and ranks.quantile_ranks(needed, q)
        assert not validity.enough_for_percentile(needed - 1, q) and not ranks.quantile_ranks(needed - 1, q)
        assert validity.check(needed, [q]) == []


def test_calls_that_resemble_each_other_count_for_less() -> None:
    assert validity.check(1000, [0.99]) == []
    assert [s.needed for s in validity.check(1000, [0.99], inflation=3.0)] == [3 * 368]
    assert validity.check(400, [0.99], inflation=0.1) == []


@pytest.mark.parametrize(("q", "needed"), [(0.9, 23_886), (0.99, 262_742)])
def test_with_a_margin_the_rule_is_mlperfs(q: float, needed: int) -> None:
    rule = {"confidence": 0.99, "margin": (1 - q) / 20}
    assert validity.check(needed, [q], **rule) == []
    assert [s.needed for s in validity.check(needed - 1, [q], **rule)] == [needed]
