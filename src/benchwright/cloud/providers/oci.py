"""Oracle's cloud, through its own library and the configuration of `oci`.

A flexible shape is written with its size, as price lists call it: `VM.Standard.E5.Flex.2.16` has two OCPUs and 16 GiB.
An OCPU is a core: two vCPUs on x86.
"""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchwright.cloud.orders import TOKEN_LABEL, Instance, InstanceState, MachineShape, Order, instant
from benchwright.cloud.providers.oci_client import COMPARTMENT, OciClient
from benchwright.cloud.providers.oci_errors import explained
from benchwright.cloud.providers.refusals import create_in_first
from benchwright.errors import CloudError, OptionError
from benchwright.records.prices import Market

SUBNET = "benchwright"  # a subnet of this name is used where none is named
LOGIN = "ubuntu"
UBUNTU = {"operating_system": "Canonical Ubuntu", "operating_system_version": "24.04"}
_FLEXIBLE = re.compile(r"(?P<name>.+\.Flex)(?:\.(?P<ocpus>[1-9]\d*)\.(?P<memory>[1-9]\d*))?")
_STATES = {
    "CREATING_IMAGE": InstanceState.RUNNING,
    "MOVING": InstanceState.PENDING,
    "PROVISIONING": InstanceState.PENDING,
    "RUNNING": InstanceState.RUNNING,
    "STARTING": InstanceState.PENDING,
    "STOPPED": InstanceState.STOPPED,
    "STOPPING": InstanceState.STOPPING,
    "TERMINATED": InstanceState.ENDED,
    "TERMINATING": InstanceState.ENDED,
}


@dataclass(frozen=True, slots=True)
class _Size:
    """A shape of Oracle's list, and how much of it is wanted where it is flexible."""

    name: str
    told: Any
    ocpus: float
    memory: float  # GiB

    @property
    def text(self) -> str:
        return f"{self.name}.{self.ocpus:g}.{self.memory:g}" if self.told.is_flexible else self.name


