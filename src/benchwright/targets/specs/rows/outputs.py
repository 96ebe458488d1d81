"""Output files with one number a line, against golden ones: element by element, and never only a part of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from benchwright.errors import MeasureError
from benchwright.records import Better, Estimate, Metric, Value
from benchwright.schema import soundness


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRows:
    """What a program put out, what was expected, and the signed differences, in the order of the files."""

    name: str
    values: tuple[float, ...]
    golden: tuple[float, ...]

    @property
    def differences(self) -> tuple[float, ...]:
        """Returns output minus golden, element by element."""
        return tuple(found - wanted for found, wanted in zip(self.values, self.golden, strict=True))

    def as_details(self) -> dict[str, Value]:
        """The entry of the older metric `error`."""
        return {
            "type": self.name,
            "values": [*self.values],
            "control_values": [*self.golden],
            "diff_values": [*self.differences],
        }

    def metrics(self) -> list[Metric]:
        """The largest and the mean absolute error."""
        sizes = [abs(difference) for difference in self.differences]
        figures = {"max_abs": max(sizes), "mean_abs": math.fsum(sizes) / len(sizes)}
        return [
            Metric(
                name=f"error_{name}.{self.name}",
                unit="",
                better=Better.LOWER,
                estimate=Estimate(point=value, low=None, high=None, method="over every element"),
            )
            for name, value in figures.items()
        ]


def compare_files(name: str, found: Path, golden: Path) -> ComparedRows:
    """Both files in full. A `MeasureError` when one is unreadable, or when they hold different counts of numbers."""
    values, wanted = numbers(found, f"output {name}"), numbers(golden, f"golden output {name}")
    if len(values) != len(wanted):
        raise MeasureError(
            f"output {name} has {len(values)} numbers, golden has {len(wanted)}",
            remedy="nothing was compared: the program, or the golden file, is for another input",
        )
    if not values:
        raise MeasureError(f"output {name} and its golden file are empty")
    return ComparedRows(name=name, values=values, golden=wanted)


def numbers(path: Path, what: str) -> tuple[float, ...]:
    """The numbers of a text file, one a line; empty lines are left out, anything else is a `MeasureError`."""
    found: list[float] = []
    try:
        with path.open(encoding="utf-8") as file:
            for place, line in enumerate(file, 1):
                text = line.strip()
                if text:
                    value = float(text)
                    if not soundness.is_sane(value):
                        raise MeasureError(f"{what}: line {place} of {path.name} is {text}, which is not finite")
                    found.append(value)
    except ValueError as error:  # a file that is no text is one as well
        raise MeasureError(f"{what}: {path.name} does not hold one number a line: {error}") from None
    except OSError as error:
        raise MeasureError(f"{what}: {path.name} cannot be read: {error.strerror}") from None
    return tuple(found)
