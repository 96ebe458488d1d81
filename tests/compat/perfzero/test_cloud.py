"""cloud_manager's commands, with a `gcloud` that writes its arguments down and plays answers."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.compat.perfzero import cloud
from benchwright.errors import OptionError

NAME = "perfzero-dev-ada"
WHERE = ["--project=p", "--zone=z"]
MINE = ("--username=ada", "--project=p", "--zone=z")
FORWARDING = "-- -L 6006:127.0.0.1:6006"

_GCLOUD = """\
#!{python}
import json, sys
from pathlib import Path
folder = Path({folder!r})
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
answers = json.loads((folder / "answers").read_text())
count = len((folder / "calls").read_text().splitlines())
out, code = answers.pop(0) if answers else ("", 0)
(folder / "answers").write_text(json.dumps(answers))
sys.stdout.write(out)
sys.exit(code)
"""


class Gcloud:
    """The calls so far; `plays` sets what the next ones print and end with."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.plays()

    def plays(self, *answers: tuple[str, int]) -> None:
        (self._folder / "answers").write_text(json.dumps(answers), encoding="utf-8")

    @property
    def calls(self) -> list[list[str]]:
        written = self._folder / "calls"
        return (
            [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()] if written.exists() else []
        )


@pytest.fixture
def gcloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gcloud:
    program = tmp_path / "gcloud"
    program.write_text(_GCLOUD.format(python=sys.executable, folder=str(tmp_path)), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("USER", "$(touch /tmp/never)")
    monkeypatch.setattr(cloud, "PAUSE", 0.0)
    return Gcloud(tmp_path)


def test_create_asks_for_everything_and_stops_probing_at_the_first_success(
    gcloud: Gcloud, capsys: pytest.CaptureFixture[str]
) -> None:
    gcloud.plays(("", 0), ("", 255), ("", 0))
    assert cloud.main(["create", *MINE]) == 0
    created, refused, probe, clone, group = gcloud.calls
    assert created == [
        *("compute", "instances", "create", NAME, "--image=tf-ubuntu-1604-20180927-410", *WHERE),
        *("--machine-type=n1-standard-8", "--maintenance-policy=TERMINATE"),
        "--accelerator=count=1,type=nvidia-tesla-v100",
    ]
    assert refused == probe == ["compute", "ssh", NAME, *WHERE, "--strict-host-key-checking=no", "--command=exit"]
    assert clone[-1] == "--command=git clone https://github.com/tensorflow/benchmarks.git"
    assert group == ["compute", "ssh", NAME, *WHERE, "--command=sudo usermod -a -G docker $USER"]  # the machine's
    assert f"gcloud compute ssh {NAME} --project=p --zone=z {FORWARDING}" in capsys.readouterr().out


def test_every_flag_of_create_becomes_an_argument(gcloud: Gcloud) -> None:
    flags = ("--accelerator_count=4", "--accelerator_type=t", "--cpu_min_platform=Intel Skylake", "--image=i")
    more = ("--nvme_count=2", "--boot_ssd_size=100", "--ssh-internal-ip", "--ssh-key-file=/k y")
    assert cloud.main(["create", *MINE, *flags, *more]) == 0
    created, probe, *_ = gcloud.calls
    assert "--machine-type=n1-standard-32" in created and "--image=i" in created
    assert "--accelerator=count=4,type=t" in created and "--min-cpu-platform=Intel Skylake" in created
    assert created.count("--local-ssd=interface=NVME") == 2
    assert created[-2:] == ["--boot-disk-size=100GB", "--boot-disk-type=pd-ssd"]
    assert probe[:4] == ["beta", "compute", "ssh", NAME]
    assert "--internal-ip" in probe and "--ssh-key-file=/k y" in probe


def test_without_accelerators_none_is_asked_for(gcloud: Gcloud) -> None:
    cloud.main(["create", *MINE, "--accelerator_count=0", "--machine_type=e2-small"])
    assert not any(argument.startswith("--accelerator") for argument in gcloud.calls[0])
    assert "--machine-type=e2-small" in gcloud.calls[0]


def test_a_machine_that_never_answers_leaves_the_commands_to_the_user(
    gcloud: Gcloud, capsys: pytest.CaptureFixture[str]
) -> None:
    gcloud.plays(("", 0), *[("", 255)] * 12)
    assert cloud.main(["create", *MINE]) == 0
    assert len(gcloud.calls) == 13
    shown = capsys.readouterr()
    assert "git clone https://" in shown.out and "sudo usermod -a -G docker $USER" in shown.out
    assert "Cannot ssh" in shown.err


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_start_and_stop(verb: str, gcloud: Gcloud) -> None:
    assert cloud.main([verb, *MINE]) == 0
    assert gcloud.calls == [["compute", "instances", verb, NAME, *WHERE]]


def test_delete_does_not_ask(gcloud: Gcloud) -> None:
    assert cloud.main(["delete", *MINE]) == 0
    assert gcloud.calls == [["compute", "instances", "delete", NAME, *WHERE, "--quiet"]]


@pytest.mark.parametrize(("listing", "count"), [("", 0), ("NAME\na\n", 1), ("NAME\na\nb\n", 2)])
def test_status_counts_and_shows_how_to_reach_the_one(
    listing: str, count: int, gcloud: Gcloud, capsys: pytest.CaptureFixture[str]
) -> None:
    gcloud.plays((listing, 0))
    assert cloud.main(["status", *MINE]) == 0
    assert gcloud.calls == [["compute", "instances", "list", f"--filter=name={NAME} AND zone:z", "--project=p"]]
    shown = capsys.readouterr().out
    assert f"Found {count} gcloud" in shown and listing in shown
    assert (FORWARDING in shown) is (count == 1)


def test_list_all_takes_the_prefix(gcloud: Gcloud, capsys: pytest.CaptureFixture[str]) -> None:
    gcloud.plays(("NAME\na\nb\n", 0))
    assert cloud.main(["list_all", "--project=p"]) == 0
    assert gcloud.calls == [["compute", "instances", "list", "--filter=name ~ perfzero-dev-", "--project=p"]]
    assert "Found 2 gcloud" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["create", "start", "stop", "delete", "status", "list_all"])
