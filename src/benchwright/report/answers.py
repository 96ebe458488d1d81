"""What comparing the models' answers found: a sentence for each case, a table for each output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchwright.analysis.rows import Row
from benchwright.records import Value
from benchwright.units import format_number
from benchwright.units.numbers import number

MOST_TOLD = 8  # cases with a sentence of their own; more are counted
HEADS = (
    "verdict",
    "max. error",
    "mean error",
    "RMS",
    "max. relative",
    "mean relative",
    "cosine",
    "same largest",
    "worst at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDeviation:
    """One output in the round in which it was furthest from what is expected."""

    name: str
    told: Mapping[str, Value]
    within: bool | None  # in every round; None: nothing was asked of it

    def number(self, name: str) -> float:
        """Returns the number that was measured, 0 where none was."""
        return number(self.told.get(name)) or 0.0

    @property
    def cosine(self) -> float | None:
        """Returns the cosine similarity; None when no element is a finite number on both sides."""
        return None if self.told.get("cosine", 0.0) is None else self.number("cosine")


def answers(row: Row) -> list[OutputDeviation]:
    """The outputs of a case that were compared."""
    found: dict[str, list[Mapping[str, Value]]] = {}
    for result in row.results:
        compared = result.details.get("answers")
        for name, told in compared.items() if isinstance(compared, dict) else ():
            if isinstance(told, dict):
                found.setdefault(name, []).append(told)
    return [
        OutputDeviation(
            name=name,
            told=max(rounds, key=_badness),
            within=_all(told.get("within") for told in rounds),
        )
        for name, rounds in found.items()
    ]


def summary(table: Sequence[Row]) -> list[str]:
    """A sentence for each case whose answers were compared; of very many cases, for those out of tolerance."""
    found = [(row, compared) for row in table if (compared := answers(row))]
    if len(found) <= MOST_TOLD:
        return [f"Answers of {row.short}: {_sentence(compared)}" for row, compared in found]
    bad = [(row, compared) for row, compared in found if _all(each.within for each in compared) is False]
    lines = [f"Answers: {len(found) - len(bad)} of {len(found)} cases are not out of tolerance"]
    lines += [f"Answers of {row.short}: {_sentence(compared)}" for row, compared in bad[:MOST_TOLD]]
    return lines + ([f"Answers: and {len(bad) - MOST_TOLD} more out of tolerance"] if len(bad) > MOST_TOLD else [])


def cells(row: Row) -> dict[str, list[str]]:
    """A line for each output of a case, by `HEADS`."""
    return {
        each.name: [
            _verdict(each),
            *_figures(each),
            "".join(f"{100 * each.number(top):.3g} %" for top in ("top1",) if top in each.told),
            _worst(each.told),
        ]
        for each in answers(row)
    }


def _badness(told: Mapping[str, Value]) -> tuple[bool, float, float]:
    return told.get("within") is False, number(told.get("unlike")) or 0.0, number(told.get("max_abs")) or 0.0


def _figures(each: OutputDeviation) -> list[str]:
    names = ("max_abs", "mean_abs", "rms", "max_rel", "mean_rel")
    if each.cosine is None:
        return ["none"] * (len(names) + 1)
    return [*(_format_error(each.number(name)) for name in names), f"{each.cosine:.7g}"]


def _sentence(compared: Sequence[OutputDeviation]) -> str:
    bad = [each for each in compared if each.within is False]
    most = max(each.number("max_abs") for each in compared)
    relative = max(each.number("max_rel") for each in compared)
    cosines = [each.cosine for each in compared if each.cosine is not None]
    size = (
        f"largest error {_format_error(most)}, relative {_format_error(relative)}; cosine {min(cosines):.7g}"
        if cosines
        else ""
    )
    size = "; ".join(filter(None, [size, *map(_not_finite, compared)]))
    if bad:
        return f"{', '.join(each.name for each in bad)} out of tolerance; {size}"
    many = f"{len(compared)} outputs" if len(compared) > 1 else compared[0].name
    return f"{many} {'within tolerance' if _all(e.within for e in compared) else 'compared, not judged'}; {size}"


def _not_finite(each: OutputDeviation) -> str:
    """What errors and cosine leave out, so that nobody takes them for the whole."""
    unlike = int(each.number("unlike"))
    if unlike:
        return f"{unlike:,} of {int(each.number('size')):,} elements of {each.name} are not finite numbers"
    return f"no element of {each.name} is a finite number" if each.cosine is None else ""


def _verdict(each: OutputDeviation) -> str:
    if each.within is None:
        return "; ".join(filter(None, ["not judged", _not_finite(each)]))
    off = int(each.number("off"))
    return "within tolerance" if each.within else f"out of tolerance: {off:,} of {int(each.number('size')):,} elements"


def _worst(told: Mapping[str, Value]) -> str:
    where = told.get("worst")
    if not isinstance(where, list):
        return ""
    found, expected = (_element(told.get(name)) for name in ("worst_found", "worst_expected"))
    return f"{where}: {found}, expected {expected}"


def _element(value: Value) -> str:
    return format_number(value, 6) if isinstance(value, float) else str(value)


def _format_error(value: float) -> str:
    return "0" if value == 0 else f"{value:.2e}" if value < 1e-3 else format_number(value)


def _all(verdicts: Iterable[object]) -> bool | None:
    """False when one verdict is false, None when one is not known, else True."""
    known = list(verdicts)
    return False if False in known else None if None in known else True
