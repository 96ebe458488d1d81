"""A gate as annotations, the lines by which a step of GitHub Actions speaks to the page of a pull request."""

from __future__ import annotations

from benchwright.analysis.gate import Gate
from benchwright.report.gate_text import headline, told

SHOWN = 10  # GitHub shows so many of a step


def github_annotations(gate: Gate) -> str:
    """An error for each breach, or a notice that all is well."""
    if gate.ok:
        return f"::notice title=benchwright::{_message(headline(gate))}\n"
    lines = [f"::error title={_property(f'benchwright: {b.case}')}::{_message(told(b))}" for b in gate.breaches]
    more = len(lines) - SHOWN + 1
    if more > 1:
        lines = [*lines[: SHOWN - 1], f"::error title=benchwright::and {more} more; see the log of this step"]
    return "\n".join(lines) + "\n"


def _message(text: str) -> str:
    """Text that stays one message, whatever a case is called."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
