"""What stands below the tests: a table for each group, the comparison, files that were asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from benchwright.analysis.rows import rows
from benchwright.exchange.exporters.pytest_benchmark import PytestBenchmarkJson, split_name, stats_of
from benchwright.pytest_plugin.options import ignored_options
from benchwright.records import Result, Run
from benchwright.report.statistics_table import show_statistics
from benchwright.report.table import emit, show_rows
from benchwright.store import find_place
from benchwright.system.masking import mask_url

if TYPE_CHECKING:
    from rich.console import Console

    from benchwright.pytest_plugin.suite import SuiteRun

ONE_PROCESS = (
    "Measured in the process of the tests, which is one round: --benchwright-isolated measures each test in fresh "
    "processes, and what is compared then tells small changes too"
)


def show_summary(suite: SuiteRun, file: TextIO) -> None:
    """Prints everything there is to say."""
    emit(file, lambda console: _show(console, suite))


def _show(console: Console, suite: SuiteRun) -> None:
    option = suite.config.option
    said = [*ignored_options(suite.config), *suite.notes]
    if suite.results and not option.benchmark_quiet:
        console.print()
        _show_tables(console, suite)
    if suite.verdict is not None:
        from benchwright.report.gate_text import show_gate

        console.print()
        if suite.verdict.gate is not None:
            show_gate(console, suite.verdict.gate)
        said.append(suite.verdict.note)
    for line in filter(None, said):
        console.print(f"benchwright: {line}", markup=False, overflow="fold")
    if suite.trouble:
        console.print(f"benchwright: {suite.trouble}", markup=False, style="red", overflow="fold")


def _show_tables(console: Console, suite: SuiteRun) -> None:
    from benchwright.report import footer

    option = suite.config.option
    shown = _with_names(_sorted(suite.run, option.benchmark_sort), option.benchmark_name)
    groups = group_results(shown, option.benchmark_group_by)
    for heading, part in groups:
        if heading:
            console.print(heading, style="bold", markup=False)
        if option.benchmark_columns:
            wanted = [word.strip() for word in option.benchmark_columns.split(",") if word.strip()]
            show_statistics(console, rows(part), wanted, unit=option.benchmark_time_unit)
        else:
            show_rows(console, rows(part))
        if len(groups) > 1:
            console.print()
    saved = find_place(suite.store_url) if suite.is_saved else ""
    named = option.benchwright_store or option.benchmark_storage
    flags = f"--store {shlex.quote(mask_url(named))}" if named else ""
    steps = footer.next_steps(suite.run, saved=saved, flags=flags) if saved else ""
    footer.show_footer(console, shown, rows(shown), steps, saved=bool(saved))
    if not option.benchwright_isolated:
        console.print(ONE_PROCESS, style="dim", markup=False, overflow="fold")
    if option.benchmark_verbose:
        for result in shown.results:
            console.print(_describe(result), markup=False, overflow="fold")


def group_results(run: Run, by: str) -> list[tuple[str, Run]]:
    """The run in parts of one group each, in order of appearance, with their headings; `by` may name several labels."""
    labels = [label.strip() for label in by.split(",") if label.strip()]
    groups: dict[str, list[Result]] = {}
    for result in run.results:
        words = [word for label in labels if (word := _group(result, label))]
        groups.setdefault(", ".join(words), []).append(result)
    return [(name, replace(run, results=tuple(results))) for name, results in groups.items()]


def _group(result: Result, label: str) -> str:
    case = result.case
    full = case.target.uri
    function, called = split_name(full)
    short = function.rpartition("::")[2]
    if label == "group":
        return case.tags[0] if case.tags else ""
    if label.startswith("param:"):
        name = label.removeprefix("param:")
        return f"{name}={case.params[name]}" if name in case.params else ""
    known: dict[str, Callable[[], str]] = {
        "name": lambda: short + called,
        "func": lambda: short,
        "fullfunc": lambda: function,
        "fullname": lambda: full,
        "param": lambda: ", ".join(f"{name}={value}" for name, value in case.params.items()),
    }
    return known[label]()


def _sorted(run: Run, column: str) -> Run:
    if not column:
        return run

    def place(result: Result) -> Any:
        if column in ("name", "fullname"):
            return (0, result.case.target.uri if column == "fullname" else _group(result, "name"))
        return (0, stats_of([result])[column]) if result.samples else (1, 0.0)

    return replace(run, results=tuple(sorted(run.results, key=place)))


def _with_names(run: Run, form: str) -> Run:
    """The run with the names that are shown: those of functions, unless two files have the same one."""
    if form == "long":
        return run
    names = {result.case.name for result in run.results}
    short = {name: name.rpartition("::")[2] for name in names}
    if len(set(short.values())) < len(names) and form != "short":
        return run
    named = (replace(one, case=replace(one.case, name=short[one.case.name])) for one in run.results)
    return replace(run, results=tuple(named))


def _describe(result: Result) -> str:
    told = result.instrument
    if not result.samples:
        return f"{result.case.name}: {result.status}"
    calls = sum(samples.calls for samples in result.samples)
    return (
        f"{result.case.name}: {calls} calls, {told.get('loops')} in a sample; {told.get('warmup_calls')} warm-up calls "
        f"({told.get('warmup_reason')}); {float(str(told.get('cost_taken_off_ns', 0))):.1f} ns a call taken off for "
        f"the loop; {told.get('verdict')}"
    )


def write_files(suite: SuiteRun) -> Iterator[str]:
    """Writes the files that were asked for; a line for each. An `OSError` where one cannot be written."""
    option = suite.config.option
    if not suite.results:
        return
    if option.benchmark_json:
        Path(option.benchmark_json).write_text(PytestBenchmarkJson().text(suite.run), encoding="utf-8")
        yield f"wrote {option.benchmark_json}"
    if option.benchmark_histogram:
        yield from (f"wrote {path}" for path in _write_pictures(suite, option.benchmark_histogram))


def _write_pictures(suite: SuiteRun, prefix: str) -> list[Path]:
    from benchwright.report.plots import distribution
    from benchwright.report.svg import drawing

    found = []
    shown = _with_names(suite.run, suite.config.option.benchmark_name)
    for heading, part in group_results(shown, suite.config.option.benchmark_group_by):
        if (plot := distribution(rows(part))) is None:
            continue
        name = "".join(sign if sign.isalnum() else "_" for sign in heading) or "all"
        path = Path(f"{prefix}-{name}.svg")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawing(plot, standalone=True), encoding="utf-8")
        found.append(path)
    return found
