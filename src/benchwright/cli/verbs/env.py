"""`benchwright env`: this machine, its noise, and what to change."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from benchwright.cli.options import json_option, print_json, store_option
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.execution.noise import NoiseFloor
    from benchwright.execution.noise.calibration import Calibration
    from benchwright.records import Environment, ResultWarning
    from benchwright.store import Store


def _check_finite(_context: click.Context, _parameter: click.Parameter, seconds: float) -> float:
    if not math.isfinite(seconds):  # a range lets NaN through, and neither would ever be over
        raise click.BadParameter(f"{seconds} is not a finite number.")
    return seconds


@click.group(invoke_without_command=True)
@click.option("--quick", is_flag=True, help="Do not measure the noise floor.")
@click.option("--noise", is_flag=True, help="Measure the noise floor; the default, unless --self-test is given.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    callback=_check_finite,
    default=60.0,
    show_default=True,
    help="How long to measure the noise floor, or to calibrate.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure equal work against equal work for --seconds, say how often ab, compare and check are wrong here and "
    "what they find, and keep it in the store.",
)
@click.option("--self-test", is_flag=True, help="Drive the engine: cost per call, wake-up error, arrivals, verdict.")
@store_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    quick: bool,
    noise: bool,
    seconds: float,
    calibrate: bool,
    self_test: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Show this machine, measure its noise floor, and say what to change.

    The noise floor is the smallest change that this machine can tell from chance. --calibrate finds out how often the
    gates are wrong here; ab, compare, check and the dashboard quote it beside their verdicts.
    """
    if context.invoked_subcommand is not None:
        return 0
    if quick and noise:
        raise click.UsageError("--quick and --noise exclude each other")
    from benchwright.analysis import false_alarms
    from benchwright.execution import noise as noises
    from benchwright.machine import environment

    here = environment.collect()
    floor = _measure_noise(seconds) if noise or not (quick or self_test or calibrate) else None
    known = (
        _calibrate(seconds, store, here)
        if calibrate
        else false_alarms.read_calibration(lambda: open_configured_store(store), here)
    )
    tested = noises.self_test() if self_test else None
    remedies = noises.advice(here, floor)
    if as_json:
        page = {"environment": here, "noise": floor, "self_test": tested, "advice": remedies}
        print_json("machine", {**page, "calibration": known})
        return _status(calibrate, known)
    from benchwright.execution.noise.page import noise_lines, self_test_lines
    from benchwright.machine.environment.page import sections

    for section in sections(here):
        _print(section.title, section.lines)
    if floor is not None:
        _print(f"Noise floor, measured for {floor.seconds:.0f} s", noise_lines(floor))
    if tested is not None:
        _print("Self-test", self_test_lines(tested))
    if known is not None:
        _print("False alarms on this machine", false_alarms.describe_calibration(known))
    _print_advice(remedies)
    return _status(calibrate, known)


@command.command(name="diff")
@click.argument("a", metavar="RUN")
@click.argument("b", metavar="RUN")
@store_option
@json_option
def diff(*, a: str, b: str, store: str | None, as_json: bool) -> None:
    """Show what differs between the environments of two runs."""
    from benchwright.machine import environment
    from benchwright.machine.environment.page import words

    results = open_configured_store(store)
    try:
        left, right = (_environment(results, reference) for reference in (a, b))
    finally:
        results.close()
    differences = environment.difference(left, right)
    if as_json:
        print_json("environment-differences", [{"place": place, "a": was, "b": now} for place, was, now in differences])
        return
    if not differences:
        click.echo("no difference")
        return
    rows = [(place, *(words(place.rpartition(".")[2], value) for value in pair)) for place, *pair in differences]
    _print_table(("", a, b), rows)


def _environment(store: Store, reference: str) -> Environment:
    from benchwright.errors import TargetError

    run = store.run(store.find(reference), samples=False)
    if not run.results:
        raise TargetError(f"run {run.id} has no results, so no environment", remedy="name another: benchwright list")
    return run.results[0].environment


def _measure_noise(seconds: float) -> NoiseFloor:
    from benchwright.execution.noise import measure_noise

    if not sys.stderr.isatty():
        return measure_noise(seconds)
    try:
        return measure_noise(seconds, lambda share: click.echo(f"\rmeasuring noise {share:4.0%}", nl=False, err=True))
    finally:
        click.echo("\r\033[K", nl=False, err=True)


def _status(calibrate: bool, known: Calibration | None) -> int:
    return 130 if calibrate and known is not None and known.interrupted else 0


def _calibrate(seconds: float, store: str | None, here: Environment) -> Calibration:
    """Measures how often the gates are wrong here, and keeps the answer.

    Ctrl-C keeps what was measured by then, where that is enough to say anything.
    """
    from benchwright.execution import session
    from benchwright.execution.noise import calibration
    from benchwright.workflows.invocation import command_line

    terminal = sys.stderr.isatty()

    def show(text: str) -> None:
        if terminal:
            click.echo(f"\r\033[K{text}", nl=False, err=True)

    results = open_configured_store(store, create=True)  # first: one that fails is told before a minute is spent
    try:
        recorded = calibration.record(
            seconds, lambda share, processes: show(f"measuring equal work {share:4.0%}, {processes} processes")
        )
        show("judging what was recorded")
        found = calibration.calibration(recorded)
        results.add_run(calibration.as_run(found, here, session.new_run_id(), command_line()))
    finally:
        show("")
        results.close()
    return found


def _print(title: str, lines: Sequence[tuple[str, str]]) -> None:
    width = max(len(label) for label, _ in lines)
    _echo(click.style(title, bold=True))
    for label, text in lines:
        _echo(f"  {label:<{width}}  {click.style(text, dim=True) if text.startswith('unavailable: ') else text}")
    _echo("")


def _print_advice(remedies: Iterable[ResultWarning]) -> None:
    _echo(click.style("What to change", bold=True))
    for warning in remedies:
        _echo(f"  {click.style(warning.code, fg='yellow')}: {warning.seen}")
        _echo(f"    {warning.remedy}")
    if not remedies:
        _echo("  nothing to change was found")


def _print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for i, row in enumerate([header, *rows]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        _echo(click.style(line, bold=True) if i == 0 else line)


def _echo(line: Any) -> None:
    click.echo(line, color=False if "NO_COLOR" in os.environ else None)
