"""The door as a whole: what is refused, what fails and is told, what the reporters and the store get."""

from __future__ import annotations

import contextlib
import functools
import json
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchwright.compat.harness import flags as harness_flags
from benchwright.compat.harness import info as harness_info
from benchwright.compat.harness import remote_reporter
from benchwright.compat.harness import run as running
from benchwright.compat.harness.run import hold_free_core
from benchwright.compat.harness.specs import planner
from benchwright.compat.harness.specs.plans import SpecRequest
from benchwright.errors import BenchwrightError, DecodeError, OptionError, StoreError, TargetError
from benchwright.execution import rounds
from benchwright.machine.devices import DeviceFacts, listing
from benchwright.records import Run, Status
from benchwright.store import open_store
from benchwright.workflows import run as api
from harness_suite import GOOD, NEEDED, describe_sides, run_harness, write_program, write_spec


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _kept() -> Run:
    with contextlib.closing(open_store(".benchwright/results.db", create=False)) as store:
        return store.run(store.find("last"))


class TestFailures:
    def test_a_failing_program_is_told_with_its_output_and_the_others_run(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """7.1, 9 and 10: its output was thrown away after three attempts; a failed test vanished without a trace."""
        attempts = Path("attempts").absolute()
        bad = f'[ "$1" = bad ] && {{ echo once >> {attempts}; echo why it failed; exit 3; }}'
        program = write_program("bench", f"{bad}\n{GOOD}")
        spec = write_spec({"commands": ["{program} bad"]}, {"commands": ["{program} good"]})
        assert run_harness(spec, describe_sides(treatment=program), "--screen_reporter") == 1
        said = capsys.readouterr()
        assert "why it failed" in said.err and "3" in said.err and "tiny 0" in said.err
        assert "ID: 1" in said.out and "ID: 0" not in said.out
        first, second = _kept().results
        assert (first.status, second.status) == (Status.FAILED, Status.OK)
        (log,) = [artifact for artifact in first.artifacts if artifact.kind == "log"]
        assert "why it failed" in Path(log.path).read_text(encoding="utf-8")
        assert attempts.read_text(encoding="utf-8") == "once\n"

    def test_a_program_that_takes_too_long(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The older one's status 256 became 0 in a shell."""
        program = write_program("bench", "sleep 60")
        assert run_harness(write_spec(), describe_sides(treatment=program), "--timeout", "0.2") == 1
        assert _kept().results[0].status is Status.TIMEOUT
        assert "longer than 0.2 s" in capsys.readouterr().out

    def test_a_control_that_fails_leaves_the_treatment(self, capsys: pytest.CaptureFixture[str]) -> None:
        info = describe_sides(treatment=write_program("new", GOOD), control=write_program("old", "exit 1"))
        assert run_harness(write_spec(), info, "--simple_screen_reporter") == 1
        said = capsys.readouterr()
        assert json.loads(said.out)["NET latency"]["values"] == [5]
        assert "the control failed" in said.err

    def test_a_test_that_cannot_be_run_here_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        power = {"metric": "power", "monsoon": {}}
        assert (
            run_harness(write_spec({}, power), describe_sides(treatment=write_program("bench", GOOD)), "--no-save") == 1
        )
        assert "is not run" in capsys.readouterr().err
        with pytest.raises(TargetError, match="no test can be run here"):
            run_harness(write_spec(power), describe_sides(treatment="bench"), "--no-save")


class _Refusing(BaseHTTPRequestHandler):
    status = 403

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_error(self.status)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[str]:
    """The address of a server that takes nothing."""
    with HTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/store|oss"
        server.shutdown()
        thread.join()


def test_a_reporter_that_fails_stops_no_other(refusing: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = write_program("bench", GOOD)
    spec = write_spec(default_args={}, group="G")
    told = ["--remote_reporter", refusing, "--remote_access_token", "S3cret", "--simple_local_reporter", "out"]
    assert (
        run_harness(spec, describe_sides(treatment=program), *told, "--run_type", "regress", "--regressed_types", "NET")
        == 1
    )
    data = json.loads(Path("out/0/data.txt").read_text(encoding="utf-8"))
    assert data["NET latency"]["regressed"] == 1
    said = capsys.readouterr()
    assert "--remote_reporter" in said.err
    run = _kept()
    assert run.results[0].status is Status.OK
    everything = (
        repr(run)
        + said.err
        + said.out
        + "".join(path.read_text(encoding="utf-8", errors="replace") for path in Path().rglob("*") if path.is_file())
    )
    assert "S3cret" not in everything


def test_the_network_comes_last_and_sigterm_keeps_what_was_to_be_sent(
    refusing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    def sleep(_: float) -> None:
        shown.append(capsys.readouterr().out)
        assert Path("out/0/data.txt").is_file()
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(_Refusing, "status", 503)
    monkeypatch.setattr(remote_reporter, "SendOptions", functools.partial(remote_reporter.SendOptions, sleep=sleep))
    told = ["--remote_reporter", refusing, "--simple_local_reporter", "out", "--no-save"]
    with pytest.raises(KeyboardInterrupt):
        run_harness(write_spec(), describe_sides(treatment=write_program("bench", GOOD)), *told)
    assert "tiny" in shown[0] and len([*remote_reporter.SPOOL.glob("*.json")]) == 1
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_run_that_the_store_refused_is_not_called_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(plan: rounds.Plan, **how: Any) -> Run:
        run = rounds.execute(replace(plan, monitors=()), None)
        error = StoreError("the store is full")
        error.measured = run
        raise error

    monkeypatch.setattr(api, "execute", refuse)
    assert run_harness(write_spec(), describe_sides(treatment=write_program("bench", GOOD))) == 1
    said = capsys.readouterr()
    assert "the store is full" in said.err and "tiny" in said.out and "Kept as" not in said.out


class TestRefusals:
    """Exit code 2: a `UserError`, before anything has run."""

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"framework": "cafe2"}, "unknown framework"),
            ({"platform": "ios"}, "iOS"),
            ({"platform": "windows"}, "unknown"),
        ],
    )
    def test_frameworks_and_platforms(self, more: dict[str, str], said: str) -> None:
        with pytest.raises(OptionError, match=said):
            run_harness(write_spec(), describe_sides(treatment=write_program("bench", GOOD)), **more)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--devices", "nosuch"], "nosuch"),
            (["--device", '{"kind": 1'], "not JSON"),
            (["--remote_reporter", "host/path"], "no place"),
            (["--local_reporter", "bench"], "is a file"),
            (["--device_name_mapping", "nosuch.json"], "nosuch.json"),
        ],
    )
    def test_flags(self, words: list[str], said: str) -> None:
        info = describe_sides(treatment=write_program("bench", GOOD))
        with pytest.raises(OptionError, match=said):
            run_harness(write_spec(), info, *words)
        assert not Path(".benchwright").exists()

    def test_specs(self) -> None:
        info = describe_sides(treatment=write_program("bench", GOOD))
        with pytest.raises(TargetError, match=r"nosuch\.json"):
            run_harness("nosuch.json", info)
        Path("broken.json").write_text('{"model": ', encoding="utf-8")
        with pytest.raises(DecodeError, match=r"broken\.json"):
            run_harness("broken.json", info)
        with pytest.raises(BenchwrightError, match="p101"):
            run_harness(write_spec({"statistics": ["p101"]}), info)
        assert not Path(".benchwright").exists()


