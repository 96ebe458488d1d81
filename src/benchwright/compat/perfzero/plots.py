"""`benchwright perfzero plot`: process_info.log as pictures, one for each number in it. No window opens."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchwright.errors import DecodeError, NotInstalledError, OptionError
from benchwright.schema.parsing import json_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDINGS = (".pdf", ".png", ".svg")
TIME = "time"
_UNITS = {
    "rss": (2.0**20, "resident memory, MiB"),
    "vms": (2.0**20, "virtual memory, MiB"),
    "cpu_percent": (1.0, "CPU, %"),
}

Series = dict[str, list[tuple[float, float]]]


def main(arguments: Sequence[str]) -> int:
    """Draws the file that is named."""
    parser = argparse.ArgumentParser(prog="benchwright perfzero plot", description="Draw a process_info.log.")
    parser.add_argument("file", type=Path, help="The process_info.log of a method.")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("process_info.pdf"),
        metavar="FILE",
        help="FILE.pdf: a page for each number; FILE.png or FILE.svg: all in one picture. Default: process_info.pdf.",
    )
    given = parser.parse_args(arguments)
    if given.output.suffix.lower() not in ENDINGS:
        raise OptionError(
            f"--output {given.output}: the ending must say the format", remedy=f"use {', '.join(ENDINGS)}"
        )
    series = read(given.file)
    if not series:
        sys.stdout.write(f"{given.file} holds no samples: there is nothing to draw\n")
        return 0
    try:
        write(series, given.output)
    except OSError as error:
        raise OptionError(f"{given.output}: cannot be written: {error.strerror or error}") from None
    sys.stdout.write(f"{given.output}: {', '.join(series)}\n")
    return 0


def read(path: Path) -> Series:
    """(time, value) pairs by key: every number but the time itself. A line that was cut short is left out."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DecodeError(f"{path}: cannot be read: {error.strerror}") from None
    series: Series = {}
    rows = text.splitlines()
    for number, line in enumerate(rows, start=1):
        if not line.strip():
            continue
        try:
            row = json_value(line, finite=False)
        except ValueError:
            if number == len(rows):  # its writer was killed
                continue
            raise DecodeError(f"{path}:{number}: not JSON", remedy="is this a process_info.log?") from None
        if not isinstance(row, dict) or not _is_number(row.get(TIME)):
            raise DecodeError(f"{path}:{number}: no {TIME!r}", remedy="is this a process_info.log?")
        for key, value in row.items():
            if key != TIME and _is_number(value):
                series.setdefault(key, []).append((float(row[TIME]), float(value)))
    return series


def write(series: Series, path: Path) -> None:
    """One page for each key in a PDF; small multiples in other formats."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NotInstalledError("matplotlib", "'benchwright[plot]'") from None
    if path.suffix.lower() == ".pdf":
        from matplotlib.backends.backend_pdf import PdfPages

        with PdfPages(path) as pages:
            for key, points in series.items():
                page = Figure(figsize=(8, 4.5), layout="constrained")
                _draw(page.subplots(), key, points, last=True)
                pages.savefig(page)
        return
    figure: Figure = Figure(figsize=(8, 2.2 * len(series) + 0.6), layout="constrained", dpi=150)
    rows = figure.subplots(len(series), 1, sharex=True, squeeze=False)[:, 0]
    for index, (axes, (key, points)) in enumerate(zip(rows, series.items(), strict=True)):
        _draw(axes, key, points, last=index == len(series) - 1)
    figure.savefig(path)


def _draw(axes: Axes, key: str, points: list[tuple[float, float]], *, last: bool) -> None:
    divisor, title = _UNITS.get(key, (1.0, key))
    seconds, values = zip(*points, strict=True)
    axes.plot(seconds, [value / divisor for value in values], marker="." if len(points) < 60 else "", linewidth=1.2)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    if last:
        axes.set_xlabel("seconds since the method began")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