def test_the_exit_code_of_gcloud_is_passed_on(verb: str, gcloud: Gcloud) -> None:
    gcloud.plays(("", 7))
    assert cloud.main([verb]) == 7
    assert len(gcloud.calls) == 1


def test_defaults_and_empty_values_count_as_not_set(gcloud: Gcloud) -> None:
    cloud.main(["start"])
    cloud.main(["start", "--project=", "--zone=", "--username=", "--ssh-key-file="])
    default = ["--project=google.com:tensorflow-performance", "--zone=us-west1-b"]
    assert gcloud.calls == [["compute", "instances", "start", f"perfzero-dev-{getpass.getuser()}", *default]] * 2


def test_flags_may_be_abbreviated(gcloud: Gcloud) -> None:
    cloud.main(["start", "--user=ada", "--proj=p", "--zo=z"])
    assert gcloud.calls == [["compute", "instances", "start", NAME, *WHERE]]


@pytest.mark.parametrize(
    "arguments",
    [["time"], [], ["start", "--image=i"], ["start", "--nope"], ["list_all", "--zone=z"], ["create", "--nvme_count=x"]],
)
def test_unknown_commands_and_flags_end_with_1_and_call_nothing(
    arguments: list[str], gcloud: Gcloud, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cloud.main(arguments)
    assert ended.value.code == 1 and gcloud.calls == []
    assert "usage" in capsys.readouterr().err


def test_a_missing_gcloud_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match="gcloud is not installed"):
        cloud.main(["start", "--username=ada"])


def test_debug_shows_the_probes_too(gcloud: Gcloud, capsys: pytest.CaptureFixture[str]) -> None:
    shown: Callable[[], int] = lambda: capsys.readouterr().out.count("--command=exit")  # noqa: E731
    cloud.main(["create", *MINE])
    assert shown() == 0
    cloud.main(["create", *MINE, "--debug"])
    assert shown() == 1
