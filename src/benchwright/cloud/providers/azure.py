"""Azure, through its own libraries and the login of `az`.

A machine is called `benchwright-TOKEN`, and no second one can have its name. Its network interface, address and disk
are resources of their own, named after it: they are ended with it, and found by their label where it never came to be.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order, instant
from benchwright.cloud.providers import azure_bodies as bodies
from benchwright.cloud.providers.azure_client import AzureClient
from benchwright.cloud.providers.azure_errors import explained
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market

GROUP = "benchwright"  # the resource group of machines, where no other is named
_ID = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft\.Compute/virtualMachines/([^/]+)", re.I
)
_MACHINES = "Microsoft.Compute/virtualMachines"
_GUARDS = "Microsoft.DevTestLab/schedules"
_POWER = {
    "starting": InstanceState.PENDING,
    "running": InstanceState.RUNNING,
    "stopping": InstanceState.STOPPING,
    "deallocating": InstanceState.STOPPING,
    "stopped": InstanceState.STOPPED,  # and paid for: only one that is freed costs nothing but its disk
    "deallocated": InstanceState.STOPPED,
}


class Azure:
    """Machines of one subscription."""

    name = "azure"
    at_expiry = "freed by Azure's timer if that is less than a day away; its disk and address cost until `cloud sweep`"
    options: Mapping[str, str] = {
        "group": f"the resource group; default: that of `az configure`, else {GROUP}, which is made",
        "subnet": "the id of a subnet; default: one of a network that is made, with ssh let in",
        "address": "private: no address outside of the network; default: public",
        "guard": "no: do without Azure's own timer, which frees the machine at its expiry",
    }

    def __init__(self) -> None:
        self._client = AzureClient()

    def default_region(self) -> str:
        if found := self._client.setting("location"):
            return found
        raise OptionError(
            "azure: no region is named",
            remedy="write it as azure/SHAPE@westeurope, or `az configure --defaults location=westeurope`",
        )

    def payer(self, region: str) -> str:
        with explained("who is signed in"):
            next(iter(self._client.resources.resource_groups.list(top=1)), None)
        return f"Azure subscription {self._client.subscription}"

    # ---- orders ----

    def check(self, order: Order) -> MachineShape:
        if order.accelerator:
            raise OptionError("azure: an accelerator is part of the shape", remedy="name a shape of an N series")
        if not order.public_key:
            raise OptionError("azure: a machine needs a public key of ssh", remedy="ssh-keygen makes one")
        for word, known in (("address", ("public", "private")), ("guard", ("no",))):
            if order.options.get(word, known[0]) not in known:
                raise OptionError(
                    f"azure: {word}={order.options[word]}", remedy=f"write {word}={known[-1]}, or leave it"
                )
        with explained(f"where {order.shape} is offered"):
            abilities = self._abilities(order)
        bodies.machine_body(order, abilities, "")
        return _machine_shape(order, abilities)

    def create(self, order: Order) -> Instance:
        group, name = self._group(order), bodies.machine_name(order.token)
        doing = f"ordering {order.shape} in {order.zone or order.region}"
        try:
            with explained(doing):
                if not self._client.find(self._client.compute.virtual_machines, group, name):
                    self._make(order, group, name, self._abilities(order))
        except CloudError as error:
            if error.kind not in ("throttled", "lost"):  # after which the order is sent again, or looked for
                self._clear_up(group, name)
            raise
        with explained(doing):
            made = self._instance(group, name)
        if made is None or made.token != order.token:
            raise CloudError(f"azure: no machine {name} came of the order", kind="lost")
        return made

    def instances(self, region: str, token: str = "") -> list[Instance]:
        wanted = f"tagName eq '{TOKEN_LABEL}'" + (f" and tagValue eq '{token}'" if token else "")
        found: dict[tuple[str, str], dict[str, Any]] = {}
        with explained(f"which machines there are in {region}"):
            for one in self._client.resources.resources.list(filter=wanted):
                told = one.as_dict()
                labels = told.get("tags") or {}
                if _place(told.get("location", "")) == _place(region) and labels.get(TOKEN_LABEL):
                    group = str(told["id"]).split("/")[4]
                    found.setdefault((group.lower(), labels[TOKEN_LABEL]), {**told, "group": group})
            if token and not found:  # lists lag behind what is true
                found[self._usual_group, token] = {"group": self._usual_group}
            there = [self._look(part, token, region) for (_, token), part in found.items()]
        return [one for one in there if one is not None and one.token]

    def get(self, instance_id: str, region: str) -> Instance | None:
        group, name = _parse_id(instance_id)
        with explained(f"how {name} is"):
            return self._instance(group, name)

    def start(self, instance_id: str, region: str) -> None:
        with explained(f"starting {instance_id}"):
            self._client.work(self._client.compute.virtual_machines.begin_start, *_parse_id(instance_id))

    def stop(self, instance_id: str, region: str) -> None:
        with explained(f"stopping {instance_id}"):
            self._client.work(self._client.compute.virtual_machines.begin_deallocate, *_parse_id(instance_id))

    def end(self, instance_id: str, region: str) -> None:
        group, name = _parse_id(instance_id)
        with explained(f"ending {name}"):
            found = self._client.find(self._client.compute.virtual_machines, group, name)
            if not name.startswith("benchwright-") or (found and not (found.get("tags") or {}).get(TOKEN_LABEL)):
                raise CloudError(f"azure: {name} was not ordered by Benchwright", remedy="it is left alone")
            self._delete_all(group, name)

    def will_be_taken(self, instance: Instance) -> str:
        is_leaving = instance.market is Market.SPOT and instance.state is InstanceState.ENDED
        return "spot: Azure evicted it" if is_leaving else ""

    def zones(self, order: Order) -> list[str]:
        """The zones of the region that offer the shape to this subscription; none where the region has none."""
        with explained(f"where {order.shape} is offered"):
            return sorted(self._offer(order)[1])

    # ---- making and ending ----

    def _make(self, order: Order, group: str, name: str, abilities: Mapping[str, str]) -> None:
        """All parts of a machine, in the order in which they need each other; each is known by its name."""
        client, network = self._client, self._client.network
        if group == GROUP and not client.find(client.resources.resource_groups, group):
            client.resources.resource_groups.create_or_update(group, {"location": order.region})
        subnet = order.options.get("subnet") or self._shared_subnet(group, order.region)
        address = ""
        if order.options.get("address") != "private":
            begin = network.public_ip_addresses.begin_create_or_update
            address = client.work(begin, group, f"{name}-ip", bodies.address_body(order)).id
        begin = network.network_interfaces.begin_create_or_update
        interface = client.work(begin, group, f"{name}-nic", bodies.interface_body(order, subnet, address))
        begin = client.compute.virtual_machines.begin_create_or_update
        machine = client.work(begin, group, name, bodies.machine_body(order, abilities, interface.id))
        if guard := bodies.guard_body(order, machine.id, datetime.now(UTC)):
            begin = client.resources.resources.begin_create_or_update_by_id
            client.work(begin, self._guard_id(group, name), guard, api_version=bodies.GUARD_VERSION)

    def _shared_subnet(self, group: str, region: str) -> str:
        """The subnet of all machines of a region; it costs nothing and stays."""
        client, name = self._client.network, f"benchwright-{region}"
        found = self._client.find(client.virtual_networks, group, name)
        if found is None:
            firewall, network = bodies.network_bodies(
                region, self._id(group, "Microsoft.Network/networkSecurityGroups", name)
            )
            self._client.work(client.network_security_groups.begin_create_or_update, group, name, firewall)
            self._client.work(client.virtual_networks.begin_create_or_update, group, name, network)
        return self._id(group, "Microsoft.Network/virtualNetworks", name) + "/subnets/default"

    def _clear_up(self, group: str, name: str) -> None:
        """Ends the parts of a machine that did not come to be; what cannot be ended now is found by its label."""
        with contextlib.suppress(CloudError), explained("clearing up"):
            self._delete_all(group, name)

    def _delete_all(self, group: str, name: str) -> None:
        """The machine first: nothing else can go while it is there."""
        client, network = self._client, self._client.network
        parts: list[tuple[Callable[..., Any], str]] = [
            (network.network_interfaces.begin_delete, f"{name}-nic"),
            (network.public_ip_addresses.begin_delete, f"{name}-ip"),
            (client.compute.disks.begin_delete, f"{name}-disk"),
        ]
        client.delete(client.compute.virtual_machines.begin_delete, group, name, force_deletion=True)
        for begin, part in parts:
            client.delete(begin, group, part)
        begin = client.resources.resources.begin_delete_by_id
        client.delete(begin, self._guard_id(group, name), api_version=bodies.GUARD_VERSION)

    # ---- looking ----

    def _abilities(self, order: Order) -> dict[str, str]:
        """What Azure says of the shape in that region; refuses one that is not offered there, or not in the zone."""
        sku, zones = self._offer(order)
        if order.zone and order.zone not in zones:
            raise OptionError(
                f"azure: {order.shape} is not offered in the zone {order.zone} of {order.region}",
                remedy=f"one of {', '.join(sorted(zones))}" if zones else "leave the zone out",
            )
        found = {str(one["name"]): str(one["value"]) for one in sku.get("capabilities", ())}
        if order.market is Market.SPOT and found.get("LowPriorityCapable") == "False":
            raise OptionError(f"azure: {order.shape} is not sold on the spot market", remedy="leave :spot out")
        return found

    def _offer(self, order: Order) -> tuple[dict[str, Any], set[str]]:
        """The shape in Azure's list of that region, and the zones in which this subscription may have it."""
        told = [
            one.as_dict() for one in self._client.compute.resource_skus.list(filter=f"location eq '{order.region}'")
        ]
        shapes = {one["name"]: one for one in told if one.get("resourceType") == "virtualMachines"}
        found = shapes.get(order.shape)
        if found is None:
            near = difflib.get_close_matches(order.shape, shapes, n=3, cutoff=0.5)
            raise OptionError(
                f"azure: there is no shape {order.shape!r} in {order.region}",
                remedy=f"the nearest: {', '.join(near)}" if near else "`az vm list-skus --location REGION` names them",
            )
        zones = {str(zone) for place in found.get("locationInfo", ()) for zone in place.get("zones") or ()}
        for limit in found.get("restrictions", ()):
            if limit.get("type") == "Location":
                raise CloudError(
                    f"azure: {order.shape} is not offered to this subscription in {order.region}",
                    kind="shape",
                    remedy="another region or shape, or have the quota raised",
                )
            zones -= set((limit.get("restrictionInfo") or {}).get("zones") or ())
        return found, zones

    def _look(self, part: Mapping[str, Any], token: str, region: str) -> Instance | None:
        """The machine of an order; where only its parts are left, one that can be ended."""
        group, name = part["group"], bodies.machine_name(token)
        if (found := self._instance(group, name)) or "id" not in part:
            return found
        return Instance(
            provider="azure",
            id=self._id(group, _MACHINES, name),
            region=region,
            state=InstanceState.UNKNOWN,
            token=token,
            labels=part.get("tags") or {},
            reason="only parts of it are there",
        )

    def _instance(self, group: str, name: str) -> Instance | None:
        client = self._client
        found = client.find(client.compute.virtual_machines, group, name, expand="instanceView")
        if found is None:
            return None
        address = client.find(client.network.public_ip_addresses, group, f"{name}-ip")
        outside = str(((address or {}).get("properties") or {}).get("ipAddress") or "")
        if not outside:
            interface = client.find(client.network.network_interfaces, group, f"{name}-nic") or {}
            inner = (interface.get("properties") or {}).get("ipConfigurations") or [{}]
            outside = str((inner[0].get("properties") or {}).get("privateIPAddress") or "")
        return _instance(found, outside)

    @property
    def _usual_group(self) -> str:
        return self._client.setting("group") or GROUP

    def _group(self, order: Order) -> str:
        return order.options.get("group") or self._usual_group

    def _id(self, group: str, kind: str, name: str) -> str:
        return f"/subscriptions/{self._client.subscription}/resourceGroups/{group}/providers/{kind}/{name}"

    def _guard_id(self, group: str, name: str) -> str:
        return self._id(group, _GUARDS, f"shutdown-computevm-{name}")


