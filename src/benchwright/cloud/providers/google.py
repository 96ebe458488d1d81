"""Google's cloud, through its own library and the login that `gcloud` or a key file made.

A machine is called `benchwright-TOKEN`, and the request carries an id made of the token: both keep a repeated request
from making a second one. At its expiry Google deletes it by itself, whatever goes on inside.
"""

from __future__ import annotations

import difflib
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order, instant
from benchwright.cloud.providers.google_client import GoogleClient
from benchwright.cloud.providers.google_errors import (
    check_operation,
    explained,
    is_missing,
    is_there_already,
    refusal,
)
from benchwright.cloud.providers.refusals import create_in_first
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market

IMAGE = "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-{}"
LOGIN = "ubuntu"
_STATES = {
    "PROVISIONING": InstanceState.PENDING,
    "STAGING": InstanceState.PENDING,
    "RUNNING": InstanceState.RUNNING,
    "STOPPING": InstanceState.STOPPING,
    "SUSPENDING": InstanceState.STOPPING,
    "TERMINATED": InstanceState.STOPPED,  # Google's word for one that is off; what was deleted is not known any more
    "SUSPENDED": InstanceState.STOPPED,
}
_SHORTEST, _LONGEST = 30, 120 * 86400  # seconds that Google lets a machine be limited to
_NEW_DISKS = re.compile(r"(?:[acmnx]4|h4d)[a-z]*-")  # families that take Hyperdisks only
_ONE_THREAD = re.compile(r"(?:t2a|t2d|c4a|a4x|h3|h4d|n4a)-")  # families whose vCPU is a whole core
_ACCELERATOR = re.compile(r"(?P<kind>[a-z][a-z0-9-]+)(?::(?P<count>[1-9]\d?))?")


