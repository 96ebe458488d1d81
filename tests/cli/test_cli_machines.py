"""`benchwright machines`: listed, shown, put into quarantine and released, here and over HTTP; and by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import series_of_runs as made
from benchwright import schema
from benchwright.cli import main
from benchwright.records import Estimate, Load, Run
from benchwright.server.settings import ServerSettings
from benchwright.store import open_store
from benchwright.store.sql import SqlStore
from page_server import serving

KEY = schema.environment_key(made.ENVIRONMENT)
NAME = "Example 9000, 2 cores"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Thirty quiet runs."""
    path = tmp_path / "results.db"
    with closing(open_store(path)) as store:
        made.fill(store, made.levels((0.010, 30)))
    return path


@pytest.fixture
def call(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., str]:
    """`call("machines", "list", code=2)`: the command line on `results`; what it printed."""
    monkeypatch.setenv("BENCHWRIGHT_STORE", str(results))
    monkeypatch.setenv("BENCHWRIGHT_USER", "ada")
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0) -> str:
        assert main(list(words)) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return run


def _noisy(i: int) -> Run:
    run = made.run_of(i, 0.010)

    def wide(estimate: Estimate) -> Estimate:
        return replace(estimate, low=estimate.point * 0.8, high=estimate.point * 1.2)

    return replace(
        run,
        results=tuple(
            replace(r, metrics=tuple(replace(m, estimate=wide(m.estimate)) for m in r.metrics)) for r in run.results
        ),
    )


def _life(call: Callable[..., str], *more: str) -> None:
    assert call("machines", "list", *more).startswith(f"{KEY[:12]}  {NAME}  60 results  noise ± ")
    shown = call("machines", "show", KEY[:8], *more)
    assert "Noise (%, usual up to 2 %): 0." in shown and "quarantine" not in shown
    held = call(
        "machines", "quarantine", NAME, "--reason", "fan broken", "--from", "2026-03-02", "--until", "30d", *more
    )
    assert held.startswith(f"{NAME}: in quarantine since 2026-03-02 00:00:00 UTC until 20")
    assert "  in quarantine since 2026-03-02 00:00:00 UTC until" in call("machines", "list", *more)
    again = call("machines", "quarantine", KEY[:8], "--reason", "again", *more, code=2)
    assert "is in quarantine since 2026-03-02 00:00:00 UTC: fan broken" in again and "release it first" in again
    listed = json.loads(call("machines", "list", "--json", *more))["data"]
    assert listed[0]["quarantine"]["reason"] == "fan broken"
    assert call("machines", "release", KEY[:8], *more) == f"{NAME}: released; its results are judged again\n"
    assert call("machines", "release", KEY[:8], *more) == f"{NAME}: was not in quarantine\n"
    one = json.loads(call("machines", "show", KEY, "--json", *more))["data"]
    assert one["line"]["quarantine"] is None and one["quarantines"][0]["released_by"] == "ada"


def test_a_machine_in_a_file(call: Callable[..., str]) -> None:
    _life(call)


def test_a_machine_behind_a_server(call: Callable[..., str], results: Path) -> None:
    server = serving(ServerSettings(store_url=f"sqlite:///{results}", artifacts=results.parent))
    address = next(server)
    try:
        _life(call, "--store", address)
    finally:
        assert list(server) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "nobody"], "no machine 'nobody' in this store"),
        (["quarantine", NAME, "--reason", " "], "--reason: give 1 to 500 characters"),
        (["quarantine", NAME, "--reason", "a", "--from", "soon"], "--from: 'soon' is no instant"),
        (["quarantine", NAME, "--reason", "a", "--until", "2020-01-01"], "a quarantine ends after it begins"),
        (["release", "nobody"], "no machine 'nobody' in this store"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[..., str], words: list[str], told: str) -> None:
    assert told in call("machines", *words, code=2)


@pytest.fixture
def noisy(results: Path) -> Iterator[SqlStore]:
    """The store after three runs as noisy as none before."""
    with closing(SqlStore(f"sqlite:///{results}")) as store:
        for i in range(30, 33):
            store.add_run(_noisy(i))
        yield store


def test_a_machine_out_of_its_usual_is_proposed_and_not_held(call: Callable[..., str], noisy: SqlStore) -> None:
    call("findings", "judge")
    assert noisy.quarantines() == []
    shown = call("machines", "show", KEY[:8])
    assert "out of its usual: Noise ± 14.1 % in the last 3 runs" in shown and "14!" in shown
    assert f"benchwright machines quarantine {KEY[:12]} --reason TEXT" in shown


