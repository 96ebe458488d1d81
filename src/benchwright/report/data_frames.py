"""Data frames, for people who have pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchwright.errors import NotInstalledError
from benchwright.records import Estimate, Run, Scalar
from benchwright.report.csv import tidy
from benchwright.schema.parsing import json_mapping

if TYPE_CHECKING:
    import pandas

    from benchwright.analysis.comparison import ComparedRow
    from benchwright.analysis.races import RaceStory
    from benchwright.analysis.trend import JudgedSeries
    from benchwright.records.bisections import Bisected
    from benchwright.records.findings import Finding
    from benchwright.records.trials import Trial


def to_pandas(run: Run) -> pandas.DataFrame:
    """A tidy `pandas.DataFrame`: one row for each result and metric, in base units, params as columns."""
    frame = _frame(tidy(run))
    if "error" in frame:
        frame.insert(len(frame.columns) - 1, "error", frame.pop("error"))
    return frame


def comparison_frame(compared: Sequence[ComparedRow]) -> pandas.DataFrame:
    """One row for each case and metric; a case without numbers has one row with its verdict and an empty metric."""
    return _frame(_comparison_lines(compared))


def columns_frame(columns: Sequence[tuple[str, Sequence[ComparedRow]]]) -> pandas.DataFrame:
    """The same of several runs against one baseline; the column `run` says of which."""
    return _frame({"run": run, **line} for run, compared in columns for line in _comparison_lines(compared))


def _comparison_lines(compared: Sequence[ComparedRow]) -> Iterator[dict[str, Scalar]]:
    for row in compared:
        for metric in row.metrics or (None,):
            yield {
                "case": row.label,
                "metric": metric.name if metric else None,
                "unit": metric.unit if metric else None,
                "better": _word(metric.better if metric else None),
                **_numbers("before", metric.before if metric else None),
                **_numbers("after", metric.after if metric else None),
                **_numbers("ratio", metric.ratio if metric else None),
                "verdict": str(metric.verdict if metric else row.verdict),
                "sentence": metric.sentence if metric else "; ".join(row.notes),
                "p_value": metric.p_value if metric else None,
            }


def history_frame(series: Sequence[JudgedSeries]) -> pandas.DataFrame:
    """One row for each series and run, params as columns."""
    return _frame(
        _with_params(
            {
                "series": one.key,
                "machine": one.machine,
                "case": one.case,
                "metric": one.metric,
                "unit": one.unit,
                "better": one.better or None,
                "run": step.run,
                "started_at": step.started_at,
                "revision": step.revision or None,
                "rounds": step.rounds,
                **_numbers("value", step.estimate, bare=True),
                "change": step.change,
                "verdict": str(step.verdict),
                "why": step.why,
                **({"price": step.price, "price_change": step.price_change} if step.price else {}),
            },
            one.params,
        )
        for one in series
        for step in one.steps
    )


def findings_frame(findings: Sequence[Finding]) -> pandas.DataFrame:
    """One row for each finding, params as columns."""
    return _frame(
        _with_params(
            {
                "finding": one.id,
                "state": str(one.state),
                "verdict": str(one.verdict),
                "case": one.case,
                "metric": one.metric,
                "unit": one.unit,
                **_numbers("before", one.before),
                **_numbers("after", one.after),
                **_numbers("effect", one.effect),
                "confidence": one.confidence,
                "drift": one.drift is not None,
                "run": one.run,
                "revision": one.revisions[-1] if one.revisions else None,
                "found_at": one.found_at,
                "assignee": one.assignee or None,
                "series": one.series,
                "machine": one.machine,
            },
            one.params,
        )
        for one in findings
    )


def trial_frame(trial: Trial) -> pandas.DataFrame:
    """One row for each case, params as columns."""
    return _frame(
        _with_params(
            {
                "case": row.name,
                "metric": row.metric,
                "unit": row.unit,
                "better": _word(row.better),
                **_numbers("effect", row.effect),
                "verdict": str(row.verdict),
                "why": row.why,
                "p_value": row.p_value,
                "adjusted": row.adjusted,
                "pairs": row.pairs,
                "seconds": row.seconds,
                "stage": str(row.stage) if row.heats else None,
            },
            row.params,
        )
        for row in trial.rows
    )


def race_frame(story: RaceStory) -> pandas.DataFrame:
    """One row for each configuration of a race, settings as columns."""
    return _frame(
        _with_params(
            {
                "standing": str(one.state),
                "why": one.why,
                "processes": one.processes,
                "first_block": one.first,
                "last_block": one.last,
                **{
                    key: value
                    for name in story.metrics
                    for key, value in _numbers(
                        name, one.row.metrics[name].estimate if one.row and name in one.row.metrics else None
                    ).items()
                },
            },
            one.settings,
        )
        for one in story.cells
    )


def bisection_frame(found: Bisected) -> pandas.DataFrame:
    """One row for each commit of the range, oldest first."""
    culprits = {each.revision for each in (*found.culprits, *(one for more in found.further for one in more.commits))}
    passed = {each.revision: each.why for each in found.passed}
    return _frame(
        {
            "revision": each.revision,
            "subject": each.subject,
            "author": each.author,
            "probability": each.probability,
            "culprit": each.revision in culprits,
            **_numbers("effect", each.effect),
            "passed": passed.get(each.revision),
            "case": found.case,
            "metric": found.metric,
        }
        for each in found.commits
    )


def _frame(lines: Iterable[Mapping[str, Scalar]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise NotInstalledError("pandas", "'benchwright[pandas]'") from None
    return pandas.DataFrame(list(lines))


def _numbers(name: str, estimate: Estimate | None, *, bare: bool = False) -> dict[str, Scalar]:
    """An estimate as three columns; `bare` where there is only one, as in the frame of a run."""
    ends = ("low", "high") if bare else (f"{name}_low", f"{name}_high")
    if estimate is None:
        return dict.fromkeys((name, *ends))
    return {name: estimate.point, ends[0]: estimate.low, ends[1]: estimate.high}


def _with_params(line: dict[str, Scalar], params: str | Mapping[str, Any]) -> dict[str, Scalar]:
    """The line with a column for each param; one that is called like a column of ours gets `param_` before it."""
    known = json_mapping(params) if isinstance(params, str) else params
    return {**line, **{(f"param_{name}" if name in line else name): value for name, value in known.items()}}


def _word(better: object) -> str | None:
    return str(better) if better else None
