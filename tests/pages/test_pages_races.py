"""A race on the page of its run: its answer, its cells, and the mark that lists have of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import sample_project
import sample_race
from benchwright.analysis.races import tell_race
from benchwright.pages.overview import overview
from benchwright.pages.races import race_view
from benchwright.pages.runs import run_view, runs_page
from benchwright.records import Run, Status
from benchwright.records.races import SPENT, RaceAxis, RaceGoal, RaceTerms
from benchwright.report.race_text import answer_lines, command_lines
from benchwright.store.sql import SqlStore

Keep = Callable[[Sequence[Run]], SqlStore]


@pytest.fixture(scope="module")
def race() -> Run:
    """A race that was decided."""
    return sample_race.race_run()


def test_the_page_of_a_run_says_what_the_terminal_says(kept: Keep, race: Run) -> None:
    view = run_view(kept([race]), race.id).race
    story = tell_race(race)
    assert view is not None and story is not None
    told = "\n".join(answer_lines(story))
    cells = {cell.number: cell for cell in view.cells}
    assert view.winner is not None and f"Winner: {cells[view.winner].label}:" in told
    assert view.surety in told and "with probability" in view.surety
    assert view.alike and all(cells[number].label in told for number in view.alike)
    assert not view.unsettled and not view.no_winner and not view.front
    words = cells[view.winner].command
    assert [*words[:2], words[2]] == ["benchwright", "run", sample_race.MODEL]
    assert command_lines(story)[0].endswith(" ".join(words[5:]))


def test_every_measured_cell_has_its_settings_values_time_and_reason(race: Run) -> None:
    view = race_view(race)
    assert view is not None
    assert {cell.number for cell in view.cells} == {result.details["race_cell"] for result in race.results}
    assert [metric.name for metric in view.metrics][:2] == ["throughput", "latency_p99"]
    first = view.cells[0]
    assert first.number == view.winner and first.settings.keys() == set(view.axes)
    assert first.values["throughput"].low is not None and first.processes > 1 and first.last < view.blocks
    assert not view.unmeasured
    assert sum(cell.processes for cell in view.cells) == len(race.results)
    failed = [cell for cell in view.cells if cell.reason == "failed"]
    assert failed and all(not cell.values and "out of memory" in cell.why for cell in failed)
    broken = [cell for cell in view.cells if cell.breaches]
    assert all(cell.values["latency_p99"].point >= 0.05 for cell in broken)
    assert {cell.breaches[0].objective for cell in broken} == {"latency_p99 < 50.0 ms"}
    assert all(cell.breaches[0].is_sure for cell in broken if cell.reason == "bound")


def test_two_goals_have_a_front_and_no_winner() -> None:
    goals = RaceGoal(metric="throughput", higher=True), RaceGoal(metric="latency_p99", higher=False)
    view = race_view(sample_race.race_run(sample_race.race_terms(goals=goals)))
    assert view is not None and view.winner is None and not view.surety and not view.alike
    assert len(view.front) > 2 and {cell.state for cell in view.cells if cell.number in view.front} == {"front"}


def test_without_a_feasible_cell_it_says_what_rules_them_out() -> None:
    terms = sample_race.race_terms()
    view = race_view(sample_race.race_run(replace(terms, bounds=(replace(terms.bounds[0], limit=1e-6),))))
    assert view is not None and view.winner is None
    assert view.no_winner[0] == "No configuration keeps every objective:" and "the nearest is" in view.no_winner[1]


def test_a_race_that_stopped_says_what_it_leaves_open() -> None:
    view = race_view(sample_race.race_run(most=6))
    assert view is not None and len(view.cells) == 6
    assert view.unsettled.startswith("Not decided: it was stopped, or it goes on; ")
    assert "21 configurations never measured" in view.unsettled
    assert view.unmeasured == [
        "1 not promising by what was measured around it",
        "21 not reached",
    ]


@pytest.mark.parametrize(("budget", "said"), [(10.0, "Given up: the time was over; "), (60.0, "Not decided: ")])
def test_whether_the_time_was_over_follows_from_when_its_processes_ended(budget: float, said: str) -> None:
    run = sample_race.race_run(replace(sample_race.race_terms(), budget=budget), most=6)
    # Each process begins 1.6 s after the one before and takes 1.4 s: the last ends after 9.4 s, judging takes 0.2 s.
    spent = [replace(one, details={**one.details, SPENT: 1.6 * i}) for i, one in enumerate(run.results)]
    view = race_view(replace(run, results=tuple(spent)))
    assert view is not None
    assert view.unsettled.startswith("Not decided: ")  # 9.6 s of either budget
    later = [replace(one, details={**one.details, SPENT: 1.6 * i + 0.5}) for i, one in enumerate(run.results)]
    view = race_view(replace(run, results=tuple(later)))
    assert view is not None and view.unsettled.startswith(said)


def test_what_fails_in_a_race_is_not_shown_as_failing(kept: Keep, race: Run) -> None:
    archive = kept([race])
    assert any(result.status is not Status.OK for result in race.results)
    assert overview(archive).failing == []


def test_lists_tell_a_race_from_other_runs(kept: Keep, race: Run) -> None:
    other = sample_project.run(0)
    archive = kept([race, other])
    assert {line.id: line.is_race for line in runs_page(archive).runs} == {race.id: True, other.id: False}
    assert run_view(archive, other.id).race is None
    assert run_view(archive, race.id, after=5).race is None, "the first page has it"


@pytest.mark.parametrize(
    "terms",
    [
        RaceTerms(
            axes=tuple(RaceAxis(name=str(i), values=tuple(range(99))) for i in range(9)),
            goals=(RaceGoal(metric="throughput", higher=True),),
        ),
        replace(sample_race.race_terms(), places=((9, 9, 9),)),
        replace(sample_race.race_terms(), places=((0,),)),
        replace(sample_race.race_terms(), goals=()),
        replace(sample_race.race_terms(), axes=(RaceAxis(name="a", values=()),)),
    ],
)
def test_a_question_that_no_race_can_answer_costs_nothing_but_the_race(kept: Keep, race: Run, terms: RaceTerms) -> None:
    archive = kept([replace(race, race=terms)])
    view = run_view(archive, race.id)
    assert view.race is None and view.case_count > 0
