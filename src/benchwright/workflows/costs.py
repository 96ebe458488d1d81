"""What runs cost: the price of each machine from the run itself, from what somebody names, or from its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from benchwright.analysis.costs import CostLine, Costs, Left, check_metric, cost_line, summarise_costs
from benchwright.analysis.rows import Row, rows
from benchwright.errors import OptionError, did_you_mean
from benchwright.execution import pricing
from benchwright.execution.pricing import price_of_result
from benchwright.prices import shelf
from benchwright.prices.book import PriceBook, WantedPrice
from benchwright.records import Objective, Run
from benchwright.records.prices import Market, Price


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRequest:
    """What somebody wants to know of runs."""

    price: Price | None = None  # of every machine
    prices: Sequence[str] = ()  # NAME=PRICE, of a run or a machine
    markets: Sequence[Market] = ()  # the same shapes on these as well
    work: str = ""  # the metric that is the work
    count: float | None = None  # items that a cost is of
    objectives: Sequence[Objective] = ()
    utilisation: float = 1.0


def find_costs(runs: Mapping[str, Run], request: CostRequest) -> Costs:
    """What every case of the runs costs. The runs are known by the names that somebody gave them."""
    tables = {name: rows(run) for name, run in runs.items()}
    check_metric(tables, request.work)
    named = _Prices(request, tables)
    found: list[CostLine | Left] = []
    for name, table in tables.items():
        for row in table:
            if not row.ok:
                found.append(Left(label=f"{row.label} of run {name}", reason="it was not measured"))
                continue
            prices = [*named.of(name, row, request.markets)]
            label = f"{row.label} of run {name}"
            if not prices:
                reason = "nobody said what its machine costs: --price PRICE, or --price-of NAME=PRICE"
                found.append(Left(label=label, reason=reason))
            known = {price.market for price in prices}
            for market in (one for one in request.markets if prices and one not in known):
                what = prices[0].name if prices[0].shape else "an amount that was given"
                found.append(Left(label=label, reason=f"no price of {what} on the market {market.value} is known"))
            found += [
                cost_line(
                    name,
                    row,
                    price,
                    work=request.work,
                    count=request.count,
                    objectives=request.objectives,
                    utilisation=request.utilisation,
                )
                for price in prices
            ]
    named.refuse_unused()
    return _doubt_prices(summarise_costs(found))


def _doubt_prices(costs: Costs) -> Costs:
    """Costs that say which of their prices are too old, or of no day that is known."""
    today = datetime.now(UTC).date()
    doubts = [pricing.warn_if_old(price, today) for price in dict.fromkeys(line.price for line in costs.lines)]
    return replace(costs, doubts=tuple(dict.fromkeys(one.seen for one in doubts if one)))


class _Prices:
    """What each row's machine costs."""

    def __init__(self, request: CostRequest, tables: Mapping[str, Sequence[Row]]) -> None:
        self._names = {*tables, *(row.machine for table in tables.values() for row in table if row.machine)}
        self._for_all = request.price
        self._named: dict[str, Price] = {}
        self._used: set[str] = set()
        self._book: PriceBook | None = None
        for text in request.prices:
            name, equals, price = text.partition("=")
            if not equals:
                raise OptionError(f"--price-of: {text!r} is not NAME=PRICE", remedy="name a run or a machine of one")
            if name in self._named:
                raise OptionError(f"--price-of: {name!r} is priced twice", remedy="leave one of them out")
            self._named[name] = shelf.find_price(price, what="--price-of")

    def of(self, run: str, row: Row, markets: Sequence[Market]) -> Iterator[Price]:
        """The price of a row's machine; where other markets are asked for, also what the shape costs there."""
        price = self._price(run, row)
        if price is None:
            return
        yield price
        for market in markets:
            if market is not price.market and (other := self._on(market, price)):
                yield other

    def refuse_unused(self) -> None:
        """Refuses a name that is neither a run's nor a machine's: a typing error would go unseen."""
        for name in self._named.keys() - self._used:
            near = did_you_mean(name, sorted(self._names))
            raise OptionError(f"--price-of: {name!r} is neither a run nor a machine here", remedy=near)

    def _price(self, run: str, row: Row) -> Price | None:
        for name in (row.machine, row.machine.partition(":")[2], run):
            if name and name in self._named:
                self._used.add(name)
                return self._named[name]
        if self._for_all is not None:
            return self._for_all
        kept = [price for result in row.ok if (price := price_of_result(result))]
        return kept[0] if kept else self._of_instance(row)

    def _of_instance(self, row: Row) -> Price | None:
        """What the cloud instance costs that a row was measured on."""
        told = row.ok[0].environment.system.get("instance")
        if not isinstance(told, dict) or not told.get("shape"):
            return None
        market = told.get("market")
        wanted = WantedPrice(
            provider=str(told.get("provider", "")),
            shape=str(told["shape"]),
            region=str(told.get("region", "")),
            market=Market(market) if market in [one.value for one in Market] else Market.ON_DEMAND,
        )
        return self._known().find(wanted)

    def _on(self, market: Market, price: Price) -> Price | None:
        wanted = WantedPrice(provider=price.provider, shape=price.shape, region=price.region, market=market)
        return self._known().find(wanted)

    def _known(self) -> PriceBook:
        if self._book is None:
            self._book = shelf.open_book()
        return self._book
