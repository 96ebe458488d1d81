"""The metrics that say what work costs, in money and in energy. Each follows from another metric of the same result."""

from __future__ import annotations

from collections.abc import Iterable

PER_MILLION = "cost_per_million"  # items, by the throughput or a rate that is reported
AT_MAX_RATE = "cost_at_max_rate"  # a million items at the highest rate that keeps the objectives
PER_TOKENS = "cost_per_thousand_tokens"
PER_EPOCH = "cost_per_epoch"
PER_RUN = "cost_per_run"  # until an accuracy is reached, or from beginning to end
ENERGY_COST = "energy_cost_per_million"  # what the power for a million items costs, a part of the whole
ENERGY_PER_ITEM = "energy_per_item"
ENERGY_PER_RUN = "energy_per_run"

MONEY = (PER_MILLION, AT_MAX_RATE, PER_TOKENS, PER_EPOCH, PER_RUN, ENERGY_COST)
ENERGY = (ENERGY_PER_ITEM, ENERGY_PER_RUN)
COSTS = (*MONEY, *ENERGY)
SHARES = (PER_MILLION, AT_MAX_RATE, PER_TOKENS, PER_EPOCH, ENERGY_COST, ENERGY_PER_ITEM)  # made of one over a rate
TITLES = {
    PER_MILLION: "cost per million",
    AT_MAX_RATE: "cost per million at max rate",
    PER_TOKENS: "cost per thousand tokens",
    PER_EPOCH: "cost per epoch",
    PER_RUN: "cost per run",
    ENERGY_COST: "energy cost per million",
    ENERGY_PER_ITEM: "energy per item",
    ENERGY_PER_RUN: "energy per run",
}
_TO_A_GOAL = "cost_to_"  # begins the names of what it cost until a task reached a goal


def is_money(name: str) -> bool:
    """Whether a metric is an amount of money."""
    return name in MONEY or name.startswith(_TO_A_GOAL)


def is_cost(name: str) -> bool:
    """Whether a metric says what work costs, in money or in energy."""
    return name in COSTS or name.startswith(_TO_A_GOAL)


def costs_among(names: Iterable[str]) -> list[str]:
    """Those of the names that say what work costs: the usual ones in their order, then those of goals."""
    known = list(names)
    return [*(name for name in COSTS if name in known), *(name for name in known if name.startswith(_TO_A_GOAL))]