class Oci:
    """Machines of one tenancy."""

    name = "oci"
    at_expiry = "switched off; its disk costs until `cloud sweep`"
    options: Mapping[str, str] = {
        "compartment": f"the id of the compartment; default: {COMPARTMENT}, else the root of the tenancy",
        "subnet": f"the id of a subnet; default: the one that is called {SUBNET}, or the only one there is",
        "address": "private: no address outside of the network; default: public",
    }

    def __init__(self) -> None:
        self._client = OciClient()

    def default_region(self) -> str:
        with explained("which region"):
            region = self._client.region
        if not region:
            raise OptionError(
                "oci: no region is named", remedy="write it as oci/SHAPE@eu-frankfurt-1, or set OCI_CLI_REGION"
            )
        return region

    def payer(self, region: str) -> str:
        with explained("who is signed in"):
            found = self._client.identity(region).get_tenancy(self._client.tenancy).data
        return f"OCI tenancy {found.name}"

    # ---- orders ----

    def check(self, order: Order) -> MachineShape:
        if order.accelerator:
            raise OptionError("oci: an accelerator is part of the shape", remedy="name a shape with GPU in its name")
        if order.most_per_hour is not None:
            raise OptionError("oci: preemptible machines have one price", remedy="leave `most` out: it is half of it")
        if order.options.get("address", "public") not in ("public", "private"):
            raise OptionError(f"oci: address={order.options['address']}", remedy="write address=private, or leave it")
        with explained(f"where {order.shape} is offered"):
            places = self._places(order)
            self._subnet(order, places[0][0])
            self._image(order, places[0][1])
        return _machine_shape(places[0][1], order.region)

    def create(self, order: Order) -> Instance:
        if found := [one for one in self.instances(order.region, order.token) if not one.is_gone]:
            return found[0]  # the answer got lost before, in whichever domain it was
        with explained(f"where {order.shape} is offered"):
            places = self._places(order)

        def create(place: tuple[str, _Size]) -> Instance:
            with explained(f"ordering {order.shape} in {place[0]}"):
                return self._create_in(*place, order)

        return create_in_first(places, create)

    def instances(self, region: str, token: str = "") -> list[Instance]:
        compute = self._client.compute(region)
        with explained(f"which machines there are in {region}"):
            told = [
                one
                for compartment in self._client.compartments(region)
                for one in self._client.every(compute.list_instances, compartment)
                if (found := (one.freeform_tags or {}).get(TOKEN_LABEL)) and token in ("", found)
            ]
            return [self._instance(one, region) for one in told]

    def get(self, instance_id: str, region: str) -> Instance | None:
        with explained(f"how {instance_id} is"):
            found = self._client.find(self._client.compute(region).get_instance, instance_id)
            return None if found is None else self._instance(found, region)

    def start(self, instance_id: str, region: str) -> None:
        with explained(f"starting {instance_id}"):
            self._client.compute(region).instance_action(instance_id, "START")

    def stop(self, instance_id: str, region: str) -> None:
        with explained(f"stopping {instance_id}"):
            self._client.compute(region).instance_action(instance_id, "SOFTSTOP")

    def end(self, instance_id: str, region: str) -> None:
        found = self.get(instance_id, region)
        if found is None or found.is_gone:
            return
        if not found.token:
            raise CloudError(f"oci: {instance_id} was not ordered by Benchwright", remedy="it is left alone")
        with explained(f"ending {instance_id}"):
            self._client.compute(region).terminate_instance(instance_id, preserve_boot_volume=False)

    def will_be_taken(self, instance: Instance) -> str:
        is_leaving = instance.market is Market.SPOT and instance.state is InstanceState.ENDED
        return "spot: Oracle took it back" if is_leaving else ""

    def zones(self, order: Order) -> list[str]:
        """The availability domains of the region that offer the shape."""
        with explained(f"where {order.shape} is offered"):
            return [domain for domain, _ in self._places(replace(order, zone=""))]

    # ---- where, and of which shape ----

    def _places(self, order: Order) -> list[tuple[str, _Size]]:
        """The availability domains that have the shape, each with its size there."""
        client = self._client
        domains = sorted(
            one.name for one in client.identity(order.region).list_availability_domains(client.tenancy).data
        )
        asked = [name for name in domains if not order.zone or name == order.zone or name.endswith(f"-{order.zone}")]
        if not asked:
            raise OptionError(
                f"oci: there is no availability domain {order.zone!r} in {order.region}",
                remedy=f"one of {', '.join(domains)}",
            )
        found: list[tuple[str, _Size]] = []
        known: set[str] = set()
        compute, compartment = client.compute(order.region), self._compartment(order)
        for domain in asked:
            shapes = {
                one.shape: one for one in client.every(compute.list_shapes, compartment, availability_domain=domain)
            }
            known |= shapes.keys()
            if size := _size(order.shape, shapes):
                found.append((domain, size))
        if not found:
            wanted = _FLEXIBLE.fullmatch(order.shape)
            near = difflib.get_close_matches(wanted["name"] if wanted else order.shape, sorted(known), n=3, cutoff=0.5)
            raise OptionError(
                f"oci: there is no shape {order.shape!r} in {order.zone or order.region}",
                remedy=f"the nearest: {', '.join(near)}" if near else "`oci compute shape list` names them",
            )
        return found

    def _compartment(self, order: Order) -> str:
        return order.options.get("compartment") or self._client.compartment

    def _subnet(self, order: Order, domain: str) -> str:
        """The subnet that was named, or the one that can be meant."""
        if named := order.options.get("subnet"):
            return named
        listed = self._client.every(self._client.network(order.region).list_subnets, self._compartment(order))
        is_private = order.options.get("address") == "private"
        fitting = [
            one
            for one in listed
            if one.availability_domain in (None, domain) and (is_private or not one.prohibit_public_ip_on_vnic)
        ]
        chosen = [one for one in fitting if one.display_name == SUBNET] or fitting
        if len(chosen) == 1:
            return str(chosen[0].id)
        raise OptionError(
            f"oci: {len(chosen)} subnets can be meant" if chosen else "oci: there is no subnet with public addresses",
            remedy=f"name one with ?subnet=ID, or call one {SUBNET!r}"
            if chosen
            else "make a network with the console's wizard (VCN with internet connectivity), or name one: ?subnet=ID",
        )

    def _image(self, order: Order, size: _Size) -> str:
        """The image that was named, or the newest Ubuntu that Oracle has for the shape, whose processor it knows."""
        if order.image:
            return order.image
        listed = self._client.compute(order.region).list_images(
            self._compartment(order), shape=size.name, sort_by="TIMECREATED", sort_order="DESC", **UBUNTU
        )
        usual = [one for one in listed.data if "minimal" not in one.display_name.lower()] or listed.data
        if not usual:
            raise OptionError(f"oci: there is no Ubuntu 24.04 for {size.name}", remedy="name an image with ?image=ID")
        return str(usual[0].id)

    def _create_in(self, domain: str, size: _Size, order: Order) -> Instance:
        models = self._client.library.core.models
        source: dict[str, Any] = {"source_type": "image", "image_id": self._image(order, size)}
        if order.disk_gb:
            source["boot_volume_size_in_gbs"] = order.disk_gb
        metadata = {"user_data": base64.b64encode(order.user_data.encode()).decode()} if order.user_data else {}
        asked: dict[str, Any] = {
            "availability_domain": domain,
            "compartment_id": self._compartment(order),
            "display_name": f"benchwright-{order.token}",
            "shape": size.name,
            "source_details": models.InstanceSourceViaImageDetails(**source),
            "create_vnic_details": models.CreateVnicDetails(
                subnet_id=self._subnet(order, domain),
                assign_public_ip=order.options.get("address") != "private",
                freeform_tags=order.labels,
            ),
            "metadata": {**metadata, **({"ssh_authorized_keys": order.public_key} if order.public_key else {})},
            "freeform_tags": order.labels,
        }
        if size.told.is_flexible:
            asked["shape_config"] = models.LaunchInstanceShapeConfigDetails(ocpus=size.ocpus, memory_in_gbs=size.memory)
        if order.market is Market.SPOT:
            action = models.TerminatePreemptionAction(type="TERMINATE", preserve_boot_volume=False)
            asked["preemptible_instance_config"] = models.PreemptibleInstanceConfigDetails(preemption_action=action)
        made = self._client.compute(order.region).launch_instance(
            models.LaunchInstanceDetails(**asked),
            opc_retry_token=f"{order.token}-{domain[-1]}",  # one for each domain: the requests differ
        )
        return self._instance(made.data, order.region)

    def _instance(self, told: Any, region: str) -> Instance:
        labels = {str(name): str(value) for name, value in (told.freeform_tags or {}).items()}
        state = _STATES.get(told.lifecycle_state, InstanceState.UNKNOWN)
        shape, config = str(told.shape), told.shape_config
        if shape.endswith(".Flex") and config is not None:
            shape = f"{shape}.{config.ocpus:g}.{config.memory_in_gbs:g}"
        return Instance(
            provider="oci",
            id=str(told.id),
            region=region,
            state=state,
            token=labels.get(TOKEN_LABEL, ""),
            shape=shape,
            zone=str(told.availability_domain or ""),
            image=str(getattr(told.source_details, "image_id", "") or ""),
            market=Market.SPOT if told.preemptible_instance_config else Market.ON_DEMAND,
            address=self._address(told, region) if state is InstanceState.RUNNING else "",
            login=LOGIN,
            labels=labels,
            launched_at=instant(told.time_created) if told.time_created else "",
            host=str(told.dedicated_vm_host_id or ""),
        )

    def _address(self, told: Any, region: str) -> str:
        attached = self._client.every(
            self._client.compute(region).list_vnic_attachments, told.compartment_id, instance_id=told.id
        )
        for one in attached:
            if one.lifecycle_state == "ATTACHED" and one.vnic_id:
                card = self._client.find(self._client.network(region).get_vnic, one.vnic_id)
                if card is not None:
                    return str(card.public_ip or card.private_ip or "")
        return ""


