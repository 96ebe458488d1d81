"""A trial of two sides for the terminal, for Markdown and as JSON."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from benchwright import schema
from benchwright.analysis.comparison import ComparedMetric, sentence_of
from benchwright.analysis.rows import show_scalar
from benchwright.records import Estimate, Verdict
from benchwright.records.trials import Stage, StageResult, Trial, TrialRow, TrialSide
from benchwright.report.comparison_text import STYLES
from benchwright.report.markdown import escape_markdown, markdown_table
from benchwright.report.table import UNLIMITED, emit
from benchwright.schema.printed import envelope
from benchwright.units import format_value
from benchwright.units.numbers import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HEADS = ("case", "metric", "control", "treatment", "ratio", "pairs", "time", "verdict")
_RIGHT = [False, False, True, True, True, True, True, False]
_ORDER = (Verdict.WORSE, Verdict.BETTER, Verdict.UNCLEAR, Verdict.SAME)


def print_trial(
    trial: Trial, *, file: TextIO | None = None, width: int | None = None, saved: bool = True, beside: str = ""
) -> None:
    """Prints the trial: a table where it fits, otherwise lines of its own for each case.

    `beside` is what is known of the machine's own false alarms.
    """
    emit(file or sys.stdout, lambda console: _show(console, trial, saved, beside), width=width)


def trial_markdown(trial: Trial, *, beside: str = "") -> str:
    """The trial as a GitHub table, fit for a comment on a pull request."""
    table = markdown_table(HEADS, [list(line) for line, _ in trial_lines(trial)], _RIGHT) if trial.rows else ""
    said = "\n".join(f"- {escape_markdown(note)}" for note in notes(trial))
    promised = [rules(trial), escape_markdown(beside)] if trial.rows else []
    parts = [f"**{escape_markdown(headline(trial))}**", table, said, *promised]
    return "\n\n".join(part for part in parts if part) + "\n"


def trial_json(trial: Trial, *, calibration: object = None) -> str:
    """The trial as JSON: every pair, every look, every estimate with its interval."""
    document = schema.encode(trial)
    for row, told in zip(trial.rows, document["rows"], strict=True):
        told |= {"stage": row.stage, "pairs": row.pairs, "seconds": row.seconds, "failed": row.failed}
    document |= {"ok": trial.ok, "worse": trial.worse, "calibration": schema.encode(calibration)}
    return envelope("trial", document)


def headline(trial: Trial) -> str:
    """What against what, and how many cases went which way."""
    counts = Counter(row.verdict for row in trial.rows)
    words = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])
    failed = sum(row.failed for row in trial.rows)
    words = ", ".join(part for part in (words, f"{failed} failed" if failed else "") if part)
    sides = f"{_label_side(trial.treatment)} against {_label_side(trial.control)}"
    return f"{sides}{' on ' * bool(trial.machine)}{trial.machine}: {words or 'nothing was compared'}"


def rules(trial: Trial) -> str:
    """The sentences that say what the verdicts of a trial promise."""
    asked = trial.rules
    twice = " A change is named when a second look at fresh pairs confirms it." if asked.verify else ""
    return (
        f"A change below {100 * asked.smallest:.3g} % counts as none. Of the cases that did not change, at most "
        f"{100 * asked.false_alarms:.3g} % are called better or worse, however early a look ends.{twice} "
        f"Seed {asked.seed}."
    )


def notes(trial: Trial) -> Iterator[str]:
    """The notes below the table of a trial: failures, cases of one side, an interruption."""
    for name, side in (("control", trial.control), ("treatment", trial.treatment)):
        if side.failure is not None:
            yield f"the {name} was not built: {side.failure.message}" + (
                f" ({side.failure.remedy})" if side.failure.remedy else ""
            )
    for label, row in zip(labels(trial.rows), trial.rows, strict=True):
        bad = [pair for heat in row.heats for pair in heat.pairs if pair.why]
        if bad:
            given_up = "given up after" if row.failed else "not counted:"
            yield f"{label}: {given_up} {len(bad)} failed pair{'s' if len(bad) > 1 else ''}: {bad[-1].why}"
        if len(row.heats) > 1 and row.verdict is Verdict.UNCLEAR:
            yield f"{label}: {row.why}"
        yield from (f"{label}: {words}" for words in _length_notes(row.heats))
        if (middles := _medians(row)) and (effect := row.effect) and effect.low is not None and effect.high is not None:
            ratio = middles[1] / middles[0]
            if not effect.low <= ratio <= effect.high:
                yield (
                    f"{label}: the two medians differ by a factor of {ratio:.3f}, and the ratio is {effect.point:.3f}: "
                    "medians count every process alike, the ratio those more that nothing disturbed"
                )
    for name, cases in (("control", trial.only_control), ("treatment", trial.only_treatment)):
        if cases:
            yield f"only the {name} has {', '.join(cases)}"
    yield from trial.unsaved
    if trial.interrupted:
        yield "interrupted: the verdicts are what was known by then"


def _length_notes(heats: Sequence[StageResult]) -> Iterator[str]:
    """Notes on processes that were longer or shorter than usual, for each look or for both at once."""
    looks = [heat for heat in heats if heat.stage is not Stage.REGRESS]
    names = ("the first look", "the second look")
    alike = len(looks) > 1 and len({heat.length for heat in looks}) == 1
    for name, heat in zip(("both looks",) if alike else names, looks, strict=False):
        if heat.length != 1.0:
            where = f" in {name}" if len(looks) > 1 else ""
            why = "as the pairs before were clear" if heat.length < 1.0 else "as the first pairs differed much"
            how = "" if heat.length < 1.0 else "; --duration sets a length"
            yield f"processes {heat.length:g} times as long as usual{where}, {why}{how}"


def labels(rows: Sequence[TrialRow]) -> list[str]:
    """The name of each case, with the parameters that tell it from others of that name."""
    return [
        " ".join([row.name, *_distinguishing_params(row, [each for each in rows if each.name == row.name])])
        for row in rows
    ]


def _distinguishing_params(row: TrialRow, namesakes: Sequence[TrialRow]) -> Iterator[str]:
    for name, value in row.params.items():
        if any(other.params.get(name) != value for other in namesakes):
            yield f"{name}={show_scalar(value)}"


def trial_lines(trial: Trial) -> Iterator[tuple[tuple[str, ...], Verdict]]:
    for label, row in zip(labels(trial.rows), trial.rows, strict=True):
        compared = _compare_row(row, trial.rules.smallest)
        middle = (compared.before_text, compared.after_text, compared.ratio_text) if compared else ("-", "-", "-")
        words = compared.sentence if compared else f"{row.verdict}: {row.why}"
        taken = format_value(row.seconds, "s", 2)
        yield (label, row.metric or "-", *middle, str(row.pairs), taken, words), row.verdict


def _compare_row(row: TrialRow, smallest: float) -> ComparedMetric | None:
    """The row as a comparison, whose two values are the medians over the pairs of the look that tells the ratio; None
    where nothing counts."""
    middles = _medians(row)
    if middles is None:
        return None
    words = sentence_of(row.verdict, row.effect, row.unit, smallest, row.why)
    if row.verdict in (Verdict.WORSE, Verdict.BETTER) and row.seen_twice:
        words += ", confirmed"
    return ComparedMetric(
        name=row.metric,
        unit=row.unit,
        better=row.better,
        before=Estimate(point=middles[0], low=None, high=None),
        after=Estimate(point=middles[1], low=None, high=None),
        ratio=row.effect,
        verdict=row.verdict,
        sentence=words,
        why=row.why,
        p_value=row.p_value,
    )


def _medians(row: TrialRow) -> tuple[float, float] | None:
    """The medians of both sides over the pairs of the look that tells the ratio."""
    told = row.telling
    values = [(pair.control, pair.treatment) for pair in (told.pairs if told else ()) if pair.ratio is not None]
    if not values:
        return None
    ours, theirs = ([value for value in side if value is not None] for side in zip(*values, strict=True))
    return statistics.median(ours), statistics.median(theirs)


def _label_side(side: TrialSide) -> str:
    known = side.revision.id[:10] if side.revision else ""
    if side.revision and side.label == side.revision.id:
        return known
    if not known or side.label.startswith(known):
        return side.label
    return f"{side.label} ({known})"


# ---- the terminal ----


def _show(console: Console, trial: Trial, saved: bool, beside: str) -> None:
    from rich.measure import Measurement
    from rich.text import Text

    if trial.rows:
        drawn = _table(trial)
        wide = Measurement.get(console, console.options.update(max_width=UNLIMITED), drawn).maximum
        if wide <= console.width:
            console.print(drawn, crop=False)
        else:
            _show_stacked(console, trial)
        console.print()
    for note in notes(trial):
        console.print(Text(printable(note), style="yellow"), overflow="fold")
    console.print(Text(printable(headline(trial)), style="bold"), overflow="fold")
    if trial.rows:
        for said in filter(None, (rules(trial), beside)):
            console.print(Text(printable(said), style="dim"), overflow="fold")
    for stage, (control, treatment) in trial.runs.items() if saved else ():
        console.print(Text(f"{stage}: runs {control} and {treatment}", style="dim"), overflow="fold")
    for side in (trial.control, trial.treatment):
        if side.failure is not None and side.failure.log_tail:
            console.print(Text(printable(side.failure.log_tail, lines=True)), overflow="fold")


def _table(trial: Trial) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 0, 0, 1))
    for head, right in zip(HEADS, _RIGHT, strict=True):
        drawn.add_column(head, no_wrap=True, justify="right" if right else "left")
    for line, verdict in trial_lines(trial):
        drawn.add_row(*(Text(printable(word)) for word in line[:-1]), Text(printable(line[-1]), style=STYLES[verdict]))
    return drawn


def _show_stacked(console: Console, trial: Trial) -> None:
    from rich.text import Text

    for (label, metric, control, treatment, ratio, pairs, taken, words), verdict in trial_lines(trial):
        console.print(Text(printable(label), style="bold"), overflow="fold")
        console.print(Text(f"  {metric}: ").append(printable(words), style=STYLES[verdict]), overflow="fold")
        said = f"    {control} to {treatment}, ratio {ratio}, {pairs} pairs in {taken}"
        console.print(Text(printable(said)), overflow="fold")
