"""Azure against a fake of its Resource Manager that checks requests with Azure's own types."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import azure_cloud
from azure_cloud import REGION, SUBSCRIPTION, make_certificate
from benchwright.cloud.orders import InstanceState, instant
from benchwright.cloud.providers.azure import Azure
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market
from cloud_contract import KEY, TOKEN, USER_DATA, CloudContract, Stage
from cloud_peer import Fault

NAME = f"benchwright-{TOKEN}"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    return make_certificate(tmp_path_factory.mktemp("azure"))


@pytest.fixture
def stage(secured: tuple[ssl.SSLContext, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with azure_cloud.staged(secured, tmp_path, monkeypatch) as found:
        yield found


class TestAzure(CloudContract):
    pass


def _body(stage: Stage, kind: str) -> dict[str, Any]:
    return next(one.body for one in reversed(stage.peer.requests) if one.method == "PUT" and f"/{kind}/" in one.path)


def test_key_user_data_and_parts_that_go_with_the_machine(stage: Stage) -> None:
    stage.make().create(replace(stage.order, zone="2", disk_gb=64))
    machine = _body(stage, "virtualMachines")
    inner = machine["properties"]
    assert machine["zones"] == ["2"] and inner["storageProfile"]["osDisk"]["diskSizeGB"] == 64
    assert base64.b64decode(inner["osProfile"]["customData"]).decode() == USER_DATA
    assert inner["osProfile"]["linuxConfiguration"]["ssh"]["publicKeys"][0]["keyData"] == KEY
    assert inner["storageProfile"]["osDisk"]["deleteOption"] == "Delete"
    assert inner["networkProfile"]["networkInterfaces"][0]["properties"]["deleteOption"] == "Delete"
    assert _body(stage, "publicIPAddresses")["zones"] == ["2"]
    assert sorted(stage.peer.groups) == ["benchwright"]


@pytest.mark.parametrize(("hours", "is_armed"), [(2, True), (40, False)])
def test_azures_own_timer_is_armed_for_leases_of_less_than_a_day(hours: int, is_armed: bool, stage: Stage) -> None:
    end = datetime.now(UTC) + timedelta(hours=hours)
    stage.make().create(replace(stage.order, expires=instant(end)))
    armed = [name for name in stage.peer.things if "schedules" in name]
    assert armed == ([f"Microsoft.DevTestLab/schedules/shutdown-computevm-{NAME}"] if is_armed else [])
    if is_armed:
        told = _body(stage, "schedules")["properties"]
        assert told["dailyRecurrence"]["time"] == (end + timedelta(minutes=1)).strftime("%H%M")
        assert told["targetResourceId"].endswith(NAME) and told["timeZoneId"] == "UTC"


@pytest.mark.parametrize(
    ("shape", "sku", "controller"),
    [("Standard_D2s_v5", "server", None), ("Standard_D2ps_v6", "server-arm64", "NVMe")],
)
def test_the_image_follows_the_shape(shape: str, sku: str, controller: str | None, stage: Stage) -> None:
    stage.make().create(replace(stage.order, shape=shape))
    storage = _body(stage, "virtualMachines")["properties"]["storageProfile"]
    assert storage["imageReference"]["sku"] == sku and storage.get("diskControllerType") == controller


def test_parts_without_a_machine_are_found_and_ended(stage: Stage) -> None:
    stage.peer.faults.append(Fault(r"PUT .*/virtualMachines/", cut="before"))
    with pytest.raises(CloudError) as lost:
        stage.make().create(stage.order)
    assert lost.value.kind == "lost" and stage.peer.left_over() == 2  # the interface and the address
    cloud = stage.make()
    (orphan,) = cloud.instances(REGION)
    assert (orphan.token, orphan.state, orphan.expires) == (TOKEN, InstanceState.UNKNOWN, stage.order.expires)
    cloud.end(orphan.id, REGION)
    assert stage.peer.left_over() == 0 and cloud.instances(REGION) == []


@pytest.mark.parametrize(("most", "told"), [(None, -1), (0.02, 0.02)])
def test_the_highest_spot_price_goes_along(most: float | None, told: float, stage: Stage) -> None:
    stage.make().create(replace(stage.order, market=Market.SPOT, most_per_hour=most))
    inner = _body(stage, "virtualMachines")["properties"]
    assert (inner["priority"], inner["evictionPolicy"], inner["billingProfile"]["maxPrice"]) == ("Spot", "Delete", told)


@pytest.mark.parametrize(
    "changed",
    [
        {"shape": "Standard_D8s_v5", "zone": "2"},
        {"shape": "Standard_NC4as_T4_v3", "market": Market.SPOT},
        {"accelerator": "t4"},
        {"public_key": ""},
        {"image": "ubuntu"},
        {"options": {"guard": "maybe"}},
    ],
)
def test_what_azure_has_not_is_refused_before_anything_is_ordered(changed: dict[str, Any], stage: Stage) -> None:
    with pytest.raises(OptionError):
        stage.make().check(replace(stage.order, **changed))


def test_a_shape_that_the_subscription_may_not_have(stage: Stage) -> None:
    with pytest.raises(CloudError, match="not offered to this subscription") as refused:
        stage.make().check(replace(stage.order, shape="Standard_M8ms"))
    assert refused.value.kind == "shape"


def test_settings_of_az_count(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="no region"):
        Azure().default_region()
    (tmp_path / "config").write_text("[defaults]\nlocation = westeurope\n", encoding="utf-8")
    assert Azure().default_region() == REGION
    assert Azure().payer(REGION) == f"Azure subscription {SUBSCRIPTION}"


def test_nobody_is_signed_in(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "az").write_text("#!/bin/sh\necho \"Please run 'az login' to setup account.\" >&2; exit 1\n")
    with pytest.raises(CloudError) as refused:
        Azure().payer(REGION)
    assert refused.value.kind == "login" and "az login" in refused.value.remedy
