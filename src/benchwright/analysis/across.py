"""Cases of two runs, or of one, that are equal but for some parameters: which of them belong together.

Whoever tries another learning rate or batch size has other cases, and `compare` pairs equal ones only. Told which
parameters may differ, it pairs what is left when these are taken out, and refuses where that leaves several. What is
measured may differ, too: two commands, two functions. `target` stands for that, as if it were a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from benchwright import schema
from benchwright.analysis.notes import list_some
from benchwright.analysis.rows import Row, show_scalar
from benchwright.errors import OptionError, did_you_mean
from benchwright.records import Case, Scalar

RowPair = tuple[Row | None, Row | None]
TARGET = "target"
# What a parameter of this name is beside its place among the parameters of a case.
_MIRRORED: dict[str, Callable[[Case], Case]] = {
    "runtime": lambda case: replace(case, target=replace(case.target, runtime="")),
    "device": lambda case: replace(case, target=replace(case.target, device="")),
    "precision": lambda case: replace(case, target=replace(case.target, precision="")),
    "batch_size": lambda case: replace(case, inputs=replace(case.inputs, batch_size=1)),
    "workers": lambda case: replace(case, load=replace(case.load, workers=1)),
    "copies": lambda case: replace(case, load=replace(case.load, copies=1)),
    "rate": lambda case: replace(case, load=replace(case.load, rate=None)),
    "ramp_to": lambda case: replace(case, load=replace(case.load, ramp_to=None)),
    TARGET: lambda case: replace(case, name="", version="", target=replace(case.target, uri="")),
}


def pair_across(
    before: Sequence[Row], after: Sequence[Row], across: Sequence[str], *, one_each: bool = False
) -> list[RowPair]:
    """Pairs cases that are equal but for the parameters `across`; then come cases that one side alone has.

    Each of several cases of the second side stands against the only one of the first, unless `one_each` is wanted.
    """
    check_names(across, [*before, *after])
    first, second = (_by_rest(side, across) for side in (before, after))
    pairs: list[RowPair] = []
    for key, rows in first.items():
        others = second.pop(key, [])
        if (len(rows) > 1 and others) or (one_each and len(others) > 1):
            raise _ambiguous(rows, others, across)
        pairs += [(rows[0], _name_change(rows[0], other, across)) for other in others]
        pairs += [(row, None) for row in rows if not others]
    return pairs + [(None, row) for rows in second.values() for row in rows]


def pair_within(table: Sequence[Row], across: Sequence[str]) -> list[RowPair]:
    """Pairs the cases of one run: what is equal but for the parameters `across` stands against the first of it."""
    check_names(across, table)
    pairs: list[RowPair] = []
    for rows in _by_rest(table, across).values():
        pairs += [(rows[0], _name_change(rows[0], other, across)) for other in rows[1:]]
    if not pairs:
        raise OptionError(
            f"no two cases of the run are equal but for {' and '.join(across)}", remedy=_differing_remedy(table)
        )
    return pairs


def find_differing(before: Sequence[Row], after: Sequence[Row]) -> list[str]:
    """The parameters that keep the cases of two runs apart: pairing across them works, and fewer do not suffice."""
    shown = [
        {name: {repr(_value(row.case, name)) for row in side} for name in _names(side)} for side in (before, after)
    ]
    names = [name for name in _names([*before, *after]) if shown[0].get(name) != shown[1].get(name)]
    if not names:
        return []
    try:
        pairs = pair_across(before, after, names)
    except OptionError:
        return []
    return names if any(one and other for one, other in pairs) else []


def check_names(across: Sequence[str], table: Sequence[Row]) -> None:
    """Refuses a parameter that no case has."""
    known = _names(table)
    for name in across:
        if name not in known:
            raise OptionError(f"no case has a parameter {name!r}", remedy=did_you_mean(name, known))


def without_parameters(case: Case, across: Iterable[str]) -> Case:
    """The case without these parameters, wherever they are kept."""
    names = set(across)
    for name in names & _MIRRORED.keys():
        case = _MIRRORED[name](case)
    return replace(case, params={name: value for name, value in case.params.items() if name not in names})


def change_text(before: Mapping[str, Scalar], after: Mapping[str, Scalar], name: str) -> str:
    """How a parameter differs: `0.1 → 0.2`; the value alone where it does not."""
    return _show_change(before.get(name), after.get(name))


def _by_rest(side: Sequence[Row], across: Sequence[str]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in side:
        groups.setdefault((schema.case_key(without_parameters(row.case, across)), row.machine), []).append(row)
    return groups


def _name_change(before: Row, after: Row, across: Sequence[str]) -> Row:
    """The second row under a label that says how it differs from the first."""
    changed = {name: _show_change(_value(before.case, name), _value(after.case, name)) for name in across}
    return replace(after, params={**{k: v for k, v in after.params.items() if k not in across}, **changed})


def _ambiguous(rows: Sequence[Row], others: Sequence[Row], across: Sequence[str]) -> OptionError:
    named = " and ".join(across)
    sides = [list_some([_values(row, across) for row in side]) for side in (rows, others)]
    fewer = f"leave one of {', '.join(across)} out" if len(across) > 1 else f"leave out --across {across[0]}"
    return OptionError(
        f"{rows[0].name}: several cases are equal but for {named}, so nothing says which belong together: "
        f"{sides[0]} in the first run, {sides[1]} in the second",
        remedy=f"{fewer}, or let each run have one of them",
    )


def _values(row: Row, across: Sequence[str]) -> str:
    return " ".join(f"{name}={show_scalar(_value(row.case, name))}" for name in across)


def _differing_remedy(table: Sequence[Row]) -> str:
    varying = [name for name in _names(table) if len({repr(_value(row.case, name)) for row in table}) > 1]
    return f"parameters that vary in it: {', '.join(varying)}" if varying else "its cases differ in no parameter"


def _names(table: Sequence[Row]) -> list[str]:
    """The parameters of the cases, and `target`."""
    return list(dict.fromkeys([*(name for row in table for name in row.case.params), TARGET]))


def _value(case: Case, name: str) -> Scalar:
    """A parameter of a case; `target` is what was measured, unless a parameter has this name."""
    return case.name if name == TARGET and TARGET not in case.params else case.params.get(name)


def _show_change(before: Scalar, after: Scalar) -> str:
    one, two = show_scalar(before), show_scalar(after)
    return one if one == two else f"{one} → {two}"
