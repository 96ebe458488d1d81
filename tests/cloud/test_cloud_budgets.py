"""Budgets at their bounds: what fits exactly is allowed, and what is offered as a remedy fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.cloud.budgets import Budget
from benchwright.errors import OptionError
from benchwright.records.prices import Price


def _prices(amount: float, count: int) -> list[Price]:
    return [Price(provider="aws", shape="m", amount=amount)] * count


def test_what_costs_exactly_the_budget_fits_into_it() -> None:
    Budget.parse("0.3USD").check(_prices(0.1, 3), 3600.0)  # three times 0.1 are 0.30000000000000004
    budget = Budget.parse("0.3USD")
    assert [budget.hold(str(number), 0.1, 3600.0) for number in range(3)] == [True] * 3
    with pytest.raises(OptionError, match=r"more than 0\.3 USD"):
        Budget.parse("0.3USD").check(_prices(0.1001, 3), 3600.0)


@given(
    amount=st.floats(0.01, 100), count=st.integers(1, 20), budget=st.floats(0.01, 100), seconds=st.floats(600, 86400)
)
def test_the_lease_that_is_offered_fits(amount: float, count: int, budget: float, seconds: float) -> None:
    money, prices = Budget(budget, "USD"), _prices(amount, count)
    try:
        money.check(prices, seconds)
    except OptionError as error:
        if offered := re.search(r"--lease (\d+)min fits", error.remedy):
            money.check(prices, 60.0 * int(offered[1]))