def test_a_dry_run_only_prints(capsys: pytest.CaptureFixture[str]) -> None:
    program = "/no/such/program"
    assert (
        run_harness(
            write_spec({"commands": ["{program} --iter {iter}"]}), describe_sides(treatment=program), "--dry-run"
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "tiny" in said and "--iter 1" in said
    assert sorted(path.name for path in Path().iterdir()) == ["spec.json"]


class _PlannedError(Exception):
    """Carries the plan out of the door before anything runs."""

    def __init__(self, plan: rounds.Plan) -> None:
        super().__init__()
        self.plan = plan


@pytest.fixture
def _only_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(plan: rounds.Plan, **how: Any) -> Run:
        raise _PlannedError(plan)

    monkeypatch.setattr(api, "execute", execute)


def _plan(*arguments: Any, **named: Any) -> rounds.Plan:
    with pytest.raises(_PlannedError) as caught:
        run_harness(*arguments, **named)
    return caught.value.plan


def _rests(plan: rounds.Plan) -> list[float]:
    assert plan.pause is not None
    return [plan.pause(case) for case in plan.cases]


@pytest.mark.usefixtures("_only_planned")
class TestPlan:
    def test_treatment_and_control_of_each_test_with_a_rest_between(self) -> None:
        info = describe_sides(treatment=write_program("new", GOOD), control=write_program("old", GOOD))
        plan = _plan(write_spec({}, {}), info, "--cooldown", "3")
        order = [(case.params["test"], case.params["side"]) for case in plan.cases]
        assert order == [("0", "treatment"), ("0", "control"), ("1", "treatment"), ("1", "control")]
        assert _rests(plan) == [0.0, 3.0, 3.0, 3.0]
        assert _rests(_plan(write_spec({}, {}, cooldown=9), info))[1:] == [9.0] * 3  # the model's own wins

    def test_the_same_core_for_both_and_one_that_exists(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """7.1.6: a random core from 5 to 14 each time, also on a machine with two."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        info = describe_sides(treatment=write_program("new", GOOD), control=write_program("old", GOOD))
        plan = _plan(write_spec({}, {"cpu-list": -1}), info)
        cores = [json.loads(case.target.work)["cpus"] for case in plan.cases]
        usable = listing.find_devices("host")[0].facts["cpus"]
        assert isinstance(usable, list)
        assert cores[0] == cores[1] and {*cores[0]} <= {*usable} and len(cores[0]) == (len(usable) > 1)
        assert cores[2] == cores[3] == []  # as the test asks

    def test_a_second_harness_takes_another_core_or_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where no other test's harness runs
        info = describe_sides(treatment=write_program("new", GOOD))
        usable: Any = listing.find_devices("host")[0].facts["cpus"]
        with contextlib.ExitStack() as others:
            for left in reversed(range(len(usable) + 1)):
                (case,) = _plan(write_spec(), info).cases
                core = json.loads(case.target.work)["cpus"]
                if len(usable) > 1:
                    assert core == (usable[left - 1 : left] if left else [])
                assert ("use every core" in capsys.readouterr().err) == (left == 0 and len(usable) > 1)
                others.enter_context(hold_free_core(usable))
        assert not [*tmp_path.glob("*.lock")]

    def test_many_tests_are_told_apart_without_comparing_each_with_each(self) -> None:
        compared = 0

        class Name(str):
            __slots__ = ()

            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return str.__eq__(self, other)

            __hash__ = str.__hash__

        planned = planner.plan(
            Path(write_spec({}, {"identifier": "same"}, {"identifier": "same"})), SpecRequest(framework="generic")
        )
        tests = [replace(planned.tests[0], identifier=Name(n)) for n in range(200)] + [*planned.tests[1:]]
        given = harness_info.parse(describe_sides(treatment=write_program("new", GOOD)), needs_program=True)
        where = listing.find_devices("host")
        works = running.plan_works(
            harness_flags.parse([*NEEDED, "-b", "spec.json"]), given, tests, [("host", where[0])]
        )
        assert [work.case.params.get("number") for work in works] == [None] * 200 + [0, 1]
        assert compared < 5000

    def test_every_device_in_turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        phones = [
            ("adb:A", DeviceFacts(kind="android", serial="A", name="Pixel-14-34")),
            ("adb:B", DeviceFacts(kind="android", serial="B", name="Moto-9-28")),
        ]
        monkeypatch.setattr(listing, "choose_devices", lambda platform, **asked: phones)
        plan = _plan(write_spec({}, {}), describe_sides(treatment=write_program("bench", GOOD)), platform="android")
        assert [case.target.device for case in plan.cases] == ["adb:A", "adb:A", "adb:B", "adb:B"]
        assert plan.notes is not None
        kept: list[Any] = [plan.notes(case)["harness"] for case in plan.cases]
        assert [note["meta"]["platform"] for note in kept] == ["Pixel-14-34"] * 2 + ["Moto-9-28"] * 2
        assert len({note["pair"] for note in kept}) == 4

    def test_a_platform_name_of_ones_own(self) -> None:
        plan = _plan(write_spec(), describe_sides(treatment=write_program("bench", GOOD)), "--platform_sig", "lab-7")
        assert plan.notes is not None
        note: Any = plan.notes(plan.cases[0])["harness"]
        assert note["meta"]["platform"] == "lab-7"

    def test_tests_of_one_identifier_are_told_apart(self) -> None:
        plan = _plan(
            write_spec({"identifier": "same"}, {"identifier": "same"}),
            describe_sides(treatment=write_program("bench", GOOD)),
        )
        assert [case.params["number"] for case in plan.cases] == [0, 1]

    def test_defaults_of_the_spec_and_the_limit_of_a_worker(self) -> None:
        spec = write_spec()
        whole = json.loads(Path(spec).read_text(encoding="utf-8"))
        whole["default_args"] = {"--timeout": 500}
        Path(spec).write_text(json.dumps(whole), encoding="utf-8")
        (case,) = _plan(spec, describe_sides(treatment=write_program("bench", GOOD))).cases
        assert json.loads(case.target.work)["timeout"] == 500
        assert case.load.timeout is not None and case.load.timeout > 500  # it never ends before its program may

    def test_variables_and_tokens_of_each_side(self) -> None:
        sides = {
            name: {"program": write_program(name, GOOD), "string_map": {"WHO": name}}
            for name in ("treatment", "control")
        }
        plan = _plan(write_spec(), json.dumps(sides), "--env", "A=1")
        works = [json.loads(case.target.work) for case in plan.cases]
        assert [work["tokens"]["WHO"] for work in works] == ["treatment", "control"]
        assert [work["env"][running.GROUP_VARIABLE] for work in works] == ["1", "0"]
        assert works[0]["env"]["A"] == "1"


def test_what_does_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_harness(write_spec(), "", "--set_freq", "max", "--dry-run") == 0
    assert capsys.readouterr().err.count("--set_freq does nothing here") == 1