def test_a_machine_is_held_and_released_by_itself_where_that_is_wanted(
    call: Callable[..., str], noisy: SqlStore, tmp_path: Path
) -> None:
    (tmp_path / "benchwright.toml").write_text('[machines]\nquarantine = "automatic"\n')
    call("findings", "judge")
    (held,) = noisy.quarantines()
    assert (held.machine, held.who, held.until) == (KEY, "benchwright", None)
    assert "Noise ± 14.1 %" in held.reason and "in quarantine since 2026-03-02 06:00:00 UTC" in call("machines", "list")
    for i in range(33, 36):
        call("findings", "judge")
        assert noisy.quarantines()[0].until is None
        noisy.add_run(made.run_of(i, 0.010))
    call("findings", "judge")
    (ended,) = noisy.quarantines()
    assert ended.released_by == "benchwright" and ended.until is not None
    judged = [run for run in range(30, 36) if _is_judged(noisy, run)]
    assert judged == [33, 34, 35]  # those that were well again, and not those of the quarantine


def test_what_somebody_released_is_not_held_again_for_what_was_measured_before(
    call: Callable[..., str], noisy: SqlStore, tmp_path: Path
) -> None:
    (tmp_path / "benchwright.toml").write_text('[machines]\nquarantine = "automatic"\n')
    call("findings", "judge")
    call("machines", "release", KEY)
    call("findings", "judge")
    (released,) = noisy.quarantines()
    assert released.released_by == "ada" and released.until is not None


def _is_judged(store: SqlStore, run: int) -> bool:
    from benchwright.records.machines import Quarantines

    return Quarantines(store.quarantines()).is_judged_result(KEY, made.run_of(run, 1.0).results[0].started_at)


def test_a_wrong_word_in_the_configuration_is_named(call: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "benchwright.toml").write_text('[machines]\nquarantine = "always"\n')
    assert "machines.quarantine: 'always'" in call("findings", "judge", code=2)


def test_what_a_machine_in_quarantine_measured_is_neither_better_nor_worse(
    call: Callable[..., str], results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(open_store(results)) as store:
        made.fill(store, [0.030, 0.010], start=30)
    sides = ("compare", "run-0029", "run-0030")
    assert main([*sides]) == 1
    assert main(["compare", "run-0030", "--against", "history"]) == 1
    capsys.readouterr()
    call("machines", "quarantine", NAME, "--reason", "fan broken", "--from", made.run_of(30, 1.0).started_at)
    said = call(*sides)
    assert "unclear: 3 times as long, measured in quarantine" in said
    assert "the second run was measured in quarantine: shown, and not judged" in said
    assert "second run was measured in quarantine" in call("compare", "run-0030", "--against", "run-0029")
    assert "second run was measured in quarantine" in call("compare", "run-0030", "--against", "history")
    columns = call("compare", "run-0028", "run-0029", "run-0030")
    assert "C: bench.py::encode: the second run was measured in quarantine: shown, and not judged" in columns
    steps = json.loads(call("history", "bench.py::encode", "--metric", "latency_p50", "--json"))["data"]["series"][0]
    told = {step["run"]: (step["verdict"], step["why"], step["is_held"]) for step in steps["runs"]}
    assert told["run-0029"][2] is False
    assert told["run-0030"] == ("unclear", "the later run was measured in quarantine", True)
    assert told["run-0031"] == ("unclear", "the earlier and the later run were measured in quarantine", True)
    lines = call("history", "bench.py::encode", "--metric", "latency_p50").splitlines()
    assert [line.endswith("measured in quarantine") for line in lines if "run-003" in line] == [True, True]


def test_a_machine_says_whether_it_is_fit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("benchwright.toml").write_text('[machines]\nignore = ["busy", "steal", "memory"]\n')
    assert main(["machines", "check"]) == 0, "however busy this machine is"
    assert capsys.readouterr().out.startswith("fit\n")
    Path("benchwright.toml").write_text('[machines]\ndisk = "900000TB"\n')
    assert main(["machines", "check", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["kind"] == "machine-check" and told["data"][0]["verdict"] == "unfit"
    assert "disk" in [one["code"] for one in told["data"][0]["reasons"]]
    assert main(["machines", "check"]) == 1
    assert capsys.readouterr().out.startswith("unfit\n  unfit: ")


def test_the_control_is_kept_as_a_series_that_no_list_shows(
    call: Callable[..., str], results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchwright.execution.control.LOAD", Load(warmup=0.0, samples=3))
    monkeypatch.setattr("benchwright.execution.control.ROUNDS", 1)
    before = call("list")
    told = json.loads(call("machines", "control", "--json"))
    assert told["kind"] == "machine-control" and told["data"][0]["host"] == "local"
    run = told["data"][0]["run"]
    assert call("list") == before and run["id"] in call("list", "--all"), "nor is it the last run"
    with closing(open_store(results)) as store:
        names = set(store.runs(limit=1, tries=True)[0].cases)
        assert names == {"machine control: integer", "machine control: memory", "machine control: matrix"}
        (series,) = store.history("machine control: integer", metrics=["throughput"])
        (machine,) = {schema.environment_key(r.environment) for r in store.run(run["id"], samples=False).results}
    assert json.loads(series.params)["version"] == 1 and len(series.points) == 1
    assert series.points[0].revision == "", "what changes is the machine"
    shown = call("machines", "show", machine)
    assert re.search(r"Control integer \(% of the usual [\d.]+ .s\): 100\n", shown), shown
    assert main(["machines", "control", "--host", "adb:nobody"]) == 2
