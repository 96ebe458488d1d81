"""`benchwright report`: runs as one HTML file that opens from disk, loads nothing and runs no code but its own."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from benchwright import schema
from benchwright.analysis import instrument_facts, notes
from benchwright.analysis.goals import training_lines
from benchwright.analysis.leases import describe_leases
from benchwright.analysis.machine_columns import describe_instances, instance_columns, machine_columns
from benchwright.analysis.operators import recorded_operators
from benchwright.analysis.price_changes import describe_bases, price_bases
from benchwright.analysis.request_failures import describe_requests
from benchwright.analysis.rows import Row, rows
from benchwright.analysis.scaling import advice, cautions
from benchwright.analysis.speedup import speedup_advice
from benchwright.machine.environment.page import sections
from benchwright.records import Environment, Run
from benchwright.report import answers
from benchwright.report.code_text import range_html, revision_html
from benchwright.report.destination import SIGNATURE, write_target
from benchwright.report.destination import check_target as check_target
from benchwright.report.machine_table import machines_html
from benchwright.report.markup import (
    EVERY_METRIC,
    comparison_table,
    escape,
    facts_line,
    metric_table,
    pairs,
    results_table,
    tag,
)
from benchwright.report.operator_text import describe_operators
from benchwright.report.plots import BINS, LEVELS, case_plots, overview_plots
from benchwright.report.svg import Plot, colour, drawing
from benchwright.report.timeplots import SLOTS
from benchwright.units import format_value
from benchwright.units.numbers import instant
from benchwright.vcs.forges import Projects

LINES_AT_FIRST = 8  # more lines than colours cannot be told apart; the others wait behind their keys
VALUES_SHOWN = 3
INSTRUMENT = "Measurement overhead and noise"
OPERATORS = 10
CASES_DRAWN = 40  # with plots of their own; keeps the file small enough to mail


def write_html(
    runs: Sequence[Run], path: Path, *, force: bool = False, flag: str = "-o", projects: Projects | None = None
) -> Path:
    """Writes a report of the runs, the first being the baseline of the others, where `check_target` allows it.

    Errors name `flag`, by which the verb was told the path. `projects` say where commits can be looked at.
    """
    check_target(path, force, flag=flag)
    write_target(path, html_page(runs, projects), flag=flag)
    return path


def html_page(runs: Sequence[Run], projects: Projects | None = None) -> str:
    """The report as one text. Commits lead to the forge that their runs name, or that `projects` configure."""
    code = projects or Projects()
    style, script = _asset("plot.css") + _asset("page.css"), _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    # Even if a name slipped through the escaping, the browser would run nothing but our own script and load nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    body = "".join(_run(run, i, code) for i, run in enumerate(runs))
    if len(runs) > 1:
        body = _comparisons(runs, code) + body
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{SIGNATURE}\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(_title(runs))}</title>\n<style>\n{style}</style></head>\n<body>\n<main>{body}</main>\n{_footer()}"
        f'<div id="tip" role="status"></div>\n<script>{script}</script></body></html>\n'
    )


def _asset(name: str) -> str:
    return (files("benchwright.report") / "page" / name).read_text(encoding="utf-8")


def _title(runs: Sequence[Run]) -> str:
    names = list(dict.fromkeys(result.case.name for run in runs for result in run.results))
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return f"{', '.join(names[:2])}{more}" if names else "Nothing was measured"


# ---- one run ----


def _run(run: Run, number: int, projects: Projects) -> str:
    table = rows(run)
    parts = [_head(run, projects), _race(run, number), tag("h2", "Results")]
    if by_machine := machine_columns(table):
        parts.append(machines_html(by_machine))
    parts += map(machines_html, instance_columns(table))
    parts += [results_table(table), _objectives(table), _training(table), _notes(run, table)]
    if plots := overview_plots(table):
        keys = _keys(table) if len(table) > 1 else ""
        parts += [_folding("Plots"), keys, tag("div", _figures(plots, f"r{number}-"), class_="plots overview")]
    if chosen := advice(table):
        said = [tag("p", escape(doubted), class_="note bad") for doubted in cautions(table)]
        said += [tag("p", escape(str(one)), class_="note") for one in chosen]
        parts += [_folding("Recommendations"), *said]
    if said := speedup_advice(table):
        parts += [_folding("Processes"), *(tag("p", escape(line), class_="note") for line in said)]
    # At first sight: the results, what to know of them, the plots. The rest is one click away.
    parts += [_folding("Cases"), *(_case(row, i, number, is_open=len(table) == 1) for i, row in enumerate(table))]
    parts += [_folding("Environment"), _environments(run)]
    return tag("section", "".join(parts), data_run=str(number))


def _race(run: Run, number: int) -> str:
    """Of a run that was a race: the answer, the front, and who was in it for how long."""
    if run.race is None:
        return ""
    from benchwright.analysis.races import tell_race
    from benchwright.report.race_html import race_section

    story = tell_race(run)
    assert story is not None
    words, plots = race_section(story)
    drawn = tag("div", _figures(plots, f"r{number}-race-"), class_="plots overview") if plots else ""
    return tag("h2", "Race") + words + drawn


def _folding(title: str) -> str:
    """The heading of a part that a phone folds at first."""
    return tag("h2", title, data_fold="")


def _head(run: Run, projects: Projects) -> str:
    known = [
        ("Run", run.id),
        ("Started", instant(run.started_at)),
        ("benchwright", run.harness),
        ("Reason", run.reason),
    ]
    revision = revision_html(run, projects)
    known += [("Revision", "")] if revision else []
    known += [("Tags", ", ".join(run.tags)), ("Baseline", run.baseline)]
    stated = notes.describe_instrument(run.results)
    command = shlex.join(run.command)
    again = tag("pre", tag("code", escape(command))) + '<button type="button" data-copy hidden>Copy</button>'
    return "".join(
        [
            tag("h1", escape(_title([run]))),
            facts_line([(name, value) for name, value in known if value or name == "Revision"], {"Revision": revision}),
            tag("div", again, class_="command", aria_label="Command to reproduce this run") if command else "",
            tag("p", escape(missing), class_="note bad") if (missing := notes.describe_missing_results(run)) else "",
            tag("p", tag("b", "Instrument: ") + escape(stated), class_=f"note {_mood(stated)}") if stated else "",
        ]
    )


def _mood(stated: str) -> str:
    return "good" if stated.startswith("trustworthy") else "bad" if stated.startswith(("unreliable", "invalid")) else ""


def _objectives(table: Sequence[Row]) -> str:
    """Every objective as it was read, with its verdict, met or not."""
    return "".join(
        tag("p", tag("b", "Objective ") + escape(str(kept)), class_=f"note {'good' if kept.met else 'bad'}")
        for kept in notes.objectives(table)
    )


def _training(table: Sequence[Row]) -> str:
    return "".join(tag("p", escape(said), class_="note") for said in training_lines(table))


def _notes(run: Run, table: Sequence[Row]) -> str:
    parts = []
    for noted in notes.warnings(table):
        times = f" ×{noted.count}" if noted.count > 1 else ""
        words = tag("p", tag("b", escape(noted.code), class_="warned") + escape(f"{times}: {noted.text}"))
        words += tag("p", escape(noted.remedy)) + tag("p", escape(f"In {_cases(noted, len(table))}"), class_="soft")
        parts.append(tag("div", words, class_="note"))
    for failed in notes.failures(table):
        reason = notes.describe_failure(failed)
        words = tag("p", tag("b", escape(failed.case)) + " " + tag("span", escape(reason), class_="failed"))
        words += tag("p", escape(failed.failure.remedy)) if failed.failure.remedy else ""
        words += tag("pre", escape(failed.failure.log_tail)) if failed.failure.log_tail else ""
        parts.append(tag("div", words, class_="note bad"))
    said = filter(None, (notes.describe_means(table), describe_bases(table)))
    parts += [tag("p", escape(one), class_="note") for one in said]
    if asked := describe_requests(table):
        listed = tag("ul", "".join(tag("li", escape(one.strip())) for one in asked[1:])) if asked[1:] else ""
        parts.append(tag("div", tag("p", escape(asked[0])) + listed, class_="note bad" if listed else "note"))
    parts += [tag("p", escape(f"Rate of {said}"), class_="note") for said in notes.rates(table)]
    parts += [tag("p", escape(said), class_="note") for said in describe_instances(table)]
    if leased := describe_leases(run.results):
        listed = "".join(tag("li", escape(one.strip())) for one in leased[1:])
        parts.append(tag("div", tag("p", escape(leased[0])) + tag("ul", listed), class_="note"))
    return tag("h2", "Warnings and notes") + "".join(parts) if parts else ""


def _cases(noted: notes.WarningKind, total: int) -> str:
    return "all cases" if len(noted.cases) == total > 1 else ", ".join(noted.cases)


def _keys(table: Sequence[Row]) -> str:
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-key="{i}"><span class="swatch {colour(i)}"></span>'
        f"{escape(row.short)}</button>"
        for i, row in enumerate(table)
        if row.ok
    )
    ends = '<button type="button" data-all>All</button><button type="button" data-none>None</button>'
    start = f'<div class="keys" role="group" aria-label="Cases to show" data-most="{LINES_AT_FIRST}" hidden>'
    return f"{start}{buttons}{ends}</div>"


def _figures(plots: Sequence[Plot], prefix: str) -> str:
    return "".join(
        tag(
            "figure",
            tag("h3", escape(plot.heading or plot.title))
            + tag("div", drawing(plot, prefix=prefix), class_="scroll")
            + tag("figcaption", escape(plot.description)),
        )
        for plot in plots
    )


def _case(row: Row, index: int, number: int, *, is_open: bool) -> str:
    said = tag("span", escape(f" · {row.status}, {row.rounds} round{'s' * (row.rounds > 1)}"), class_="soft")
    parts = []
    if index >= CASES_DRAWN:
        words = (
            f"Plots over time are drawn for the first {CASES_DRAWN} cases; `benchwright report --svg DIR` draws all."
        )
        parts.append(tag("p", escape(words), class_="soft"))
    elif plots := case_plots(row, index):
        parts.append(tag("div", _figures(plots, f"r{number}-"), class_="plots"))
    if bases := price_bases(row.ok):
        parts.append(tag("p", escape(f"Cost by the price of {'; '.join(bases)}"), class_="soft"))
    if compared := answers.cells(row):
        parts.append(pairs("Outputs compared with expected values", compared, answers.HEADS))
    parts += [_operators(row), _details(EVERY_METRIC, metric_table(row))]
    parts += [_files(row), _details(INSTRUMENT, _instrument(row))]
    return _details(row.short, "".join(parts), said, is_open=is_open)


def _details(title: str, inside: str, more: str = "", *, is_open: bool = False) -> str:
    """A part of the page that opens with a click; "" where there is nothing inside."""
    opened = " open" if is_open else ""
    words = f"<summary>{escape(title)}{more}</summary>"
    return f'<details{opened}>{words}<div class="inside">{inside}</div></details>' if inside else ""


def _operators(row: Row) -> str:
    found = recorded_operators(row)
    if found is None:
        return ""
    lines = {
        f"{o.name} ({o.kind}) {o.shapes}".rstrip(): [
            format_value(o.seconds, "s"),
            f"{100 * o.share:.1f} %",
            f"{o.calls:g}",
        ]
        for o in found.operators[:OPERATORS]
    }
    said = tag("p", escape("; ".join(describe_operators(found))), class_="soft")
    return pairs(f"The {len(lines)} slowest operators", lines, ["time", "share", "executions per call"]) + said


def _files(row: Row) -> str:
    """The files each round left behind: what they are and where they lie."""
    lines = {
        f"{kept.name} (round {result.round + 1})": [kept.kind, format_value(kept.size, "B"), kept.path]
        for result in row.results
        for kept in result.artifacts
    }
    return pairs("Files", lines, ["kind", "size", "path"]) if lines else ""


def _instrument(row: Row) -> str:
    stated = [r for r in row.results if r.instrument]
    if not stated:
        return ""
    names = list(dict.fromkeys(name for r in stated for name in r.instrument))
    lines = {
        instrument_facts.name_fact(name): [
            instrument_facts.describe_value(name, r.instrument[name]) if name in r.instrument else "" for r in stated
        ]
        for name in names
    }
    return pairs(INSTRUMENT, lines, [f"round {r.round + 1}" for r in stated])


def _environments(run: Run) -> str:
    """Each machine once; a fact that changed between its results shows several values."""
    machines: dict[str, list[Environment]] = {}
    for result in run.results:
        machines.setdefault(schema.environment_key(result.environment), []).append(result.environment)
    return "".join(_machine(states) for states in machines.values())


def _machine(states: Sequence[Environment]) -> str:
    known_of: dict[str, dict[str, list[str]]] = {}
    for section in (section for state in states for section in sections(state)):
        for label, words in section.lines:
            known = known_of.setdefault(section.title, {}).setdefault(label, [])
            known += [words] if words not in known else []
    packages = known_of.pop("Packages", {})
    blocks = [
        tag("div", pairs(title, {label: [_list_values(values)] for label, values in lines.items()}))
        for title, lines in known_of.items()
    ]
    listed = facts_line([(name, _list_values(versions)) for name, versions in sorted(packages.items())])
    inside = tag("div", "".join(blocks), class_="columns") + (_details("Packages", listed) if packages else "")
    return _details(_machine_name(states[0]), inside)


def _machine_name(environment: Environment) -> str:
    """The processor and the system in a few words."""
    told = {"": environment.machine.get("cpu"), " ": environment.system.get("os")}
    told["Python "] = environment.system.get("python")
    known = [f"{lead}{word}".strip() for lead, word in told.items() if isinstance(word, str) and word]
    return " · ".join(word for word in known if "unavailable" not in word) or "Machine and system"


def _list_values(values: Sequence[str]) -> str:
    more = f" / {len(values) - VALUES_SHOWN} more" if len(values) > VALUES_SHOWN else ""
    return " / ".join(values[:VALUES_SHOWN]) + more


def _comparisons(runs: Sequence[Run], projects: Projects) -> str:
    from benchwright.analysis.comparison import SMALLEST, compare_runs, notes_of
    from benchwright.report.comparison_text import rules, summary

    parts, all_compared = [tag("h1", "Comparison")], []
    for run in runs[1:]:
        compared = compare_runs(runs[0], run)
        all_compared += compared
        parts += [
            tag("h2", escape(f"{_label_run(run)} against {_label_run(runs[0])}: {summary(compared)}")),
            range_html(runs[0], run, projects),
            *(tag("p", escape(note), class_="note") for note in notes_of(compared)),
            comparison_table(compared),
        ]
    return tag("section", "".join(parts) + tag("p", escape(rules(SMALLEST, all_compared)), class_="soft"))


def _label_run(run: Run) -> str:
    return f"{run.id} ({', '.join(run.tags)})" if run.tags else run.id


def _footer() -> str:
    words = (
        f"Drawn from every recorded call. Distributions are counted into {BINS} bins; percentile lines pass through "
        f"{LEVELS} levels up to the longest call; plots over time cut time into at most {SLOTS} slots and keep of each "
        "the smallest, middle and largest value, so no spike is lost. This file loads nothing from anywhere."
    )
    return tag("footer", tag("p", words), class_="page")
