"""What `benchwright cloud` says of a machine before it costs anything."""

from __future__ import annotations

from dataclasses import replace

from benchwright.cli.cloud_views import plan_lines
from benchwright.cloud.orders import MachineShape
from benchwright.records.prices import Price
from benchwright.workflows.cloud import MachinePlan
from cloud_contract import usual_order
from fake_cloud import FakeCloud


def test_an_old_price_is_doubted_before_anything_is_ordered() -> None:
    price = Price(provider="fake", shape="small", amount=0.1, fetched_at="2020-01-01")
    plan = MachinePlan(
        order=usual_order(provider="fake", shape="small", region="here"),
        provider=FakeCloud(),
        shape=MachineShape(provider="fake", name="small", region="here", vcpus=2),
        price=price,
        payer="the test",
        seconds=3600.0,
    )
    assert "days old (fake/small, on-demand, 2020-01-01): look it up again" in "\n".join(plan_lines(plan))
    given = replace(plan, price=Price.bare(0.1))
    assert "old" not in "\n".join(plan_lines(given)), "an amount that was given is of today"
