"""SkyPilot's command line, with a `sky` that keeps clusters in a file and plays faults."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchwright.cloud.calls import create_once
from benchwright.cloud.orders import InstanceState
from benchwright.cloud.providers.skypilot import SkyPilot, parse_clusters
from benchwright.errors import CloudError, NotInstalledError, OptionError
from benchwright.records.prices import Market
from cloud_contract import KEY, TOKEN, sleepless, usual_order
from sky_program import Sky, install_sky

NAME = f"bw-{TOKEN}"
ORDER = usual_order(provider="skypilot", shape="m6i.large", region="us-east-1", options={"cloud": "aws"})


@pytest.fixture
def sky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sky:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return install_sky(tmp_path)


def test_a_machine_from_its_order_to_its_end(sky: Sky) -> None:
    cloud = SkyPilot()
    shape = cloud.check(ORDER)
    assert (shape.vcpus, shape.memory_bytes, shape.accelerators) == (2, 8 << 30, ())
    made = cloud.create(ORDER)
    assert (made.id, made.token, made.shape, made.address) == (NAME, TOKEN, "m6i.large", NAME)
    assert made.expires == ORDER.expires and made.launched_at == "2026-11-18T11:06:40+00:00"
    assert cloud.instances("us-east-1") == cloud.instances("any", TOKEN) == [made]
    assert cloud.instances("us-east-2") == [] == cloud.instances("any", "f" * 32)
    assert cloud.create(ORDER) == made and len(sky.calls("launch")) == 2  # one was the trial
    cloud.stop(NAME, made.region)
    assert parse_clusters(json.dumps(list(sky.state["clusters"].values())))[0].state is InstanceState.STOPPED
    cloud.start(NAME, made.region)
    cloud.end(NAME, made.region)
    cloud.end(NAME, made.region)
    assert cloud.get(NAME, made.region) is None and len(sky.calls("down")) == 1


def test_skypilot_is_told_what_and_where_and_until_when(sky: Sky) -> None:
    boot = '#cloud-config\n{"bootcmd": [["/bin/sh", "-c", "echo a b"]], "runcmd": [["/bin/sh", "-c", "echo c"]],'
    boot += ' "ssh_authorized_keys": ["ssh-ed25519 AAAAown benchwright"]}\n'
    fresh = usual_order(provider="skypilot", shape="m6i.large", region="us-east-1", options={"cloud": "aws"})
    order = replace(fresh, market=Market.SPOT, zone="us-east-1a", disk_gb=64, image="ami-1", user_data=boot)
    assert SkyPilot().create(order).market is Market.SPOT
    words = sky.calls("launch")[0]
    assert words[:8] == ["launch", "-y", "-c", NAME, "-t", "m6i.large", "--infra", "aws/us-east-1/us-east-1a"]
    assert "--use-spot" in words and words[words.index("--disk-size") + 1] == "64"
    assert words[words.index("--image-id") + 1] == "ami-1"
    timer = sky.calls("autostop")[0]
    assert timer[:2] == ["autostop", "-y"] and timer[4:] == ["--down", "--wait-for", "none", NAME]
    assert 110 <= int(timer[3]) <= 117  # two hours, less what the machine itself needs to end
    assert sky.task["resources"]["labels"] == order.labels
    first, second, key, own = sky.task["setup"].splitlines()
    assert (first, second) == ("sudo /bin/sh -c 'echo a b'", "sudo /bin/sh -c 'echo c'")
    assert KEY in key and "AAAAown" in own


@pytest.mark.parametrize(("region", "zone", "cloud", "infra"), [("any", "", "", ""), ("any", "", "gcp", "gcp")])
def test_what_is_not_said_is_skypilots_choice(region: str, zone: str, cloud: str, infra: str, sky: Sky) -> None:
    SkyPilot().create(replace(ORDER, region=region, zone=zone, options={"cloud": cloud} if cloud else {}))
    words = sky.calls("launch")[0]
    assert (words[words.index("--infra") + 1] if "--infra" in words else "") == infra


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("ResourcesUnavailableError: Failed to acquire resources in us-east-1", "capacity"),
        ("VcpuLimitExceeded: You have requested more vCPU than your quota", "quota"),
        ("Cloud access is not set up. Run: \x1b[1msky check\x1b[0m", "login"),
        ("Too many requests", "throttled"),
        ("ValueError: Invalid region 'moon'", "shape"),
        ("ConnectionError: connection refused: the API server", "lost"),
        ("what is this", "other"),
    ],
)
def test_refusals_are_told_apart(said: str, kind: str, sky: Sky) -> None:
    sky.fails(said)
    with pytest.raises(CloudError) as refused:
        SkyPilot().create(ORDER)
    assert refused.value.kind == kind and "\x1b" not in str(refused.value)


@pytest.mark.parametrize("is_done", [False, True])
def test_a_lost_answer_makes_no_second_machine(is_done: bool, sky: Sky) -> None:
    sky.fails("remote end closed the connection", is_done=is_done)
    assert create_once(SkyPilot(), ORDER, sleep=sleepless).id == NAME
    assert list(sky.state["clusters"]) == [NAME]


def test_clusters_of_others_are_not_seen_and_not_touched(sky: Sky) -> None:
    sky.write({"clusters": {"train": {"name": "train", "status": "UP"}}, "faults": []})
    assert SkyPilot().instances("any") == []
    with pytest.raises(CloudError, match="not ordered by Benchwright"):
        SkyPilot().end("train", "any")
    assert list(sky.state["clusters"]) == ["train"] and sky.calls("down") == []


def test_an_unknown_shape_and_a_highest_price_are_refused(sky: Sky) -> None:
    with pytest.raises(OptionError, match="there is no shape 'm6i"):
        SkyPilot().check(replace(ORDER, shape="m6i.largest"))
    with pytest.raises(OptionError, match="highest spot price"):
        SkyPilot().check(replace(ORDER, most_per_hour=0.1))


def test_who_pays_and_where(sky: Sky) -> None:
    assert SkyPilot().payer("any") == "SkyPilot's clouds: aws, gcp" and SkyPilot().default_region() == "any"


@pytest.mark.parametrize("text", ["", "{}", "[", "null", '[{"name": 3}, 7]'])
def test_an_answer_that_is_none_is_a_sentence(text: str) -> None:
    try:
        assert parse_clusters(text) == []
    except CloudError as error:
        assert error.remedy


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalledError, match="SkyPilot"):
        SkyPilot().payer("any")
