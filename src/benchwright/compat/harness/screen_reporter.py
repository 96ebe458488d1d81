"""Results as text for a terminal, as FAI-PEP prints them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchwright.compat.harness.documents import HarnessDocument, as_json, commit_date
from benchwright.compat.harness.summaries import OF_THE_SEED, SummaryRules

_PAIRS = (("p50", "median", "MAD"), ("mean", "mean", "stdev"))


def screen_text(document: HarnessDocument, *, rules: SummaryRules = SummaryRules.TODAY) -> str:
    """Three lines that say what was measured where, then a line for each entry and one for its difference.

    The whole model comes first, operators follow by name; the seed had the model last, and all percentiles.
    """
    meta = document.meta
    made = commit_date(document).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    lines = [
        f"NET: {meta.get('net_name')}\tMETRIC: {meta.get('metric')}\tID: {meta.get('identifier')}",
        f"PLATFORM: {meta.get('platform')}\tHASH: {meta.get('platform_hash')}",
        f"FRAMEWORK: {meta.get('framework')}\tCOMMIT: {meta.get('commit')}\tTIME: {made}",
    ]
    last = rules is SummaryRules.SEED
    for key in sorted(document.data, key=lambda key: (key.startswith("NET") is last, key)):
        lines += _entry_lines(key, document.data[key], rules)
    return "\n".join(lines) + "\n"


def simple_screen_text(document: HarnessDocument) -> str:
    """The entries alone, as JSON."""
    return as_json(document.entries) + "\n"


def _entry_lines(key: str, entry: Mapping[str, Any], rules: SummaryRules) -> list[str]:
    lines = []
    for label, name in (("value", "summary"), ("diff", "diff_summary")):
        if said := _summary_text(entry.get(name) or {}, label, rules):
            lines.append(f"{key}: {said}")
    return lines or [f"{key}: {entry['info_string']}"] if "info_string" in entry else lines


def _summary_text(summary: Mapping[str, Any], label: str, rules: SummaryRules) -> str:
    if rules is SummaryRules.SEED and all(isinstance(summary.get(name), int | float) for name in OF_THE_SEED):
        return f"{label} " + "  ".join(f"{name}: {summary[name]:.2f}" for name in OF_THE_SEED)
    for centre, word, spread in _PAIRS:
        if isinstance(summary.get(centre), int | float) and isinstance(summary.get(spread), int | float):
            return f"{label} {word} {summary[centre]:.5f}  {spread}: {summary[spread]:.5f}"
    known = [f"{name}: {value:.5f}" for name, value in summary.items() if isinstance(value, int | float)]
    return f"{label} " + "  ".join(known) if known else ""
