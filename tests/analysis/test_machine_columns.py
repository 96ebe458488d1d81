"""A run of several machines: a column for each, wherever a run is shown, and one machine against another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright.analysis.machine_columns import machine_columns, part_of
from benchwright.analysis.rows import rows
from benchwright.cli import main
from benchwright.errors import OptionError
from benchwright.pages.names import names_of
from benchwright.pages.run_tables import _make
from benchwright.records import Environment, Run
from benchwright.report.html import html_page
from benchwright.report.markdown import run_markdown
from benchwright.report.table import run_text
from benchwright.store import open_store
from sample_runs import ENVIRONMENT, make_run


def on(machine: str) -> Environment:
    return replace(ENVIRONMENT, system={**ENVIRONMENT.system, "host": {"name": machine}})


@pytest.fixture(scope="module")
def run() -> Run:
    """Two machines that measured the same, the second 40 % slower, and a third one case alone."""
    first = make_run("r", environment=on("ssh:rack7"), calls=50)
    second = make_run("r", environment=on("ssh:rack8"), slower=1.4, seed=8, calls=50)
    third = make_run("r", environment=on("ssh:rack10"), seed=9, failing=False, calls=50)
    only = [one for one in third.results if one.case == third.results[0].case]
    results = [replace(one, id=f"r-{i}") for i, one in enumerate([*only, *second.results, *first.results])]
    return replace(first, results=tuple(results))


def test_a_case_is_a_line_and_a_machine_a_column(run: Run) -> None:
    found = machine_columns(rows(run))
    assert found is not None
    assert found.machines == ("ssh:rack7", "ssh:rack8", "ssh:rack10")
    assert [line.metric for line in found.lines] == ["latency_p50"] * 4 + [""]
    first, second, third = found.lines[0].metrics
    assert first and second and third
    assert second.estimate.point / first.estimate.point == pytest.approx(1.4, rel=0.1)
    assert found.lines[1].metrics[2] is None
    assert "host" not in found.lines[0].case


def test_one_machine_is_no_column() -> None:
    assert machine_columns(rows(make_run(calls=50))) is None


def test_every_view_of_a_run_has_the_columns(run: Run) -> None:
    text = run_text(run)
    head = next(line for line in text.splitlines() if "ssh:rack7" in line)
    assert head.split() == ["case", "metric", "ssh:rack7", "ssh:rack8", "ssh:rack10"]
    assert "ssh:rack8  " in run_text(run, width=40)  # too narrow for a table
    assert "| case | metric | ssh:rack7 | ssh:rack8 | ssh:rack10 |" in run_markdown(run)
    page = html_page([run])
    assert "By machine" in page and page.count(">ssh:rack7<") >= 1
    table = _make(run).by_machine
    assert table is not None and [name for _, name in table.machines] == ["ssh:rack7", "ssh:rack8", "ssh:rack10"]
    assert len({key for key, _ in table.machines}) == 3
    assert table.cases[1].cells[2] is None and table.cases[-1].cells[0] is not None
    assert table.cases[-1].cells[0].status == "failed"


def test_equal_machines_are_told_apart_by_the_names_that_they_were_reached_by() -> None:
    names = names_of({machine: on(machine) for machine in ("ssh:rack7", "ssh:rack8")})
    assert all(name.endswith(f", {machine}") for machine, name in names.items())


def test_a_part_is_what_one_machine_measured(run: Run) -> None:
    part = part_of(run, "rack8")
    assert part.id == "r on ssh:rack8" and {row.machine for row in rows(part)} == {""}
    with pytest.raises(OptionError, match="'rack9' is no machine of run r"):
        part_of(run, "rack9")


def test_machines_of_a_run_are_compared(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("store.db")
    store.add_run(run)
    store.close()
    monkeypatch.setenv("BENCHWRIGHT_STORE", "store.db")

    assert main(["compare", "machine:rack7", "machine:rack8", "--json"]) == 1  # 40 % slower
    told = json.loads(capsys.readouterr().out)["data"]
    assert (told["before"], told["after"]) == ("r on ssh:rack7", "r on ssh:rack8")
    assert {metric["verdict"] for case in told["cases"] for metric in case["metrics"]} & {"worse"}

    assert main(["compare", "r", "machine:ssh:rack8", "machine:rack7", "machine:rack10", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    assert [side["after"] for side in told["sides"]] == ["r on ssh:rack7", "r on ssh:rack10"]

    for words in (["r", "machine:rack7"], ["r", "machine:rack7", "last"], ["machine:rack7", "machine:rack9"]):
        assert main(["compare", *words]) == 2
    assert "machine" in capsys.readouterr().err
