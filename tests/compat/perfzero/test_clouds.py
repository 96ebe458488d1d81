"""cloud_manager's commands at other clouds, with programs `sky` and `ssh` that write down what they are asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchwright.cloud import keys
from benchwright.cloud.ledger import CloudLedger
from benchwright.cloud.orders import NAME_LABEL
from benchwright.compat.perfzero import cloud
from benchwright.errors import CloudError, OptionError
from sky_program import Sky, install_sky

ADA = ("--provider", "skypilot", "--username=Ada_L")
NAME = "perfzero-dev-ada-l"
SHAPE = "--machine_type=m6i.large"


@pytest.fixture
def sky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sky:
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {tmp_path / "ssh-calls"}\n', encoding="utf-8")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BENCHWRIGHT_CLOUD_LEDGER", str(tmp_path / "ledger.jsonl"))
    monkeypatch.setattr(cloud, "PAUSE", 0.0)
    return install_sky(tmp_path)


def test_six_commands_at_another_cloud(sky: Sky, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cloud.main(["create", *ADA, SHAPE, "--region=us-east-1", "--lease=2h", "--price=0.1USD/h"]) == 0
    (machine,) = CloudLedger().open_machines()
    assert machine.order.name == NAME and (machine.order.owner, machine.order.zone) == ("Ada_L", "")
    shown = capsys.readouterr().out
    assert "at most 0.20 USD" in shown and f"Successfully created {NAME}" in shown
    forwarding = f"ssh -i {keys.key_path()} bw-{machine.token} -L 6006:127.0.0.1:6006"
    assert forwarding in shown
    calls = (tmp_path / "ssh-calls").read_text(encoding="utf-8").splitlines()
    assert [one.partition(f"bw-{machine.token} ")[2] for one in calls] == [
        "exit",
        "git clone https://github.com/tensorflow/benchmarks.git",
        "sudo usermod -a -G docker $USER",  # the machine's
    ]
    assert cloud.main(["status", *ADA, "--region=us-east-1"]) == 0
    shown = capsys.readouterr().out
    assert f"Found 1 skypilot computing instance with name {NAME}" in shown and forwarding in shown
    with pytest.raises(OptionError, match="is up already"):
        cloud.main(["create", *ADA, SHAPE])
    assert cloud.main(["stop", *ADA]) == 0
    assert [one["status"] for one in sky.state["clusters"].values()] == ["STOPPED"]
    assert cloud.main(["start", *ADA]) == 0
    assert cloud.main(["delete", *ADA]) == 0
    assert sky.state["clusters"] == {} and CloudLedger().open_machines() == []
    capsys.readouterr()
    assert cloud.main(["list_all", "--provider=skypilot"]) == 0
    assert "Found 0 skypilot" in capsys.readouterr().out


def test_a_machine_of_another_desk_is_found_by_its_label(
    sky: Sky, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PERFZERO_CLOUD_PROVIDER", "skypilot")
    assert cloud.main(["create", "--username=Ada_L", SHAPE]) == 0
    monkeypatch.setenv("BENCHWRIGHT_CLOUD_LEDGER", str(tmp_path / "other.jsonl"))
    assert cloud.main(["list_all"]) == 0
    assert f"{NAME}  m6i.large  us-east-1" in capsys.readouterr().out
    with pytest.raises(OptionError, match="has no machine perfzero-dev-bob"):
        cloud.main(["delete", "--username=bob"])
    assert cloud.main(["delete", "--username=Ada_L"]) == 0 and sky.state["clusters"] == {}


def test_a_machine_that_lets_nobody_in_leaves_the_commands_to_the_user(
    sky: Sky, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\nexit 255\n", encoding="utf-8")
    assert cloud.main(["create", *ADA, SHAPE]) == 0
    shown = capsys.readouterr()
    assert "git clone https://" in shown.out and "Cannot ssh" in shown.err
    labels = next(iter(sky.state["clusters"].values()))["labels"]
    assert labels[NAME_LABEL] == NAME


def test_what_fails_leaves_no_machine(sky: Sky) -> None:
    sky.fails("Failed to acquire resources in us-east-1")  # at the trial
    with pytest.raises(CloudError) as refused:
        cloud.main(["create", *ADA, SHAPE])
    assert refused.value.kind == "capacity" and sky.state["clusters"] == {} and CloudLedger().machines() == []


@pytest.mark.parametrize(
    "arguments",
    [["create"], ["create", SHAPE, "--nvme_count=1"], ["create", SHAPE, "--lease=1s"], ["start"]],
)
def test_what_cannot_be_is_refused(arguments: list[str], sky: Sky) -> None:
    with pytest.raises(OptionError):
        cloud.main([*arguments, *ADA])
    assert sky.state["clusters"] == {}


@pytest.mark.parametrize("arguments", [["start", "--region=r"], ["start", "--lease=1h"], ["start", "--prov=aws"]])
def test_our_flags_are_for_other_clouds_and_in_full(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PERFZERO_CLOUD_PROVIDER", raising=False)
    with pytest.raises(SystemExit) as ended:
        cloud.main(arguments)
    assert ended.value.code == 1 and "usage" in capsys.readouterr().err


def test_help_names_our_flags(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cloud.main(["create", "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0 and "--provider NAME" in shown and "PERFZERO_CLOUD_PROVIDER" in shown
