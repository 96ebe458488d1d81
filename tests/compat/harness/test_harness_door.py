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

from benchwright import api, runner
from benchwright.compat.harness import cores, remote_reporter, running
from benchwright.compat.harness import flags as harness_flags
from benchwright.compat.harness import info as harness_info
from benchwright.compat.harness.door import main
from benchwright.devices import About, listing
from benchwright.errors import BenchwrightError, DecodeError, OptionError, StoreError, TargetError
from benchwright.events import nobody
from benchwright.records import Run, Status
from benchwright.specs.older import planning
from benchwright.specs.older.plans import Asked
from benchwright.store import open_store

ROW = """echo 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": %s}'"""
GOOD = ROW % 5
NEEDED = ["--framework", "generic", "--platform", "host", "--model_cache", "cache", "--cooldown=0"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _program(name: str, body: str) -> str:
    path = Path(name)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    return str(path)


def _spec(*tests: dict[str, Any], **model: Any) -> str:
    usual = {"identifier": "{ID}", "metric": "delay", "iter": 1, "commands": ["{program}"]}
    whole = {
        "model": {"name": "tiny", "format": "generic", "files": {}, **model},
        "tests": [{**usual, **test} for test in tests or ({},)],
    }
    Path("spec.json").write_text(json.dumps(whole), encoding="utf-8")
    return "spec.json"


def _info(**sides: str) -> str:
    return json.dumps({side: {"commit": side, "commit_time": 0, "program": program} for side, program in sides.items()})


def _harness(spec: str, info: str, *more: str, framework: str = "generic", platform: str = "host") -> int:
    words = ["-b", spec, *NEEDED, "--framework", framework, "--platform", platform]
    return main([*words, "--info", info, *more], lambda: contextlib.nullcontext(nobody))


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
        program = _program("bench", f"{bad}\n{GOOD}")
        spec = _spec({"commands": ["{program} bad"]}, {"commands": ["{program} good"]})
        assert _harness(spec, _info(treatment=program), "--screen_reporter") == 1
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
        program = _program("bench", "sleep 60")
        assert _harness(_spec(), _info(treatment=program), "--timeout", "0.2") == 1
        assert _kept().results[0].status is Status.TIMEOUT
        assert "longer than 0.2 s" in capsys.readouterr().out

    def test_a_control_that_fails_leaves_the_treatment(self, capsys: pytest.CaptureFixture[str]) -> None:
        info = _info(treatment=_program("new", GOOD), control=_program("old", "exit 1"))
        assert _harness(_spec(), info, "--simple_screen_reporter") == 1
        said = capsys.readouterr()
        assert json.loads(said.out)["NET latency"]["values"] == [5]
        assert "the control failed" in said.err

    def test_a_test_that_cannot_be_run_here_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        power = {"metric": "power", "monsoon": {}}
        assert _harness(_spec({}, power), _info(treatment=_program("bench", GOOD)), "--no-save") == 1
        assert "is not run" in capsys.readouterr().err
        with pytest.raises(TargetError, match="no test can be run here"):
            _harness(_spec(power), _info(treatment="bench"), "--no-save")


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
    program = _program("bench", GOOD)
    spec = _spec(default_args={}, group="G")
    told = ["--remote_reporter", refusing, "--remote_access_token", "S3cret", "--simple_local_reporter", "out"]
    assert _harness(spec, _info(treatment=program), *told, "--run_type", "regress", "--regressed_types", "NET") == 1
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
    monkeypatch.setattr(remote_reporter, "How", functools.partial(remote_reporter.How, sleep=sleep))
    told = ["--remote_reporter", refusing, "--simple_local_reporter", "out", "--no-save"]
    with pytest.raises(KeyboardInterrupt):
        _harness(_spec(), _info(treatment=_program("bench", GOOD)), *told)
    assert "tiny" in shown[0] and len([*remote_reporter.SPOOL.glob("*.json")]) == 1
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_run_that_the_store_refused_is_not_called_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(plan: runner.Plan, **how: Any) -> Run:
        run = runner.execute(replace(plan, monitors=()), None)
        error = StoreError("the store is full")
        error.measured = run
        raise error

    monkeypatch.setattr(api, "execute", refuse)
    assert _harness(_spec(), _info(treatment=_program("bench", GOOD))) == 1
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
            _harness(_spec(), _info(treatment=_program("bench", GOOD)), **more)

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
        info = _info(treatment=_program("bench", GOOD))
        with pytest.raises(OptionError, match=said):
            _harness(_spec(), info, *words)
        assert not Path(".benchwright").exists()

    def test_specs(self) -> None:
        info = _info(treatment=_program("bench", GOOD))
        with pytest.raises(TargetError, match=r"nosuch\.json"):
            _harness("nosuch.json", info)
        Path("broken.json").write_text('{"model": ', encoding="utf-8")
        with pytest.raises(DecodeError, match=r"broken\.json"):
            _harness("broken.json", info)
        with pytest.raises(BenchwrightError, match="p101"):
            _harness(_spec({"statistics": ["p101"]}), info)
        assert not Path(".benchwright").exists()


def test_a_dry_run_only_prints(capsys: pytest.CaptureFixture[str]) -> None:
    program = "/no/such/program"
    assert _harness(_spec({"commands": ["{program} --iter {iter}"]}), _info(treatment=program), "--dry-run") == 0
    said = capsys.readouterr().out
    assert "tiny" in said and "--iter 1" in said
    assert sorted(path.name for path in Path().iterdir()) == ["spec.json"]


class _PlannedError(Exception):
    """Carries the plan out of the door before anything runs."""

    def __init__(self, plan: runner.Plan) -> None:
        super().__init__()
        self.plan = plan


@pytest.fixture
def _only_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(plan: runner.Plan, **how: Any) -> Run:
        raise _PlannedError(plan)

    monkeypatch.setattr(api, "execute", execute)


def _plan(*arguments: Any, **named: Any) -> runner.Plan:
    with pytest.raises(_PlannedError) as caught:
        _harness(*arguments, **named)
    return caught.value.plan


def _rests(plan: runner.Plan) -> list[float]:
    assert plan.pause is not None
    return [plan.pause(case) for case in plan.cases]


@pytest.mark.usefixtures("_only_planned")
class TestPlan:
    def test_treatment_and_control_of_each_test_with_a_rest_between(self) -> None:
        info = _info(treatment=_program("new", GOOD), control=_program("old", GOOD))
        plan = _plan(_spec({}, {}), info, "--cooldown", "3")
        order = [(case.params["test"], case.params["side"]) for case in plan.cases]
        assert order == [("0", "treatment"), ("0", "control"), ("1", "treatment"), ("1", "control")]
        assert _rests(plan) == [0.0, 3.0, 3.0, 3.0]
        assert _rests(_plan(_spec({}, {}, cooldown=9), info))[1:] == [9.0] * 3  # the model's own wins

    def test_the_same_core_for_both_and_one_that_exists(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """7.1.6: a random core from 5 to 14 each time, also on a machine with two."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        info = _info(treatment=_program("new", GOOD), control=_program("old", GOOD))
        plan = _plan(_spec({}, {"cpu-list": -1}), info)
        cores = [json.loads(case.target.work)["cpus"] for case in plan.cases]
        usable = listing.connected("host")[0].facts["cpus"]
        assert isinstance(usable, list)
        assert cores[0] == cores[1] and {*cores[0]} <= {*usable} and len(cores[0]) == (len(usable) > 1)
        assert cores[2] == cores[3] == []  # as the test asks

    def test_a_second_harness_takes_another_core_or_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where no other test's harness runs
        info = _info(treatment=_program("new", GOOD))
        usable: Any = listing.connected("host")[0].facts["cpus"]
        with contextlib.ExitStack() as others:
            for left in reversed(range(len(usable) + 1)):
                (case,) = _plan(_spec(), info).cases
                core = json.loads(case.target.work)["cpus"]
                if len(usable) > 1:
                    assert core == (usable[left - 1 : left] if left else [])
                assert ("have every core" in capsys.readouterr().err) == (left == 0 and len(usable) > 1)
                others.enter_context(cores.claimed(usable))
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

        planned = planning.plan(
            Path(_spec({}, {"identifier": "same"}, {"identifier": "same"})), Asked(framework="generic")
        )
        tests = [replace(planned.tests[0], identifier=Name(n)) for n in range(200)] + [*planned.tests[1:]]
        given = harness_info.parse(_info(treatment=_program("new", GOOD)), needs_program=True)
        where = listing.connected("host")
        works = running.works(harness_flags.parse([*NEEDED, "-b", "spec.json"]), given, tests, [("host", where[0])])
        assert [work.case.params.get("number") for work in works] == [None] * 200 + [0, 1]
        assert compared < 5000

    def test_every_device_in_turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        phones = [
            ("adb:A", About(kind="android", serial="A", name="Pixel-14-34")),
            ("adb:B", About(kind="android", serial="B", name="Moto-9-28")),
        ]
        monkeypatch.setattr(listing, "chosen", lambda platform, **asked: phones)
        plan = _plan(_spec({}, {}), _info(treatment=_program("bench", GOOD)), platform="android")
        assert [case.target.device for case in plan.cases] == ["adb:A", "adb:A", "adb:B", "adb:B"]
        assert plan.notes is not None
        kept: list[Any] = [plan.notes(case)["harness"] for case in plan.cases]
        assert [note["meta"]["platform"] for note in kept] == ["Pixel-14-34"] * 2 + ["Moto-9-28"] * 2
        assert len({note["pair"] for note in kept}) == 4

    def test_a_platform_name_of_ones_own(self) -> None:
        plan = _plan(_spec(), _info(treatment=_program("bench", GOOD)), "--platform_sig", "lab-7")
        assert plan.notes is not None
        note: Any = plan.notes(plan.cases[0])["harness"]
        assert note["meta"]["platform"] == "lab-7"

    def test_tests_of_one_identifier_are_told_apart(self) -> None:
        plan = _plan(_spec({"identifier": "same"}, {"identifier": "same"}), _info(treatment=_program("bench", GOOD)))
        assert [case.params["number"] for case in plan.cases] == [0, 1]

    def test_defaults_of_the_spec_and_the_limit_of_a_worker(self) -> None:
        spec = _spec()
        whole = json.loads(Path(spec).read_text(encoding="utf-8"))
        whole["default_args"] = {"--timeout": 500}
        Path(spec).write_text(json.dumps(whole), encoding="utf-8")
        (case,) = _plan(spec, _info(treatment=_program("bench", GOOD))).cases
        assert json.loads(case.target.work)["timeout"] == 500
        assert case.load.timeout is not None and case.load.timeout > 500  # it never ends before its program may

    def test_variables_and_tokens_of_each_side(self) -> None:
        sides = {
            name: {"program": _program(name, GOOD), "string_map": {"WHO": name}} for name in ("treatment", "control")
        }
        plan = _plan(_spec(), json.dumps(sides), "--env", "A=1")
        works = [json.loads(case.target.work) for case in plan.cases]
        assert [work["tokens"]["WHO"] for work in works] == ["treatment", "control"]
        assert [work["env"][running.GROUP_VARIABLE] for work in works] == ["1", "0"]
        assert works[0]["env"]["A"] == "1"


def test_what_does_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert _harness(_spec(), "", "--set_freq", "max", "--dry-run") == 0
    assert capsys.readouterr().err.count("--set_freq does nothing here") == 1


def test_a_generic_program_runs_once_and_every_row_counts() -> None:
    """The loop until `iter` values are there belongs to caffe2 and pytorch; surplus rows of others are kept."""
    marked = GOOD.replace("PyTorchObserver", "Caffe2Observer")
    for framework, rows, iterations, expected in (
        ("generic", 1, 3, (1, [5])),
        ("generic", 4, 2, (1, [5, 5, 5, 5])),
        ("pytorch", 1, 3, (3, [5, 5, 5])),
        ("pytorch", 4, 2, (1, [5, 5])),
        ("caffe2", 1, 2, (2, [5, 5])),
    ):
        runs = Path(f"runs-{framework}-{rows}")
        row = marked if framework == "caffe2" else GOOD
        program = _program("bench", f"echo x >> {runs.absolute()}\n" + "\n".join([row] * rows))
        words = ("--simple_local_reporter", f"out-{runs}", "--no-save")
        assert _harness(_spec({"iter": iterations}), _info(treatment=program), *words, framework=framework) == 0
        data = json.loads(Path(f"out-{runs}/0/data.txt").read_text(encoding="utf-8"))
        assert (len(runs.read_text().split()), data["NET latency"]["values"]) == expected, framework


def test_each_test_is_reported_before_the_next_one_begins() -> None:
    """A kill in the middle of a suite leaves what was measured; `time` is when each test ran."""
    found = Path("found").absolute()
    look = f"ls {Path.cwd()}/reports/*/generic/tiny/delay/*/*/*/*/*/0/NET-latency.txt {Path.cwd()}/latest/*/data.txt"
    program = _program("bench", f"({look}) 2>/dev/null | wc -l >> {found}\nsleep 0.1\n{GOOD}")
    reporters = ("--local_reporter", "reports", "--simple_local_reporter", "latest")
    assert _harness(_spec({}, {}, {}), _info(treatment=program), *reporters) == 0
    assert found.read_text().split() == ["0", "2", "4"]
    (places,) = Path("reports").glob("*/generic/tiny/delay")
    times = [json.loads(next(places.glob(f"{i}/*/*/*/*/0/meta.txt")).read_text())["time"] for i in range(3)]
    assert times[0] + 0.1 < times[1] and times[1] + 0.1 < times[2]


def test_a_pair_is_reported_when_its_control_is_measured_too_and_a_failed_test_has_its_meta_data() -> None:
    seen = Path("seen").absolute()
    new = _program("new", f'ls {Path.cwd()}/latest >> {seen} 2>&1\n[ "$1" = bad ] && exit 3\n{GOOD}')
    info = _info(treatment=new, control=_program("old", f"ls {Path.cwd()}/latest >> {seen} 2>&1\n{ROW % 4}"))
    spec = _spec({}, {"commands": ["{program} bad"]})
    assert _harness(spec, info, "--simple_local_reporter", "latest", "--no-save") == 1
    assert seen.read_text().split("\n")[2:] == ["0", "0", ""]  # before that: twice that there is no such folder
    first, second = (json.loads(Path("latest", name, "data.txt").read_text()) for name in "01")
    assert first["NET latency"]["control_values"] == [4] and [*second] == ["meta"]


def test_warnings_of_results_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    program = _program("bench", f"[ -e ran ] || {{ touch ran; {GOOD}; }}")
    for more in (("--screen_reporter",), ("--json",), ()):
        Path("ran").unlink(missing_ok=True)
        _harness(_spec({"iter": 2}), _info(treatment=program), *more, "--no-save", framework="pytorch")
        assert "told of 1 executions, and the spec asks for 2" in capsys.readouterr().err, more


def test_a_dry_run_refuses_what_a_run_refuses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAIPEPROOT", raising=False)
    info = _info(treatment=_program("bench", GOOD))
    for platform, said in (("ios", "ios"), ("amiga", "amiga")):
        with pytest.raises(OptionError, match=said):
            _harness(_spec(), info, "--dry-run", platform=platform)
    needs_root = _spec({"postprocess": {"commands": ["{FAIPEPROOT}/compare"]}})
    capsys.readouterr()
    for words in (("--dry-run",), ("--no-save",)):
        with pytest.raises(TargetError, match="export FAIPEPROOT"):
            _harness(needs_root, info, *words)
    assert "FAIPEPROOT" in capsys.readouterr().out  # the plan tells it as well
    monkeypatch.setenv("FAIPEPROOT", "/somewhere")
    assert _harness(needs_root, info, "--dry-run") == 0


def test_wiping_comes_after_the_backend() -> None:
    asked = Asked(framework="generic", command_args="--x 1", backend="mkl", wipe_cache="true")
    (test,) = planning.plan(Path(_spec()), asked).tests
    assert test.commands[0].endswith("--x 1 --backend mkl --wipe_cache true")
