"""Races of real processes from Python: the winner, faults, several machines, two goals, going on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import benchwright as bw
from benchwright import schema
from benchwright.analysis.races import CellState, RaceStory, tell_race
from benchwright.errors import OptionError
from benchwright.events import Event, Raced
from benchwright.execution.outposts.here import HereHost
from benchwright.execution.session import Plan
from benchwright.records import Load, Status
from benchwright.records.prices import Market, Price
from benchwright.store import open_store
from benchwright.targets.sources import Request
from benchwright.workflows.tune.goals import RaceRequest
from benchwright.workflows.tune.run import race

FAKE = "fake:constant?clock=virtual"
SHORT = Load(samples=5, warmup=0.0)
FAULTY = """
import os, time

def bench(kind):
    time.sleep(0.001 if kind == "good" else 0.02)
    if kind == "raises":
        raise LookupError("no such thing")
    if kind == "exits":
        os._exit(3)
    if kind == "hangs":
        time.sleep(60)
    if kind == "eats":
        hold = bytearray(1 << 42)
"""

TRAINING = """
[tasks.train]
command = ["python", "train.py", "{lr}"]
patterns = ['accuracy (?P<accuracy>\\S+)']

[tasks.train.parameters]
lr = [1, 2]

[tasks.train.metrics]
accuracy = { compute = "last", better = "higher" }

[tasks.train.goals]
good = { when = "accuracy >= 0.8" }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _kept(run: str) -> RaceStory:
    with closing(open_store(".benchwright/results.db")) as store:
        story = tell_race(store.run(run))
    assert story is not None
    return story


def test_the_best_wins_and_everything_is_kept() -> None:
    heard: list[Event] = []
    found = bw.tune(
        FAKE,
        batch_size="1..4",
        options={"latency": ["1ms", "2ms"]},
        load=SHORT,
        objective="p99<5ms",
        listener=heard.append,
    )
    assert found.ok and found.winner is not None
    assert found.winner.settings == {"batch_size": 4, "latency": "1ms"}
    assert found.probability > 0.98
    assert found.command[-4:] == ("--batch-size", "4", "--option", "latency=1ms")
    kept = _kept(found.run.id)
    assert kept.standing == found.story.standing  # the record alone tells the same story
    assert [one.state for one in kept.cells].count(CellState.LEFT) == len(kept.cells) - 1
    assert all(one.why for one in kept.cells if one.state is CellState.LEFT)
    assert len({(schema.fingerprint(r.case), r.round) for r in found.run.results}) == len(found.run.results)
    told = [event for event in heard if isinstance(event, Raced)]
    assert "batch_size=4 latency=1ms" in told[-1].leader and told[-1].left == len(kept.cells) - 1


def test_it_prints_shows_in_a_notebook_and_makes_a_data_frame() -> None:
    found = bw.tune(FAKE, batch_size=[1, 2], load=SHORT, save=False)
    assert "Winner: batch_size=2" in str(found) and "Again: benchwright run" in str(found)
    assert "<table>" in found._repr_html_() and "Winner" in found._repr_html_()
    frame = found.to_pandas()
    assert list(frame["batch_size"]) == [1, 2] and list(frame["standing"]) == ["left", "leads"]
    assert frame["throughput"][1] == pytest.approx(2000)
    assert repr(found) == f"<TunedRace {found.run.id}: 2 configurations, {len(found.run.results)} results>"
    assert len(repr(found.winner)) < 1000  # a notebook shows it: not every call of every process


def test_two_goals_give_a_front_and_no_sum() -> None:
    found = bw.tune(
        FAKE,
        batch_size=[1, 4],
        options={"latency": ["1ms", "2ms", "8ms"]},
        load=SHORT,
        maximize="throughput",
        minimize="latency_p99",
        save=False,
    )
    front = {one.label for one in found.front}
    assert "batch_size=4 latency=1ms" in front  # the highest throughput, and no latency is below its own
    assert not any("8ms" in label for label in front)
    assert "On the front" in str(found)


def test_what_crashes_or_hangs_leaves_with_its_reason_and_stops_nothing(folder: Path) -> None:
    (folder / "faulty.py").write_text(FAULTY, encoding="utf-8")
    found = bw.tune(
        "faulty.py::bench",
        params={"kind": ["good", "slow", "raises", "exits", "hangs", "eats"]},
        load=Load(samples=3, warmup=0.0, timeout=4.0, loops=1),
        minimize="latency_p50",
    )
    assert found.winner is not None and found.winner.settings == {"kind": "good"}
    why = {str(one.settings["kind"]): one.why for one in found.story.cells}
    assert "no such thing" in why["raises"]
    assert "no answer within 4 s" in why["hangs"]
    assert "MemoryError" in why["eats"] or "memory" in why["eats"].lower()
    assert why["exits"] and "worse" in why["slow"] and why["good"] == ""
    statuses = {r.case.params["kind"]: r.status for r in found.run.results}
    assert statuses["hangs"] is Status.TIMEOUT and statuses["raises"] is Status.FAILED


