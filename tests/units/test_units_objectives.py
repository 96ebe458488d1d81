from __future__ import annotations

import pytest

from benchwright.errors import OptionError
from benchwright.records import Objective
from benchwright.units.objectives import check_currency, describe, objective


@pytest.mark.parametrize(
    ("text", "bound", "unit"),
    [
        ("cost_per_million<0.05USD", 0.05, "USD"),
        ("cost_per_run <= 2.5 eur", 2.5, "EUR"),
        ("cost_per_thousand_tokens<$0.002", 0.002, "USD"),
        ("cost_at_max_rate<5e-3GBP", 0.005, "GBP"),
        ("cost_per_million<0.5", 0.5, ""),
    ],
)
def test_a_bound_of_money_is_read_with_its_currency(text: str, bound: float, unit: str) -> None:
    found = objective(text)
    assert (found.bound, found.unit) == (bound, unit)
    check_currency(found, unit)
    assert describe(found).endswith(unit)


@pytest.mark.parametrize("text", ["cost_per_million<0.05USD/h", "cost_per_million<cheap", "cost_per_million<0USD"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        objective(text)


@pytest.mark.parametrize(
    ("text", "currency", "says", "remedy"),
    [
        ("cost_per_million<0.05", "USD", "0.05 USD", "0.05USD"),
        ("cost_per_million<0.05EUR", "USD", "cannot be judged: the cost is in USD", "bound it in USD"),
        ("cost_per_million<0.05EUR", "", "in no currency", "--price 0.34EUR/h"),
    ],
)
def test_another_currency_is_refused_and_a_bare_number_named_with_both_readings(
    text: str, currency: str, says: str, remedy: str
) -> None:
    with pytest.raises(OptionError) as refused:
        check_currency(objective(text), currency)
    assert says in refused.value.message and remedy in refused.value.remedy
    if text.endswith("0.05"):
        assert "may mean 0.05 USD, as the price is, or another currency" in refused.value.message


def test_energy_is_bounded_in_its_own_units_and_times_as_ever() -> None:
    assert objective("energy_per_item<20mJ").bound == pytest.approx(0.02)
    assert objective("energy_per_run<1kWh").bound == pytest.approx(3.6e6)
    assert objective("p99<20ms") == Objective(metric="latency_p99", relation="<", bound=0.02)