class Google:
    """Machines of Compute Engine, in the project of the login or of GOOGLE_CLOUD_PROJECT."""

    name = "gcp"
    options: Mapping[str, str] = {
        "network": "the network to start it in; default: the one that is called default",
        "subnet": "the subnet: its name, or projects/P/regions/R/subnetworks/NAME",
        "address": "private: no address outside of the network; default: public",
        "disk_type": "pd-balanced, pd-ssd, hyperdisk-balanced; default: what the shape takes",
        "platform": "the oldest CPU platform: Intel Ice Lake",
    }

    def __init__(self) -> None:
        self._client = GoogleClient()

    def default_region(self) -> str:
        region, zone = self._client.setting("compute", "region"), self._client.setting("compute", "zone")
        if found := region or zone.rpartition("-")[0]:
            return found
        raise OptionError(
            "gcp: no region is named",
            remedy="write it as gcp/SHAPE@europe-west4, or `gcloud config set compute/region europe-west4`",
        )

    def payer(self, region: str) -> str:
        with explained("who is signed in"):
            found = self._client.ask("projects", "get")
        return f"Google project {found.name}"

    # ---- orders ----

    def check(self, order: Order) -> MachineShape:
        if order.most_per_hour is not None:
            raise OptionError(
                "gcp: Google has no highest price for spot machines", remedy="leave `most` out: it sets the price"
            )
        if order.options.get("address", "public") not in ("public", "private"):
            raise OptionError(f"gcp: address={order.options['address']}", remedy="write address=private, or leave it")
        return _machine_shape(self._places(order)[0][1], order)

    def create(self, order: Order) -> Instance:
        if found := self.instances(order.region, order.token):
            return found[0]  # the answer got lost before, in whichever zone it was
        return create_in_first(self._places(order), lambda place: self._create_in(place[0], place[1], order))

    def instances(self, region: str, token: str = "") -> list[Instance]:
        wanted = f"labels.{TOKEN_LABEL}={token}" if token else f"labels.{TOKEN_LABEL}:*"
        with explained(f"which machines there are in {region}"):
            found = [
                _instance(one)
                for zone in self._zones(region)
                for one in self._client.ask("instances", "list", zone=zone, filter=wanted)
            ]
        return [one for one in found if one.token and (not token or one.token == token)]

    def get(self, instance_id: str, region: str) -> Instance | None:
        found = self._find(instance_id)
        return None if found is None else _instance(found)

    def start(self, instance_id: str, region: str) -> None:
        with explained(f"starting {instance_id}"):
            self._client.ask("instances", "start_unary", **_place(instance_id))

    def stop(self, instance_id: str, region: str) -> None:
        with explained(f"stopping {instance_id}"):
            self._client.ask("instances", "stop_unary", **_place(instance_id))

    def end(self, instance_id: str, region: str) -> None:
        found = self.get(instance_id, region)
        if found is None:
            return
        if not found.token:
            raise CloudError(f"gcp: {instance_id} was not ordered by Benchwright", remedy="it is left alone")
        with explained(f"ending {instance_id}"):
            try:
                self._client.ask("instances", "delete_unary", **_place(instance_id))
            except Exception as error:
                if not is_missing(error):
                    raise

    def will_be_taken(self, instance: Instance) -> str:
        if instance.market is not Market.SPOT:
            return ""
        with explained(f"whether {instance.id} is taken away"):
            asked = 'operationType="compute.instances.preempted"'
            for one in self._client.ask("zone_operations", "list", zone=instance.zone, filter=asked):
                if one.target_link.endswith(f"/{instance.id.rpartition('/')[2]}"):
                    return f"spot: {one.status_message or 'Google took it back'}"
        return ""

    def zones(self, order: Order) -> list[str]:
        """The zones of the region that offer what is ordered."""
        return [zone for zone, _ in self._places(replace(order, zone=""))]

    # ---- where, and of which shape ----

    def _zones(self, region: str) -> list[str]:
        try:
            found = self._client.ask("regions", "get", region=region)
        except Exception as error:
            if not is_missing(error):
                raise
            known = sorted(one.name for one in self._client.ask("regions", "list"))
            raise OptionError(f"gcp: there is no region {region!r}", remedy=_nearest(region, known)) from None
        return sorted(_last(zone) for zone in found.zones)

    def _places(self, order: Order) -> list[tuple[str, Any]]:
        """The zones that have what is ordered, each with what it says of the shape."""
        with explained(f"where {order.shape} is offered"):
            zones = self._zones(order.region)
            if order.zone and order.zone not in zones:
                raise OptionError(
                    f"gcp: there is no zone {order.zone!r} in {order.region}", remedy=f"one of {', '.join(zones)}"
                )
            asked = [order.zone] if order.zone else zones
            found = [(zone, kind) for zone in asked if (kind := self._lookup("machine_types", zone, order.shape))]
            if not found:
                known = sorted({one.name for one in self._client.ask("machine_types", "list", zone=asked[0])})
                raise OptionError(
                    f"gcp: there is no shape {order.shape!r} in {order.zone or order.region}",
                    remedy=_nearest(order.shape, known),
                )
            if not order.accelerator:
                return found
            kind = _accelerator(order.accelerator)[0]
            with_it = [place for place in found if self._lookup("accelerator_types", place[0], kind)]
            if not with_it:
                known = sorted({one.name for one in self._client.ask("accelerator_types", "list", zone=asked[0])})
                raise OptionError(
                    f"gcp: there is no accelerator {kind!r} in {order.zone or order.region}",
                    remedy=_nearest(kind, known),
                )
            return with_it

    def _lookup(self, service: str, zone: str, name: str) -> Any:
        """A shape or an accelerator of a zone; None where the zone has none of that name."""
        try:
            return self._client.ask(service, "get", zone=zone, **{service.removesuffix("s"): name})
        except Exception as error:
            if is_missing(error) or getattr(error, "code", None) == 400:  # a name that no shape can have
                return None
            raise

    def _find(self, instance_id: str) -> Any:
        with explained(f"how {instance_id} is"):
            try:
                return self._client.ask("instances", "get", **_place(instance_id))
            except Exception as error:
                if is_missing(error):
                    return None
                raise

    def _create_in(self, zone: str, kind: Any, order: Order) -> Instance:
        doing = f"ordering {order.shape} in {zone}"
        place = f"{zone}/{machine_name(order)}"
        with explained(doing):
            asked = {
                "zone": zone,
                "instance_resource": request_body(order, zone, kind),
                "request_id": str(uuid.uuid5(uuid.UUID(order.token), zone)),  # one for each zone: the bodies differ
            }
            try:
                operation = self._client.ask("instances", "insert_unary", **asked)
                operation = self._client.wait(operation, zone)
            except Exception as error:
                if not is_there_already(error):
                    raise
                operation = None
        if operation is not None:
            check_operation(doing, operation)
        found = self.get(place, order.region)
        if found is None or found.token != order.token:
            raise refusal(doing, "lost", f"no machine {place} came of it")
        return replace(found, image=_image(order, kind))  # which Google tells of a machine no more


def machine_name(order: Order) -> str:
    """The name of the machine of an order, which no second one can have."""
    return f"benchwright-{order.token}"


def request_body(order: Order, zone: str, kind: Any) -> dict[str, Any]:
    """The machine as Google's library takes it; `kind` is what the zone says of the shape."""
    body: dict[str, Any] = {
        "name": machine_name(order),
        "machine_type": f"zones/{zone}/machineTypes/{order.shape}",
        "labels": order.labels,
        "disks": [_disk(order, zone, kind)],
        "network_interfaces": [_interface(order)],
        "metadata": {"items": _metadata(order)},
        "scheduling": _scheduling(order, kind),
    }
    if order.accelerator:
        name, count = _accelerator(order.accelerator)
        body["guest_accelerators"] = [
            {"accelerator_type": f"zones/{zone}/acceleratorTypes/{name}", "accelerator_count": count}
        ]
    if platform := order.options.get("platform"):
        body["min_cpu_platform"] = platform
    return body


def _disk(order: Order, zone: str, kind: Any) -> dict[str, Any]:
    usual = "hyperdisk-balanced" if _NEW_DISKS.match(order.shape) else "pd-balanced"
    made: dict[str, Any] = {
        "source_image": _image(order, kind),
        "disk_type": f"zones/{zone}/diskTypes/{order.options.get('disk_type', usual)}",
        "labels": order.labels,
    }
    if order.disk_gb:
        made["disk_size_gb"] = order.disk_gb
    return {"boot": True, "auto_delete": True, "initialize_params": made}


