"""Oracle's cloud against a fake of its HTTP interface that checks requests with the library's own models."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import oracle_cloud
from benchwright.cloud.providers.oci import Oci
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market
from cloud_contract import KEY, USER_DATA, CloudContract, Stage
from oracle_cloud import CHILD, DOMAINS, FLEXIBLE, REGION, TENANCY, write_profile


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_profile(tmp_path_factory.mktemp("oci"))


@pytest.fixture
def stage(profile: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    with oracle_cloud.staged(profile, monkeypatch) as found:
        yield found


class TestOci(CloudContract):
    pass


def _body(stage: Stage) -> dict[str, Any]:
    return next(one.body for one in reversed(stage.peer.requests) if one.method == "POST")


def test_key_user_data_size_and_network_go_along(stage: Stage) -> None:
    stage.make().create(replace(stage.order, disk_gb=80))
    body = _body(stage)
    assert (body["shape"], body["shapeConfig"]) == ("VM.Standard.E5.Flex", {"ocpus": 2.0, "memoryInGBs": 16.0})
    assert base64.b64decode(body["metadata"]["user_data"]).decode() == USER_DATA
    assert body["metadata"]["ssh_authorized_keys"] == KEY
    assert body["sourceDetails"]["bootVolumeSizeInGBs"] == 80
    assert body["createVnicDetails"]["subnetId"] == "ocid1.subnet.benchwright"


@pytest.mark.parametrize(
    ("text", "name", "vcpus", "cores", "gib"),
    [
        ("VM.Standard.E5.Flex", "VM.Standard.E5.Flex.1.16", 2, 1, 16),
        ("VM.Standard.A1.Flex.4.24", "VM.Standard.A1.Flex.4.24", 4, 4, 24),
        ("VM.Standard2.2", "VM.Standard2.2", 4, 2, 30),
        ("VM.GPU.A10.1", "VM.GPU.A10.1", 30, 15, 240),
    ],
)
def test_shapes_fixed_flexible_and_with_accelerators(
    text: str, name: str, vcpus: int, cores: int, gib: int, stage: Stage
) -> None:
    found = stage.make().check(replace(stage.order, shape=text))
    assert (found.name, found.vcpus, found.cores, found.memory_bytes) == (name, vcpus, cores, gib << 30)
    assert found.accelerators == (("NVIDIA A10",) if "GPU" in text else ())
    assert found.architecture == ("arm64" if ".A1." in text else "x86_64")


@pytest.mark.parametrize(("shape", "kind"), [(FLEXIBLE, "x86"), ("VM.Standard.A1.Flex.1.6", "aarch64")])
def test_the_image_follows_the_shape(shape: str, kind: str, stage: Stage) -> None:
    made = stage.make().create(replace(stage.order, shape=shape))
    assert made.image == f"ocid1.image.{kind}.Canonical-Ubuntu-24.04" and made.shape == shape


def test_a_domain_without_capacity_leads_to_the_next(stage: Stage) -> None:
    stage.peer.capacity = {DOMAINS[1]}
    assert stage.make().create(stage.order).zone == DOMAINS[1]
    assert stage.make().create(stage.order).zone == DOMAINS[1] and stage.peer.left_over() == 1
    with pytest.raises(CloudError) as refused:
        stage.make().create(replace(stage.order, token="1" * 32, zone="AD-1"))
    assert refused.value.kind == "capacity"


def test_machines_of_every_compartment_are_found(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    first = stage.make().create(stage.order)
    monkeypatch.setenv("OCI_COMPARTMENT_ID", CHILD)
    second = stage.make().create(replace(stage.order, token="1" * 32))
    monkeypatch.delenv("OCI_COMPARTMENT_ID")
    places = {one["id"]: one["compartmentId"] for one in stage.peer.machines.values()}
    assert places == {first.id: TENANCY, second.id: CHILD}
    assert [one.id for one in stage.make().instances(REGION)] == [first.id, second.id]


def test_the_disk_goes_with_a_preemptible_machine(stage: Stage) -> None:
    stage.make().create(replace(stage.order, market=Market.SPOT))
    action = _body(stage)["preemptibleInstanceConfig"]["preemptionAction"]
    assert action == {"type": "TERMINATE", "preserveBootVolume": False}


@pytest.mark.parametrize(
    "changed",
    [
        {"shape": "VM.Standard.E5.Flex.65.128"},
        {"shape": "VM.Standard.E5.Flex.1.128"},
        {"zone": "AD-3"},
        {"accelerator": "a10"},
        {"market": Market.SPOT, "most_per_hour": 0.1},
        {"options": {"address": "none"}},
    ],
)
def test_what_oracle_has_not_is_refused_before_anything_is_ordered(changed: dict[str, Any], stage: Stage) -> None:
    with pytest.raises(OptionError):
        stage.make().check(replace(stage.order, **changed))


@pytest.mark.parametrize("count", [0, 2])
def test_a_subnet_that_cannot_be_guessed_must_be_named(count: int, stage: Stage) -> None:
    stage.peer.subnets = [{"id": f"ocid1.subnet.{n}", "displayName": str(n)} for n in range(count)]
    with pytest.raises(OptionError, match="subnet") as refused:
        stage.make().check(stage.order)
    assert "?subnet=ID" in refused.value.remedy
    stage.make().check(replace(stage.order, options={"subnet": "ocid1.subnet.x"}))


def test_the_profile_counts(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Oci().default_region() == REGION and Oci().payer(REGION) == "OCI tenancy lab"
    monkeypatch.setenv("OCI_CLI_PROFILE", "OTHER")
    with pytest.raises(CloudError, match="ProfileNotFound") as refused:
        Oci().payer(REGION)
    assert refused.value.kind == "login"
    monkeypatch.setenv("OCI_CLI_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(CloudError, match="nobody is signed in"):
        Oci().default_region()