def _size(text: str, shapes: Mapping[str, Any]) -> _Size | None:
    """How much of which shape a text asks for; None where there is no such shape."""
    if text in shapes and not shapes[text].is_flexible:
        return _Size(text, shapes[text], shapes[text].ocpus, shapes[text].memory_in_gbs)
    found = _FLEXIBLE.fullmatch(text)
    if found is None or found["name"] not in shapes:
        return None
    told = shapes[found["name"]]
    ocpus = float(found["ocpus"] or 1)
    cores, memory = told.ocpu_options, told.memory_options
    wanted = float(found["memory"] or ocpus * (memory.default_per_ocpu_in_g_bs or 16))
    least = max(memory.min_in_g_bs or 0, (memory.min_per_ocpu_in_gbs or 0) * ocpus)
    most = min(memory.max_in_g_bs or wanted, (memory.max_per_ocpu_in_gbs or wanted) * ocpus)
    if not cores.min <= ocpus <= cores.max or not least <= wanted <= most:
        raise OptionError(
            f"oci: {found['name']} cannot have {ocpus:g} OCPUs and {wanted:g} GiB",
            remedy=f"{cores.min:g} to {cores.max:g} OCPUs, with so many {least:g} to {most:g} GiB",
        )
    return _Size(found["name"], told, ocpus, wanted)


def _machine_shape(size: _Size, region: str) -> MachineShape:
    is_arm = bool(re.search(r"Standard\.A\d", size.name)) or "Ampere" in str(size.told.processor_description or "")
    cores = size.ocpus * (2 if is_arm and ".A1." not in size.name else 1)  # of Arm's later ones an OCPU is two cores
    return MachineShape(
        provider="oci",
        name=size.text,
        region=region,
        vcpus=int(cores if is_arm else 2 * cores),
        cores=int(cores),
        memory_bytes=round(size.memory * 2**30),
        architecture="arm64" if is_arm else "x86_64",
        accelerators=(str(size.told.gpu_description or "GPU"),) * int(size.told.gpus or 0),
    )