def _image(order: Order, kind: Any) -> str:
    image = order.image or IMAGE.format("arm64" if _architecture(kind, order) == "arm64" else "amd64")
    return image if "/" in image else f"global/images/{image}"


def _interface(order: Order) -> dict[str, Any]:
    subnet, network = order.options.get("subnet", ""), order.options.get("network", "default")
    if subnet:
        place = subnet if "/" in subnet else f"regions/{order.region}/subnetworks/{subnet}"
        made: dict[str, Any] = {"subnetwork": place}
    else:
        made = {"network": network if "/" in network else f"global/networks/{network}"}
    if order.options.get("address") != "private":
        made["access_configs"] = [{"name": "External NAT", "type_": "ONE_TO_ONE_NAT"}]
    return made


def _metadata(order: Order) -> list[dict[str, str]]:
    # Where a project signs people in by their Google accounts, keys of machines would not count.
    items = {"user-data": order.user_data, "block-project-ssh-keys": "true", "enable-oslogin": "FALSE"}
    if order.public_key:
        items["ssh-keys"] = f"{order.login or LOGIN}:{order.public_key}"
    return [{"key": key, "value": value} for key, value in items.items() if value]


def _scheduling(order: Order, kind: Any) -> dict[str, Any]:
    """Spot or not, and the limit at which Google deletes the machine by itself."""
    made: dict[str, Any] = {"automatic_restart": False}
    if order.market is Market.SPOT:
        made |= {"provisioning_model": "SPOT", "instance_termination_action": "DELETE"}
    if order.market is Market.SPOT or order.accelerator or kind.accelerators:
        made["on_host_maintenance"] = "TERMINATE"  # none of these can move to another host
    if order.expires:
        left = (datetime.fromisoformat(order.expires) - datetime.now(UTC)).total_seconds()
        made["max_run_duration"] = {"seconds": round(min(max(left, _SHORTEST), _LONGEST))}
        made["instance_termination_action"] = "DELETE"
    return made


def _accelerator(text: str) -> tuple[str, int]:
    found = _ACCELERATOR.fullmatch(text)
    if found is None:
        raise OptionError(f"gcp: accelerator={text}", remedy="write accelerator=nvidia-tesla-t4:1")
    return found["kind"], int(found["count"] or 1)


def _machine_shape(kind: Any, order: Order) -> MachineShape:
    inside = [one.guest_accelerator_type for one in kind.accelerators for _ in range(one.guest_accelerator_count)]
    beside = _accelerator(order.accelerator) if order.accelerator else ("", 0)
    cpus = int(kind.guest_cpus)
    return MachineShape(
        provider="gcp",
        name=order.shape,
        region=order.region,
        vcpus=cpus,
        cores=None if kind.is_shared_cpu else cpus if _ONE_THREAD.match(order.shape) else max(1, cpus // 2),
        memory_bytes=int(kind.memory_mb) << 20,
        architecture=_architecture(kind, order),
        accelerators=(*inside, *[beside[0]] * beside[1]),
    )


def _architecture(kind: Any, order: Order) -> str:
    told = str(kind.architecture or "")
    return "arm64" if told == "ARM64" or (not told and re.match(r"(?:t2a|c4a|n4a|a4x)-", order.shape)) else "x86_64"


def _instance(told: Any) -> Instance:
    labels = {str(name): str(value) for name, value in told.labels.items()}
    zone = _last(told.zone)
    interface = told.network_interfaces[0] if told.network_interfaces else None
    outside = [one.nat_i_p for one in interface.access_configs if one.nat_i_p] if interface else []
    keys = [item.value for item in told.metadata.items if item.key == "ssh-keys"]
    created = told.creation_timestamp
    return Instance(
        provider="gcp",
        id=f"{zone}/{told.name}",
        region=zone.rpartition("-")[0],
        state=_STATES.get(told.status, InstanceState.UNKNOWN),
        token=labels.get(TOKEN_LABEL, ""),
        shape=_last(told.machine_type),
        zone=zone,
        market=Market.SPOT if told.scheduling.provisioning_model == "SPOT" else Market.ON_DEMAND,
        address=outside[0] if outside else (interface.network_i_p if interface else ""),
        login=keys[0].partition(":")[0] if keys else LOGIN,
        labels=labels,
        launched_at=instant(datetime.fromisoformat(created)) if created else "",
        host=str(told.resource_status.physical_host or ""),
        reason=str(told.status_message or ""),
    )


def _place(instance_id: str) -> dict[str, str]:
    zone, slash, name = instance_id.partition("/")
    if not slash:
        raise OptionError(f"gcp: {instance_id!r} is no machine", remedy="it is written ZONE/NAME")
    return {"zone": zone, "instance": name}


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"the nearest: {', '.join(near)}" if near else f"there are {', '.join(known[:20])}"
