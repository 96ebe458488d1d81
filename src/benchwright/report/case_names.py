"""What cases are called in tables: what tells them apart, and once above them what they share.

Served models go by their address, which may be longer than all their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchwright.analysis.rows import Row, param_names, show_scalar
from benchwright.records.request_metrics import are_of_requests

_SAID_ELSEWHERE = frozenset([("copies", 1), ("workers", 1)])  # of the params that all share: as usual


def name_shared(table: Sequence[Row], *, with_params: bool = False) -> str:
    """The name that all cases of a table share, with the params that they share; "" where they have several names."""
    names = {row.name for row in table}
    if len(names) != 1:
        return ""
    first = table[0]
    same = {
        name: value
        for name, value in first.case.params.items()
        if name not in first.params
        and name != "runtime"
        and value not in (None, "")
        and (name, value) not in _SAID_ELSEWHERE
    }
    said = [f"{name}={show_scalar(value)}" for name, value in same.items()] if with_params else []
    return "  ".join([first.name, *said])


def name_briefly(table: Sequence[Row]) -> list[str]:
    """A name for each case where the title of a page has the whole one: a served model by what it is called there."""
    if not name_shared(table) or not are_of_requests(table[0].metrics):
        return name_cases(table)
    return [str(row.case.params.get("model") or row.name.rstrip("/").rpartition("/")[2]) for row in table]


def name_cases(table: Sequence[Row]) -> list[str]:
    """A name for each case: of addresses without the route that they all end in, where there are several.

    Params that get no column of their own (`params_in_columns`) stand behind it.
    """
    served = [row.name for row in table if are_of_requests(row.metrics)]
    tail = _shared_route(list(dict.fromkeys(served)))
    columns = params_in_columns(table)
    said = [row.name if columns else row.label for row in table]
    return [
        row.name.removesuffix(tail) + label.removeprefix(row.name) if tail and row.name in served else label
        for row, label in zip(table, said, strict=True)
    ]


def params_in_columns(table: Sequence[Row]) -> list[str]:
    """The params that get columns: all, or none where most of the cells would be empty.

    Tests of one suite have each their own parameters, and together more than any line is wide.
    """
    names = param_names(table)
    filled = sum(len(row.params) for row in table)
    return names if 2 * filled >= len(names) * len(table) else []


def _shared_route(addresses: Sequence[str]) -> str:
    """The end that several addresses share, from a slash on; "" of one, or where one of them would lose its host."""
    if len(addresses) < 2:
        return ""
    parts = [address.split("/") for address in addresses]
    count = 0
    while count < min(map(len, parts)) - 1 and len({part[-count - 1] for part in parts}) == 1:
        count += 1
    return "".join(f"/{word}" for word in parts[0][len(parts[0]) - count :])
