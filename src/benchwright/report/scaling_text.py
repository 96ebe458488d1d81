"""A run's scaling as text and as JSON: the scatter, the doubts, and which configuration to choose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchwright.analysis.rows import Row
from benchwright.analysis.scaling import Advice
from benchwright.records import Run
from benchwright.report.terminal import scatter
from benchwright.schema.printed import envelope

NOTHING = "One case, or none with a latency and a throughput: there is nothing to choose."


def scaling_text(
    table: Sequence[Row], chosen: Sequence[Advice], doubts: Sequence[str], *, picture: Path | None, width: int
) -> str:
    """The scatter of throughput against latency, the doubts and the advice, for a terminal of that width."""
    advice = "\n".join(map(str, chosen)) or NOTHING
    parts = [scatter(table, width), "\n".join(doubts), advice, f"wrote {picture}" if picture else ""]
    return "\n\n".join(part for part in parts if part)


def scaling_json(run: Run, chosen: Sequence[Advice], doubts: Sequence[str], *, picture: Path | None) -> str:
    """The advice as JSON: for each aim the case, and the rivals that cannot be told from it."""
    named = [
        {
            "for": a.aim,
            "case": a.row and a.row.label,
            "rivals": [r.label for r in a.rivals],
            "told_apart": a.row is not None and not a.rivals,
        }
        for a in chosen
    ]
    told = {"run": run.id, "advice": named, "cautions": doubts, "picture": picture and str(picture)}
    return envelope("scaling", told)
