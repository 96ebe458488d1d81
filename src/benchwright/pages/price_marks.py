"""What the costs on a page rest on: the price of each result, and where the prices of a series change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from benchwright.analysis.price_changes import compare_prices, describe_price
from benchwright.pages.shapes import PriceMark
from benchwright.records.costs import is_money
from benchwright.records.prices import Price
from benchwright.store.archive import Archive, Columns

_RUNS = 100  # the newest, whose results are asked what their machines cost


def prices_of(archive: Archive, metrics: Iterable[str], runs: Iterable[str]) -> Mapping[str, str]:
    """What each result of these runs rests on, by its id; nothing where none of the metrics is one of money."""
    if not any(is_money(metric) for metric in metrics):
        return {}
    newest = sorted({*runs}, reverse=True)[:_RUNS]
    return {one.result: describe_price(one.price) for one in archive.outcomes(newest) if one.price}


def price_marks(archive: Archive, metric: str, machine: str, columns: Columns) -> list[PriceMark]:
    """The prices of a series of costs: the first that is known, and each that is another than the one before it."""
    if not is_money(metric):
        return []
    newest = columns.runs[-_RUNS:]
    known: dict[str, Price] = {}
    for one in archive.outcomes(newest):
        if one.price and one.machine == machine:
            known[one.run] = one.price
    marks: list[PriceMark] = []
    last: Price | None = None
    order = [columns.runs[i] for i in dict.fromkeys(columns.run.tolist())]
    for run in (name for name in order if name in known):
        price = known[run]
        change = compare_prices([last], [price])
        if last is None or change is not None:
            place = int(np.argmax(columns.run == columns.runs.index(run)))
            marks.append(
                PriceMark(
                    at=int(columns.at[place]) // 1000,
                    run=run,
                    price=describe_price(price),
                    factor=change.factor if change else None,
                )
            )
        last = price
    return marks