def _machine_shape(order: Order, abilities: Mapping[str, str]) -> MachineShape:
    cpus = int(abilities.get("vCPUsAvailable") or abilities.get("vCPUs") or 0)
    threads, gpus = abilities.get("vCPUsPerCore"), int(float(abilities.get("GPUs") or 0))
    return MachineShape(
        provider="azure",
        name=order.shape,
        region=order.region,
        vcpus=cpus,
        cores=cpus // int(threads) if threads else None,
        memory_bytes=round(float(abilities.get("MemoryGB") or 0) * 2**30) or None,
        architecture="arm64" if abilities.get("CpuArchitectureType") == "Arm64" else "x86_64",
        accelerators=("GPU",) * gpus,
    )


def _instance(told: Mapping[str, Any], address: str) -> Instance:
    labels = {str(name): str(value) for name, value in (told.get("tags") or {}).items()}
    inner = told.get("properties") or {}
    codes = [str(one.get("code", "")) for one in (inner.get("instanceView") or {}).get("statuses") or ()]
    power = next((code.partition("/")[2] for code in codes if code.startswith("PowerState/")), "")
    progress = str(inner.get("provisioningState", ""))
    state = _POWER.get(power, InstanceState.PENDING if progress in ("Creating", "Updating") else InstanceState.UNKNOWN)
    created = str(inner.get("timeCreated") or "")
    return Instance(
        provider="azure",
        id=str(told["id"]),
        region=_place(str(told.get("location", ""))),
        state=InstanceState.ENDED if progress == "Deleting" else state,
        token=labels.get(TOKEN_LABEL, ""),
        shape=str((inner.get("hardwareProfile") or {}).get("vmSize", "")),
        zone=(told.get("zones") or [""])[0],
        image=_image_name((inner.get("storageProfile") or {}).get("imageReference") or {}),
        market=Market.SPOT if inner.get("priority") == "Spot" else Market.ON_DEMAND,
        address=address,
        login=str((inner.get("osProfile") or {}).get("adminUsername", "")),
        labels=labels,
        launched_at=instant(datetime.fromisoformat(created)) if created else "",
        reason="; ".join(filter(None, (progress, power))),
    )


def _image_name(told: Mapping[str, Any]) -> str:
    """An image as its machine's metadata service calls it, else its id."""
    parts = [str(told.get(name) or "") for name in ("publisher", "offer", "sku")]
    version = str(told.get("exactVersion") or told.get("version") or "")
    return ":".join((*parts, version)) if all(parts) and version else str(told.get("id") or "")


def _parse_id(instance_id: str) -> tuple[str, str]:
    found = _ID.fullmatch(instance_id)
    if found is None:
        raise OptionError(f"azure: {instance_id!r} is no machine", remedy="give its id, as `az vm list` shows it")
    return found[1], found[2]


def _place(region: str) -> str:
    """`West Europe` and `westeurope` are the same."""
    return region.replace(" ", "").lower()
