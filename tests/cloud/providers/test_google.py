"""Google's cloud against a fake of its HTTP interface that checks requests with Google's own types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import google_cloud
from benchwright.cloud.providers.google import Google
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market
from cloud_contract import KEY, USER_DATA, CloudContract, Stage
from google_cloud import PROJECT, REGION, ZONES, key_file


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("google") / "key.json"
    path.write_text(key_file(), encoding="utf-8")
    return path


@pytest.fixture
def stage(login: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with google_cloud.staged(login, tmp_path, monkeypatch) as found:
        yield found


class TestGoogle(CloudContract):
    pass


def test_google_deletes_the_machine_itself_at_its_expiry(stage: Stage) -> None:
    stage.make().create(stage.order)
    body = stage.peer.requests[-3].body
    assert 7100 < int(body["scheduling"]["maxRunDuration"]["seconds"]) <= 7200
    assert body["scheduling"]["instanceTerminationAction"] == "DELETE"
    assert body["disks"][0]["autoDelete"] is True
    items = {item["key"]: item["value"] for item in body["metadata"]["items"]}
    assert items["user-data"] == USER_DATA and items["ssh-keys"] == f"ubuntu:{KEY}"


@pytest.mark.parametrize(
    ("shape", "image", "disk"),
    [("c3-standard-4", "amd64", "pd-balanced"), ("c4a-standard-2", "arm64", "hyperdisk-balanced")],
)
def test_image_and_disk_follow_the_shape(shape: str, image: str, disk: str, stage: Stage) -> None:
    stage.make().create(replace(stage.order, shape=shape, disk_gb=40))
    made = stage.peer.requests[-3].body["disks"][0]["initializeParams"]
    assert made["sourceImage"].endswith(f"ubuntu-2404-lts-{image}") and made["diskType"].endswith(disk)
    assert int(made["diskSizeGb"]) == 40


def test_a_zone_without_capacity_leads_to_the_next(stage: Stage) -> None:
    stage.peer.capacity = {ZONES[1]}
    made = stage.make().create(stage.order)
    assert made.zone == ZONES[1] and stage.peer.left_over() == 1
    with pytest.raises(CloudError) as refused:
        stage.make().create(replace(stage.order, token="1" * 32, zone=ZONES[0]))
    assert refused.value.kind == "capacity"


def test_an_accelerator_beside_the_shape_decides_the_zone(stage: Stage) -> None:
    order = replace(stage.order, shape="n1-standard-4", accelerator="nvidia-tesla-t4:2")
    assert stage.make().check(order).accelerators == ("nvidia-tesla-t4",) * 2
    assert stage.make().create(order).zone == ZONES[1]
    body = stage.peer.requests[-3].body
    assert body["guestAccelerators"][0]["acceleratorCount"] == 2
    assert body["scheduling"]["onHostMaintenance"] == "TERMINATE"
    with pytest.raises(OptionError, match="no accelerator"):
        stage.make().check(replace(order, accelerator="nvidia-tesla-t5"))


def test_a_spot_machine_that_google_takes_back_is_told(stage: Stage) -> None:
    made = stage.make().create(replace(stage.order, market=Market.SPOT))
    stage.peer.preempted.append(made.id.partition("/")[2])
    assert stage.make().will_be_taken(made) == "spot: Instance was preempted."


def test_settings_of_gcloud_count(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="no region"):
        Google().default_region()
    (tmp_path / "configurations").mkdir()
    (tmp_path / "configurations" / "config_default").write_text("[compute]\nzone = europe-west4-b\n", encoding="utf-8")
    assert Google().default_region() == REGION
    monkeypatch.setenv("CLOUDSDK_COMPUTE_REGION", "us-west1")
    assert Google().default_region() == "us-west1"
    assert Google().payer(REGION) == f"Google project {PROJECT}"


@pytest.mark.parametrize(
    "changed",
    [{"region": "europe-west9"}, {"zone": "us-west1-a"}, {"most_per_hour": 0.1}, {"options": {"address": "none"}}],
)
def test_what_google_has_not_is_refused_before_anything_is_ordered(changed: dict[str, Any], stage: Stage) -> None:
    with pytest.raises(OptionError):
        stage.make().check(replace(stage.order, **changed))


def test_nobody_is_signed_in(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", PROJECT)
    with pytest.raises(CloudError, match="nobody is signed in") as refused:
        Google().payer(REGION)
    assert refused.value.kind == "login"
