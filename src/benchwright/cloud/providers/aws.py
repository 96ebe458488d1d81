"""Amazon's cloud, through boto3 and its own chain of credentials: `pip install 'benchwright[aws]'`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order, instant
from benchwright.cloud.providers import aws_images
from benchwright.cloud.providers.aws_errors import code_of, explained
from benchwright.errors import CloudError, NotInstalledError, OptionError, did_you_mean
from benchwright.records.prices import Market

GROUP = "benchwright-ssh"  # a security group of this name is used where none is named
CONNECT, ANSWER = 10, 60  # seconds
_ARCHITECTURES = {"x86_64": "x86_64", "x86_64_mac": "x86_64", "arm64": "arm64", "arm64_mac": "arm64", "i386": "x86_64"}
_STATES = {
    "pending": InstanceState.PENDING,
    "running": InstanceState.RUNNING,
    "stopping": InstanceState.STOPPING,
    "stopped": InstanceState.STOPPED,
    "shutting-down": InstanceState.ENDED,
    "terminated": InstanceState.ENDED,
}
_TRANSITION = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) GMT\)")
_TAKEN = (  # how the status of a spot request begins when the machine was, or is being, taken away
    "marked-for-",
    "instance-stopped-",
    "instance-terminated-by-price",
    "instance-terminated-by-service",
    "instance-terminated-no-capacity",
    "instance-terminated-capacity-oversubscribed",
)


class Aws:
    """Machines of EC2."""

    name = "aws"
    options: Mapping[str, str] = {
        "subnet": "the subnet to start it in: subnet-0123; default: one of the default network",
        "security_group": f"its security group: sg-0123; default: the one that is called {GROUP}, if there is one",
        "key_pair": "a key pair of EC2, beside the public key that is sent along",
        "profile": "an instance profile of IAM, by name",
    }

    def __init__(self) -> None:
        self._requests: dict[str, tuple[dict[str, Any], str]] = {}  # what `check` found out, by token

    def default_region(self) -> str:
        with explained("which region"):
            region = _session().region_name
        if not region:
            raise OptionError(
                "aws: no region is named",
                remedy="write it as aws/SHAPE@eu-central-1, or set AWS_REGION, or `aws configure`",
            )
        return str(region)

    def payer(self, region: str) -> str:
        with explained("who is signed in"):
            identity = self._client("sts", region).get_caller_identity()
        return f"AWS account {identity['Account']} ({identity['Arn']})"

    # ---- orders ----

    def check(self, order: Order) -> MachineShape:
        ec2 = self._client("ec2", order.region)
        shape, facts = self._shape(ec2, order)
        self._check_zone(order)
        if order.market is Market.SPOT and "spot" not in facts.get("SupportedUsageClasses", ("spot",)):
            raise OptionError(f"aws: {order.shape} is not sold on the spot market", remedy="leave :spot out")
        with explained(f"the image {order.image or 'for ' + shape.architecture}"):
            image = aws_images.find_image(ec2, lambda: self._client("ssm", order.region), order, shape)
        request = self._request(ec2, order, image)
        with explained(f"a trial of ordering {order.shape}"):
            _try_out(ec2, request)
        self._requests[order.token] = request, order.login or image.login
        return shape

    def create(self, order: Order) -> Instance:
        if order.token not in self._requests:
            self.check(order)
        request, login = self._requests[order.token]
        with explained(f"ordering {order.shape} in {order.zone or order.region}"):
            told = self._client("ec2", order.region).run_instances(**request)
            found = told.get("Instances") or []
        if len(found) != 1:
            raise CloudError(f"aws: {len(found)} machines came of one order", kind="lost")
        return replace(_instance(found[0], order.region), token=order.token, login=login)

    def instances(self, region: str, token: str = "") -> list[Instance]:
        named = (
            {"Name": f"tag:{TOKEN_LABEL}", "Values": [token]} if token else {"Name": "tag-key", "Values": [TOKEN_LABEL]}
        )
        with explained(f"which machines there are in {region}"):
            found = [_instance(one, region) for one in _describe(self._client("ec2", region), Filters=[named])]
        return [one for one in found if one.token and (not token or one.token == token)]

    def get(self, instance_id: str, region: str) -> Instance | None:
        with explained(f"how {instance_id} is"):
            try:
                found = [
                    _instance(one, region) for one in _describe(self._client("ec2", region), InstanceIds=[instance_id])
                ]
            except Exception as error:  # of a class that the library makes at run time
                if code_of(error) in ("InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"):
                    return None
                raise
        return found[0] if found else None

    def start(self, instance_id: str, region: str) -> None:
        self._ours(instance_id, region)
        with explained(f"starting {instance_id}"):
            self._client("ec2", region).start_instances(InstanceIds=[instance_id])

    def stop(self, instance_id: str, region: str) -> None:
        found = self._ours(instance_id, region)
        if found is not None and found.market is Market.SPOT:
            raise OptionError(
                f"aws: {instance_id} is a spot machine, which cannot be stopped",
                remedy="end it: benchwright cloud down",
            )
        with explained(f"stopping {instance_id}"):
            self._client("ec2", region).stop_instances(InstanceIds=[instance_id])

    def end(self, instance_id: str, region: str) -> None:
        found = self._ours(instance_id, region)
        if found is None or found.is_gone:
            return
        with explained(f"ending {instance_id}"):
            self._client("ec2", region).terminate_instances(InstanceIds=[instance_id])

    def _ours(self, instance_id: str, region: str) -> Instance | None:
        """A machine that carries our label; whatever a ledger says, no other is touched."""
        found = self.get(instance_id, region)
        if found is not None and not found.token:
            raise CloudError(f"aws: {instance_id} was not ordered by Benchwright", remedy="end it with the aws command")
        return found

    def will_be_taken(self, instance: Instance) -> str:
        if instance.market is not Market.SPOT:
            return ""
        if "Server.Spot" in instance.reason:
            return instance.reason
        with explained(f"whether {instance.id} is taken away"):
            told = self._client("ec2", instance.region).describe_spot_instance_requests(
                Filters=[{"Name": "instance-id", "Values": [instance.id]}]
            )
        for request in told.get("SpotInstanceRequests", ()):
            status = request.get("Status", {})
            if str(status.get("Code", "")).startswith(_TAKEN):
                return f"spot: {status.get('Message') or status.get('Code')}"
        return ""

    # ---- what an order asks for ----

    def _shape(self, ec2: Any, order: Order) -> tuple[MachineShape, dict[str, Any]]:
        with explained(f"what {order.shape} is"):
            try:
                found = ec2.describe_instance_types(InstanceTypes=[order.shape])["InstanceTypes"]
            except Exception as error:  # of a class that the library makes at run time
                if code_of(error) not in ("InvalidInstanceType", "InvalidParameterValue"):
                    raise
                found = []
            if not found:
                raise _unknown_shape(ec2, order)
        return _machine_shape(found[0], order.region), found[0]

    def zones(self, order: Order) -> list[str]:
        with explained(f"where {order.shape} is offered"):
            told = self._client("ec2", order.region).describe_instance_type_offerings(
                LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [order.shape]}]
            )
        return sorted(str(one["Location"]) for one in told["InstanceTypeOfferings"])

    def _check_zone(self, order: Order) -> None:
        zones = self.zones(order)
        if not zones:
            raise OptionError(f"aws: {order.shape} is not offered in {order.region}", remedy="name another region")
        if order.zone and order.zone not in zones:
            raise OptionError(
                f"aws: {order.shape} is not offered in the zone {order.zone}", remedy=f"one of {', '.join(zones)}"
            )

    def _request(self, ec2: Any, order: Order, image: aws_images.FoundImage) -> dict[str, Any]:
        tags = [{"Key": name, "Value": value} for name, value in {**order.labels, "Name": _title(order)}.items()]
        kinds = ["instance", "volume", *(["spot-instances-request"] if order.market is Market.SPOT else [])]
        disk = {"DeleteOnTermination": True, "VolumeSize": image.disk_gb}
        request: dict[str, Any] = {
            "ImageId": image.id,
            "InstanceType": order.shape,
            "MinCount": 1,
            "MaxCount": 1,
            "ClientToken": order.token,
            "InstanceInitiatedShutdownBehavior": "terminate",
            "UserData": order.user_data,
            "BlockDeviceMappings": [{"DeviceName": image.root_device, "Ebs": disk}],
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
            "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in kinds],
        }
        if order.zone:
            request["Placement"] = {"AvailabilityZone": order.zone}
        if order.market is Market.SPOT:
            most = {} if order.most_per_hour is None else {"MaxPrice": f"{order.most_per_hour:.6f}"}
            spot = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate", **most}
            request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": spot}
        if group := order.options.get("security_group") or _usual_group(ec2):
            request["SecurityGroupIds"] = [group]
        for word, name in (("subnet", "SubnetId"), ("key_pair", "KeyName")):
            if value := order.options.get(word):
                request[name] = value
        if profile := order.options.get("profile"):
            request["IamInstanceProfile"] = {"Name": profile}
        return request

    def _client(self, service: str, region: str) -> Any:
        return _client(service, region)


@cache
def _session() -> Any:
    try:
        import boto3
    except ImportError:
        raise NotInstalledError("Amazon's library for Python", "'benchwright[aws]'") from None
    return boto3.session.Session()


@cache
def _client(service: str, region: str) -> Any:
    """A client that asks once: who calls knows better what may be asked again, and after which wait."""
    with explained("the login"):
        session = _session()
        known = [
            one for name in session.get_available_partitions() for one in session.get_available_regions("ec2", name)
        ]
        if region not in known:
            raise OptionError(f"aws: there is no region {region!r}", remedy=did_you_mean(region, known))
        from botocore.config import Config

        settings = Config(
            connect_timeout=CONNECT, read_timeout=ANSWER, retries={"total_max_attempts": 1, "mode": "standard"}
        )
        return session.client(service, region_name=region, config=settings)


def forget_clients() -> None:
    """Signs in anew with the next question: the environment has changed."""
    _client.cache_clear()
    _session.cache_clear()


def _describe(ec2: Any, **asked: Any) -> Iterator[dict[str, Any]]:
    for page in ec2.get_paginator("describe_instances").paginate(**asked):
        for reservation in page["Reservations"]:
            yield from reservation["Instances"]


def _try_out(ec2: Any, request: dict[str, Any]) -> None:
    """Has the request judged without anything being started: rights, network, key pair, image."""
    try:
        ec2.run_instances(**{**request, "DryRun": True})
    except Exception as error:  # of a class that the library makes at run time
        if code_of(error) != "DryRunOperation":
            raise
        return
    raise CloudError("aws: a trial run was not treated as one", remedy="see `benchwright cloud list`")


def _unknown_shape(ec2: Any, order: Order) -> OptionError:
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(LocationType="region")
    known = sorted({str(one["InstanceType"]) for page in pages for one in page["InstanceTypeOfferings"]})
    near = difflib.get_close_matches(order.shape, known, n=3, cutoff=0.5)
    return OptionError(
        f"aws: there is no shape {order.shape!r} in {order.region}",
        remedy=f"the nearest: {', '.join(near)}" if near else "see `aws ec2 describe-instance-types`",
    )


def _machine_shape(told: dict[str, Any], region: str) -> MachineShape:
    cpu, memory = told.get("VCpuInfo", {}), told.get("MemoryInfo", {}).get("SizeInMiB")
    kinds = told.get("ProcessorInfo", {}).get("SupportedArchitectures") or ["x86_64"]
    parts = [
        *told.get("GpuInfo", {}).get("Gpus", ()),
        *told.get("InferenceAcceleratorInfo", {}).get("Accelerators", ()),
    ]
    parts += told.get("NeuronInfo", {}).get("NeuronDevices", ()) if not parts else []
    names = [
        f"{one.get('Manufacturer', '')} {one.get('Name', '')}".strip()
        for one in parts
        for _ in range(one.get("Count", 1))
    ]
    return MachineShape(
        provider="aws",
        name=str(told["InstanceType"]),
        region=region,
        vcpus=int(cpu.get("DefaultVCpus", 0)),
        cores=cpu.get("DefaultCores"),
        memory_bytes=memory << 20 if memory else None,
        architecture=next((_ARCHITECTURES[one] for one in kinds if one in _ARCHITECTURES and one != "i386"), "x86_64"),
        accelerators=tuple(names),
    )


def _usual_group(ec2: Any) -> str:
    with explained(f"the security group {GROUP}"):
        found = ec2.describe_security_groups(Filters=[{"Name": "group-name", "Values": [GROUP]}])["SecurityGroups"]
    return str(found[0]["GroupId"]) if found else ""


def _title(order: Order) -> str:
    return f"benchwright {order.name or order.token[:12]}"


def _instance(told: dict[str, Any], region: str) -> Instance:
    labels = {str(tag["Key"]): str(tag["Value"]) for tag in told.get("Tags", ())}
    state = _STATES.get(told.get("State", {}).get("Name", ""), InstanceState.UNKNOWN)
    moved = _TRANSITION.search(str(told.get("StateTransitionReason", "")))
    launched = told.get("LaunchTime")
    why = told.get("StateReason", {})
    return Instance(
        provider="aws",
        id=str(told["InstanceId"]),
        region=region,
        state=state,
        token=labels.get(TOKEN_LABEL, ""),
        shape=str(told.get("InstanceType", "")),
        zone=str(told.get("Placement", {}).get("AvailabilityZone", "")),
        image=str(told.get("ImageId", "")),
        market=Market.SPOT if told.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND,
        address=str(told.get("PublicIpAddress") or told.get("PrivateIpAddress") or ""),
        labels=labels,
        launched_at=instant(launched) if isinstance(launched, datetime) else "",
        ended_at=instant(_moment(moved[1])) if moved and state is InstanceState.ENDED else "",
        host=str(told.get("Placement", {}).get("HostId", "")),
        reason=" ".join(filter(None, (why.get("Code"), why.get("Message")))),
    )


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