def test_without_a_feasible_case_it_says_which_objective_and_how_far_the_nearest_is() -> None:
    found = bw.tune(FAKE, batch_size=[1, 2], options={"latency": ["2ms", "4ms"]}, load=SHORT, objective="p99<1ms")
    assert not found.ok and found.winner is None and found.command == ()
    text = str(found)
    assert "No configuration keeps every objective" in text
    assert "latency_p99 < 1.00 ms rules out 4 of 4" in text and "latency=2ms with 2.00 ms, 2 times the bound" in text
    with pytest.raises(OptionError, match="no winner to export"):
        found.export("config.toml")


def test_a_training_that_does_not_get_there_leaves_a_race_for_the_time_to_its_goal(folder: Path) -> None:
    (folder / "train.py").write_text("import sys; print('accuracy', 0.4 * float(sys.argv[1]))\n", encoding="utf-8")
    (folder / "tasks.toml").write_text(TRAINING, encoding="utf-8")
    found = bw.tune("tasks.toml::train", params={"lr": [1, 2]}, minimize="time_to_good", save=False, seed=1)
    assert found.winner is not None and found.winner.settings == {"lr": 2}
    assert [one.why for one in found.story.cells] == ["accuracy >= 0.8 was not reached", ""]
    assert "reached_good" in {metric.name for metric in found.run.results[0].metrics}


def test_one_configuration_needs_no_race() -> None:
    found = bw.tune(FAKE, load=SHORT, save=False)
    assert found.winner is not None and found.winner.label == "the only one"
    assert "nothing to choose" in str(found)


def test_a_budget_that_is_too_small_says_what_was_given_up() -> None:
    slow, load = "fake:constant?latency=300ms&wait=sleep", Load(samples=4, warmup=0.0)
    found = bw.tune(slow, batch_size="1..64", load=load, budget=1.0)
    assert found.is_out_of_time
    assert 1 <= len(found.run.results) < 7
    text = str(found)
    assert "Given up: the time was over" in text and "never measured" in text
    said = ("by one process of each: how sure that is nobody can say", "the only configuration measured so far")
    assert any(one in text for one in said) and found.probability == 0.0
    again = bw.tune(slow, batch_size="1..64", load=load, budget=2.0, resume=found.run.id)
    assert again.run.id == found.run.id
    assert [r.id for r in again.run.results][: len(found.run.results)] == [r.id for r in found.run.results]


def test_a_race_of_another_question_is_not_gone_on_with() -> None:
    found = bw.tune(FAKE, batch_size=[1, 2], load=SHORT)
    with pytest.raises(OptionError, match="was a race of another question"):
        bw.tune(FAKE, batch_size=[1, 4], load=SHORT, resume=found.run.id)
    plain = bw.run(FAKE, load=SHORT, rounds=1)
    with pytest.raises(OptionError, match="was no race"):
        bw.tune(FAKE, batch_size=[1, 4], load=SHORT, resume=plain.record.id)
    done = bw.tune(FAKE, batch_size=[1, 2], load=SHORT, resume=found.run.id)
    assert done.run.results == found.run.results  # it was over


class NamedHost(HereHost):
    """This machine under another name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    @property
    def system(self) -> dict[str, object]:  # type: ignore[override]
        return {"host": {"name": self.name}}


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[NamedHost]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = [NamedHost("ssh:a"), NamedHost("ssh:b")]
    yield made
    for one in made:
        one.close()


@pytest.mark.soak
def test_machines_are_a_dimension_and_their_prices_decide(hosts: list[NamedHost]) -> None:
    prices = {
        name: Price(provider="own", shape=name, amount=amount, market=Market.OWN)
        for name, amount in (("ssh:a", 1.0), ("ssh:b", 3.0))
    }
    found = race(
        Request(targets=[FAKE], batch_sizes=[1, 2], load=SHORT, elsewhere=True),
        {},
        RaceRequest(minimize=["cost_per_million"]),
        Plan(hosts=hosts, prices=prices),
    )
    assert found.winner is not None and found.winner.settings == {"host": "ssh:a", "batch_size": 2}
    assert found.command[-4:] == ("--host", "ssh:a", "--batch-size", "2")
    kept = _kept(found.run.id)
    assert kept.standing == found.story.standing
    assert {one.row.machine for one in kept.cells if one.row} == {"ssh:a", "ssh:b"}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"maximize": "thruput"}, "has no metric 'thruput'"),
        ({"minimize": "throughput"}, "higher is better"),
        ({"maximize": "p99"}, "lower is better"),
        ({"maximize": ["throughput", "throughput"]}, "a goal twice"),
        ({"minimize": "cost_per_million"}, "where the machine has a price"),
        ({"objective": "nothing<3"}, "has no metric 'nothing'"),
        ({"within": "0.02"}, "may mean"),
        ({"confidence": 1.5}, "not above 50 %"),
        ({"budget": "10 apples"}, "--budget"),
        ({"budget": 0.1}, "no time for a race"),
        ({"rounds": 0}, "below 1"),
    ],
)
def test_a_wrong_wish_is_refused(asked: dict[str, object], why: str) -> None:
    with pytest.raises(OptionError, match=why):
        bw.tune(FAKE, batch_size=[1, 2], load=SHORT, **asked)  # type: ignore[arg-type]
