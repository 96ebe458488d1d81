"""Runs of `sample_runs` with a price: what their results would be, had somebody given `--price`."""

from __future__ import annotations

from dataclasses import replace

from benchwright import schema
from benchwright.execution import pricing
from benchwright.records import Result, Run, Status
from benchwright.records.prices import Market, Price

ON_DEMAND = Price(
    provider="aws", shape="inf1.xlarge", region="us-east-1", amount=0.228, fetched_at="2026-04-01", source="price list"
)
RESERVED = replace(ON_DEMAND, market=Market.RESERVED_3Y, amount=0.114, fetched_at="2026-09-01")


def price_run(run: Run, price: Price) -> Run:
    """The run with the costs of all results that went well."""
    return replace(run, results=tuple(_price(result, price) for result in run.results))


def _price(result: Result, price: Price) -> Result:
    if result.status is not Status.OK:
        return result
    rate = pricing.rate_of(result.metrics)
    told = {"cost_per_hour": price.per_hour, "price": schema.encode(price), "cost_by": rate.name if rate else ""}
    return replace(
        result,
        metrics=(*result.metrics, *pricing.costs_of(result.metrics, price)),
        details={**result.details, **told},
    )
