"""FAI-PEP's harness as its users know it: what is run how often, when reporters hear of it, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchwright.compat.harness import door
from benchwright.compat.harness.specs import planner
from benchwright.compat.harness.specs.plans import SpecRequest
from benchwright.errors import OptionError, TargetError
from harness_suite import GOOD, ROW, describe_sides, run_harness, write_program, write_spec


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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
        program = write_program("bench", f"echo x >> {runs.absolute()}\n" + "\n".join([row] * rows))
        words = ("--simple_local_reporter", f"out-{runs}", "--no-save")
        assert (
            run_harness(
                write_spec({"iter": iterations}), describe_sides(treatment=program), *words, framework=framework
            )
            == 0
        )
        data = json.loads(Path(f"out-{runs}/0/data.txt").read_text(encoding="utf-8"))
        assert (len(runs.read_text().split()), data["NET latency"]["values"]) == expected, framework


def test_each_test_is_reported_before_the_next_one_begins() -> None:
    """A kill in the middle of a suite leaves what was measured; `time` is when each test ran."""
    found = Path("found").absolute()
    look = f"ls {Path.cwd()}/reports/*/generic/tiny/delay/*/*/*/*/*/0/NET-latency.txt {Path.cwd()}/latest/*/data.txt"
    program = write_program("bench", f"({look}) 2>/dev/null | wc -l >> {found}\nsleep 0.1\n{GOOD}")
    reporters = ("--local_reporter", "reports", "--simple_local_reporter", "latest")
    assert run_harness(write_spec({}, {}, {}), describe_sides(treatment=program), *reporters) == 0
    assert found.read_text().split() == ["0", "2", "4"]
    (places,) = Path("reports").glob("*/generic/tiny/delay")
    times = [json.loads(next(places.glob(f"{i}/*/*/*/*/0/meta.txt")).read_text())["time"] for i in range(3)]
    assert times[0] + 0.1 < times[1] and times[1] + 0.1 < times[2]


def test_a_pair_is_reported_when_its_control_is_measured_too_and_a_failed_test_has_its_meta_data() -> None:
    seen = Path("seen").absolute()
    new = write_program("new", f'ls {Path.cwd()}/latest >> {seen} 2>&1\n[ "$1" = bad ] && exit 3\n{GOOD}')
    info = describe_sides(
        treatment=new, control=write_program("old", f"ls {Path.cwd()}/latest >> {seen} 2>&1\n{ROW % 4}")
    )
    spec = write_spec({}, {"commands": ["{program} bad"]})
    assert run_harness(spec, info, "--simple_local_reporter", "latest", "--no-save") == 1
    assert seen.read_text().split("\n")[2:] == ["0", "0", ""]  # before that: twice that there is no such folder
    first, second = (json.loads(Path("latest", name, "data.txt").read_text()) for name in "01")
    assert first["NET latency"]["control_values"] == [4] and [*second] == ["meta"]


def test_warnings_of_results_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    program = write_program("bench", f"[ -e ran ] || {{ touch ran; {GOOD}; }}")
    for more in (("--screen_reporter",), ("--json",), ()):
        Path("ran").unlink(missing_ok=True)
        run_harness(write_spec({"iter": 2}), describe_sides(treatment=program), *more, "--no-save", framework="pytorch")
        assert "reported 1 executions, and the spec asks for 2" in capsys.readouterr().err, more


def test_a_dry_run_refuses_what_a_run_refuses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAIPEPROOT", raising=False)
    info = describe_sides(treatment=write_program("bench", GOOD))
    for platform, said in (("ios", "ios"), ("amiga", "amiga")):
        with pytest.raises(OptionError, match=said):
            run_harness(write_spec(), info, "--dry-run", platform=platform)
    needs_root = write_spec({"postprocess": {"commands": ["{FAIPEPROOT}/compare"]}})
    capsys.readouterr()
    for words in (("--dry-run",), ("--no-save",)):
        with pytest.raises(TargetError, match="export FAIPEPROOT"):
            run_harness(needs_root, info, *words)
    assert "FAIPEPROOT" in capsys.readouterr().out  # the plan tells it as well
    monkeypatch.setenv("FAIPEPROOT", "/somewhere")
    assert run_harness(needs_root, info, "--dry-run") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--device", "zzz"), "zzz"),
        (("--devices", "a,b"), "'a'"),
        (("--hash_platform_mapping", "absent.json"), "--hash_platform_mapping absent.json"),
        (("--remote_reporter", "nowhere"), "names no place for results"),
        (("--local_reporter", "a_file"), "--local_reporter a_file is a file"),
        (("--model_cache", "a_file"), "--model_cache a_file is a file"),
    ],
)
def test_a_plan_a_build_and_a_run_refuse_the_same_flags(words: tuple[str, ...], said: str) -> None:
    Path("a_file").touch()
    info, spec = describe_sides(treatment=write_program("bench", GOOD)), write_spec()
    for more in (("--dry-run",), ("--no-save",)):
        with pytest.raises(OptionError, match=said):
            run_harness(spec, info, *words, *more)
    with pytest.raises(OptionError, match=said):  # as the driver of repositories asks before it builds
        door.check(["-b", spec, "--framework", "generic", "--platform", "host", "--model_cache", "cache", *words])
    assert not Path("cache").exists()


def test_a_phone_need_not_be_connected_for_a_plan() -> None:
    spec, info = write_spec(), describe_sides(treatment=write_program("bench", GOOD))
    assert run_harness(spec, info, "--dry-run", platform="android") == 0
    with pytest.raises(OptionError, match="--device_name_mapping absent"):
        run_harness(spec, info, "--dry-run", "--device_name_mapping", "absent.json", platform="android")


def test_wiping_comes_after_the_backend() -> None:
    asked = SpecRequest(framework="generic", command_args="--x 1", backend="mkl", wipe_cache="true")
    (test,) = planner.plan(Path(write_spec()), asked).tests
    assert test.commands[0].endswith("--x 1 --backend mkl --wipe_cache true")
