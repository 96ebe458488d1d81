"""What an order becomes at Azure: a machine, its network interface, its address, and the guard that switches it off."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from benchwright.cloud.orders import Order
from benchwright.errors import OptionError
from benchwright.records.prices import Market

LOGIN = "benchwright"
UBUNTU = ("Canonical", "ubuntu-24_04-lts")
GUARD_VERSION = "2018-09-15"
_GUARD_REACH = timedelta(hours=23, minutes=50)  # it comes every day: a longer lease it would cut short


def machine_name(token: str) -> str:
    """The name of the machine of an order; those of its parts begin with it."""
    return f"benchwright-{token}"


def machine_body(order: Order, abilities: Mapping[str, str], interface_id: str) -> dict[str, Any]:
    """The machine, as Azure's interface takes it; `abilities` are those of its shape."""
    name = machine_name(order.token)
    login = order.login or LOGIN
    key = {"path": f"/home/{login}/.ssh/authorized_keys", "keyData": order.public_key}
    properties: dict[str, Any] = {
        "hardwareProfile": {"vmSize": order.shape},
        "storageProfile": {
            "imageReference": _image(order, abilities),
            "osDisk": {
                "name": f"{name}-disk",
                "createOption": "FromImage",
                "deleteOption": "Delete",
                "managedDisk": {
                    "storageAccountType": "Premium_LRS" if abilities.get("PremiumIO") == "True" else "StandardSSD_LRS"
                },
                **({"diskSizeGB": order.disk_gb} if order.disk_gb else {}),
            },
        },
        "osProfile": {
            "computerName": name[:63],
            "adminUsername": login,
            "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [key]}},
            **({"customData": base64.b64encode(order.user_data.encode()).decode()} if order.user_data else {}),
        },
        "networkProfile": {
            "networkInterfaces": [{"id": interface_id, "properties": {"primary": True, "deleteOption": "Delete"}}]
        },
    }
    if abilities.get("DiskControllerTypes") == "NVMe":
        properties["storageProfile"]["diskControllerType"] = "NVMe"
    if order.market is Market.SPOT:
        most = -1 if order.most_per_hour is None else order.most_per_hour  # -1 is what on demand costs
        properties |= {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": most}}
    return _resource(order, properties)


def interface_body(order: Order, subnet_id: str, address_id: str) -> dict[str, Any]:
    """The network interface, with an address outside where one was made."""
    inner: dict[str, Any] = {"subnet": {"id": subnet_id}, "privateIPAllocationMethod": "Dynamic"}
    if address_id:
        inner["publicIPAddress"] = {"id": address_id, "properties": {"deleteOption": "Delete"}}
    made = _resource(order, {"ipConfigurations": [{"name": "main", "properties": inner}]})
    made.pop("zones", None)  # interfaces have none
    return made


def address_body(order: Order) -> dict[str, Any]:
    """The address outside; one of a machine in a zone is in that zone."""
    made = _resource(order, {"publicIPAllocationMethod": "Static", "deleteOption": "Delete"})
    return {**made, "sku": {"name": "Standard"}}


def guard_body(order: Order, machine_id: str, now: datetime) -> dict[str, Any] | None:
    """Azure's own timer, which frees the machine from outside at its expiry; None where that is a day away or more."""
    if not order.expires or order.options.get("guard") == "no":
        return None
    end = datetime.fromisoformat(order.expires).astimezone(UTC)
    if end - now > _GUARD_REACH:
        return None
    properties = {
        "status": "Enabled",
        "taskType": "ComputeVmShutdownTask",
        "dailyRecurrence": {"time": (end + timedelta(minutes=1)).strftime("%H%M")},
        "timeZoneId": "UTC",
        "notificationSettings": {"status": "Disabled"},
        "targetResourceId": machine_id,
    }
    return {"location": order.region, "tags": order.labels, "properties": properties}


def network_bodies(region: str, firewall_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The firewall that lets ssh in, and the network behind it: both are shared by all machines of a region."""
    rule = {
        "protocol": "Tcp",
        "sourceAddressPrefix": "*",
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRange": "22",
        "access": "Allow",
        "direction": "Inbound",
        "priority": 1000,
    }
    firewall = {"location": region, "properties": {"securityRules": [{"name": "ssh", "properties": rule}]}}
    subnet = {"addressPrefix": "10.70.0.0/20", "networkSecurityGroup": {"id": firewall_id}}
    network = {
        "location": region,
        "properties": {
            "addressSpace": {"addressPrefixes": ["10.70.0.0/16"]},
            "subnets": [{"name": "default", "properties": subnet}],
        },
    }
    return firewall, network


def _resource(order: Order, properties: dict[str, Any]) -> dict[str, Any]:
    zones = {"zones": [order.zone]} if order.zone else {}
    return {"location": order.region, "tags": order.labels, **zones, "properties": properties}


def _image(order: Order, abilities: Mapping[str, str]) -> dict[str, str]:
    if order.image.startswith("/"):
        return {"id": order.image}
    if order.image:
        parts = order.image.split(":")
        if len(parts) != 4 or not all(parts):
            raise OptionError(
                f"azure: image={order.image} is no image",
                remedy="write publisher:offer:sku:version, as `az vm image list` shows it, or the id of your own",
            )
        return dict(zip(("publisher", "offer", "sku", "version"), parts, strict=True))
    sku = "server"
    if abilities.get("CpuArchitectureType") == "Arm64":
        sku = "server-arm64"
    elif abilities.get("HyperVGenerations") == "V1":
        sku = "server-gen1"
    return {"publisher": UBUNTU[0], "offer": UBUNTU[1], "sku": sku, "version": "latest"}
