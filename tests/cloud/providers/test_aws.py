"""Amazon's answers, made by botocore's own stubs, which hold requests and answers against its model of EC2."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore import exceptions
from botocore.stub import ANY, Stubber

from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order
from benchwright.cloud.providers import aws, aws_images
from benchwright.cloud.providers.aws_errors import explained
from benchwright.errors import CloudError, NotInstalledError, OptionError
from benchwright.records.prices import Market

REGION = "eu-central-1"
GPU = MachineShape(provider="aws", name="g5.xlarge", region=REGION, vcpus=4, accelerators=("NVIDIA A10G",))


@pytest.fixture(scope="module")
def client() -> Any:
    return boto3.client("ec2", region_name=REGION, aws_access_key_id="x", aws_secret_access_key="y")


@pytest.fixture
def ec2(client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    monkeypatch.setattr(aws, "_client", lambda service, region: client)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("InsufficientInstanceCapacity", 500, "capacity"),
        ("SpotMaxPriceTooLow", 400, "capacity"),
        ("RequestLimitExceeded", 503, "throttled"),
        ("VcpuLimitExceeded", 400, "quota"),
        ("MaxSpotInstanceCountExceeded", 400, "quota"),
        ("UnauthorizedOperation", 403, "login"),
        ("ExpiredToken", 400, "login"),
        ("RequestExpired", 400, "login"),
        ("OptInRequired", 401, "login"),
        ("Unsupported", 400, "shape"),
        ("InternalError", 500, "lost"),
        ("SomethingNew", 500, "lost"),
        ("SomethingNew", 400, "other"),
    ],
)
def test_refusals_are_told_apart(ec2: Stubber, code: str, status: int, kind: str) -> None:
    message = "since\nx-amz-security-token:FwoGZXIvY" if kind == "login" else "since " + "x" * 1000
    ec2.add_client_error("describe_instances", code, message, http_status_code=status)
    with pytest.raises(
        CloudError, match=code if code not in ("ExpiredToken", "RequestExpired") else "expired"
    ) as caught:
        aws.Aws().instances(REGION)
    assert caught.value.kind == kind and len(caught.value.message) < 500 and "FwoGZXIvY" not in str(caught.value)
    assert caught.value.remedy or kind == "other"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exceptions.NoCredentialsError(), "login"),
        (exceptions.TokenRetrievalError(provider="sso", error_msg="expired"), "login"),
        (exceptions.ProfileNotFound(profile="nobody"), "login"),
        (exceptions.ReadTimeoutError(endpoint_url="https://e"), "lost"),
        (exceptions.ConnectionClosedError(endpoint_url="https://e"), "lost"),
        (exceptions.EndpointConnectionError(endpoint_url="https://e"), "lost"),
        (exceptions.ParamValidationError(report="wrong"), "other"),
    ],
)
def test_failures_of_the_library_are_told_apart(error: Exception, kind: str) -> None:
    with pytest.raises(CloudError) as caught, explained("this"):
        raise error
    assert caught.value.kind == kind and "this" in caught.value.message


def test_a_spot_machine_that_is_taken_is_told_with_the_reason(ec2: Stubber) -> None:
    machine = Instance(provider="aws", id="i-1", region=REGION, state=InstanceState.RUNNING, market=Market.SPOT)
    wanted = {"Filters": [{"Name": "instance-id", "Values": ["i-1"]}]}
    for code, message in (("fulfilled", "Your request is fulfilled."), ("marked-for-termination", "It is marked.")):
        ec2.add_response(
            "describe_spot_instance_requests",
            {"SpotInstanceRequests": [{"Status": {"Code": code, "Message": message}}]},
            wanted,
        )
    assert aws.Aws().will_be_taken(machine) == ""
    assert aws.Aws().will_be_taken(machine) == "spot: It is marked."


def test_a_machine_that_has_ended_says_when_and_why(ec2: Stubber) -> None:
    told = {
        "InstanceId": "i-1",
        "InstanceType": "g5.xlarge",
        "State": {"Name": "terminated"},
        "StateTransitionReason": "Server.SpotInstanceTermination (2026-11-17 12:34:56 GMT)",
        "StateReason": {"Code": "Server.SpotInstanceTermination", "Message": "Spot capacity was needed"},
        "InstanceLifecycle": "spot",
        "LaunchTime": datetime(2026, 11, 17, 12, tzinfo=UTC),
        "Placement": {"AvailabilityZone": "eu-central-1a", "HostId": "h-1"},
        "Tags": [{"Key": TOKEN_LABEL, "Value": "a" * 32}],
    }
    ec2.add_response("describe_instances", {"Reservations": [{"Instances": [told]}]}, {"InstanceIds": ["i-1"]})
    found = aws.Aws().get("i-1", REGION)
    assert found is not None and found.is_gone and found.ended_at == "2026-11-17T12:34:56+00:00"
    assert (found.launched_at, found.host) == ("2026-11-17T12:00:00+00:00", "h-1")
    assert aws.Aws().will_be_taken(found) == "Server.SpotInstanceTermination Spot capacity was needed"


def test_a_machine_that_the_cloud_does_not_know_is_none(ec2: Stubber) -> None:
    ec2.add_client_error("describe_instances", "InvalidInstanceID.NotFound")
    assert aws.Aws().get("i-0", REGION) is None
    ec2.add_client_error("describe_instances", "InvalidInstanceID.NotFound")
    aws.Aws().end("i-0", REGION)


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ({"GpuInfo": {"Gpus": [{"Name": "A10G", "Manufacturer": "NVIDIA", "Count": 2}]}}, ("NVIDIA A10G",) * 2),
        ({"InferenceAcceleratorInfo": {"Accelerators": [{"Name": "Inferentia2", "Count": 1}]}}, ("Inferentia2",)),
        ({"NeuronInfo": {"NeuronDevices": [{"Name": "Trainium", "Count": 1}]}}, ("Trainium",)),
        ({}, ()),
    ],
)
def test_a_shape_is_told_with_its_accelerators(ec2: Stubber, told: dict[str, Any], names: tuple[str, ...]) -> None:
    answer = {
        "InstanceType": "g5.xlarge",
        "VCpuInfo": {"DefaultVCpus": 4, "DefaultCores": 2},
        "MemoryInfo": {"SizeInMiB": 16384},
        "ProcessorInfo": {"SupportedArchitectures": ["i386", "x86_64"]},
        **told,
    }
    ec2.add_response("describe_instance_types", {"InstanceTypes": [answer]}, {"InstanceTypes": ["g5.xlarge"]})
    order = Order(token="a" * 32, provider="aws", shape="g5.xlarge", region=REGION)
    shape, _ = aws.Aws()._shape(ec2.client, order)
    assert (shape.vcpus, shape.cores, shape.memory_bytes, shape.architecture) == (4, 2, 16 << 30, "x86_64")
    assert shape.accelerators == names


def test_a_machine_with_a_gpu_gets_an_image_with_its_driver_or_none(ec2: Stubber) -> None:
    class NoParameters:
        def get_parameter(self, Name: str) -> Any:  # noqa: N803 - Amazon's word
            asked.append(Name)
            raise exceptions.ClientError({"Error": {"Code": "ParameterNotFound"}}, "GetParameter")

    asked: list[str] = []
    order = Order(token="a" * 32, provider="aws", shape="g5.xlarge", region=REGION)
    ec2.add_response("describe_images", {"Images": []}, {"Owners": ["amazon"], "Filters": ANY})
    with pytest.raises(OptionError, match="no image the usual one for x86_64"):
        aws_images.find_image(ec2.client, NoParameters, order, GPU)
    assert ["nvidia" in name for name in asked] == [True]
    images = [
        {"ImageId": f"ami-{day}", "Name": "Deep Learning Base AMI (Ubuntu 24.04)", "CreationDate": f"2026-11-0{day}"}
        for day in (1, 3, 2)
    ]
    ec2.add_response("describe_images", {"Images": images}, {"Owners": ["amazon"], "Filters": ANY})
    found = aws_images.find_image(ec2.client, NoParameters, order, GPU)
    assert (found.id, found.login) == ("ami-3", "ubuntu")


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("boto3", "botocore", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    aws.forget_clients()
    with pytest.raises(NotInstalledError, match=r"benchwright\[aws\]"):
        aws.Aws().default_region()


def test_help_loads_no_library_of_a_vendor(tmp_path: Path) -> None:
    script = (
        "import sys; from benchwright.cli import main; main(['cloud', '--help']); main(['cloud', 'list'])\n"
        "sys.exit(' '.join({'boto3', 'botocore', 'google', 'azure', 'oci'} & sys.modules.keys()))"
    )
    # A ledger of its own: where other tests have noted machines, their cloud is asked.
    environment = {**os.environ, "BENCHWRIGHT_CLOUD_LEDGER": str(tmp_path / "cloud.jsonl")}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert ended.stderr.strip() == ""
