"""The part of Azure Resource Manager that machines need, on loopback. Bodies must fit Azure's own types."""

from __future__ import annotations

import json
import os
import re
import ssl
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchwright.cloud.orders import MachineShape
from cloud_contract import Stage, usual_order
from cloud_peer import CloudPeer, CloudRequest, Fault, RefusalError, serving_cloud

SUBSCRIPTION = "00000000-1111-2222-3333-444444444444"
REGION = "westeurope"
SECRET = "eyJ0-the-token-of-az"
_ROOT = f"/subscriptions/{SUBSCRIPTION}"
_PROVIDERS = rf"{_ROOT}/resource[gG]roups/([^/]+)/providers"
_SHARED = "benchwright-westeurope"


def _sku(name: str, *, zones: tuple[str, ...] = ("1", "2"), limits: Any = (), **abilities: str) -> dict[str, Any]:
    usual = {"vCPUs": "2", "MemoryGB": "8", "vCPUsPerCore": "2", "CpuArchitectureType": "x64", "PremiumIO": "True"}
    told = {**usual, "HyperVGenerations": "V1,V2", "LowPriorityCapable": "True", **abilities}
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "locations": [REGION],
        "locationInfo": [{"location": REGION, "zones": list(zones)}],
        "capabilities": [{"name": key, "value": value} for key, value in told.items()],
        "restrictions": list(limits),
    }


SHAPES = [
    _sku("Standard_D2s_v5"),
    _sku("Standard_D4s_v5", vCPUs="4"),
    _sku("Standard_D2ps_v6", CpuArchitectureType="Arm64", vCPUsPerCore="1", DiskControllerTypes="NVMe"),
    _sku("Standard_NC4as_T4_v3", GPUs="1", LowPriorityCapable="False", HyperVGenerations="V1"),
    _sku("Standard_M8ms", limits=[{"type": "Location", "reasonCode": "NotAvailableForSubscription"}]),
    _sku("Standard_D8s_v5", limits=[{"type": "Zone", "restrictionInfo": {"zones": ["2"]}}]),
    {"resourceType": "disks", "name": "Premium_LRS", "locations": [REGION]},
]


class AzureCloud(CloudPeer):
    """One subscription. `outcome` is how the next creation of a machine ends, once it was accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: set[str] = set()
        self.things: dict[str, dict[str, Any]] = {}  # by kind/name
        self.outcome: dict[str, Any] = {"status": "Succeeded"}

    def refuse(self, kind: str) -> None:
        """Makes the next order fail in that way."""
        order = r"PUT .*/virtualMachines/"
        match kind:
            case "capacity":
                fault = {"code": "AllocationFailed", "message": "We do not have sufficient capacity for the VM size"}
                self.outcome = {"status": "Failed", "error": fault}
            case "quota":
                text = "Operation could not be completed as it results in exceeding approved Total Cores quota."
                self.faults.append(Fault(order, _error(409, "OperationNotAllowed", text)))
            case "throttled":
                self.faults.append(Fault(order, _error(429, "TooManyRequests", "Too many requests")))
            case "login":
                text = f"The access token {SECRET} expiry is in the past"
                self.faults.append(Fault(".", _error(401, "ExpiredAuthenticationToken", text), times=99))
            case "lost-before" | "lost-after":
                self.faults.append(Fault(order, cut=kind.removeprefix("lost-")))

    def add_foreign(self) -> str:
        """A machine that somebody else started; returns its id."""
        made = {"location": REGION, "tags": {"team": "x"}, "properties": {"hardwareProfile": {"vmSize": "x"}}}
        self._keep("lab", "Microsoft.Compute/virtualMachines", "theirs", made)
        return str(self.things["Microsoft.Compute/virtualMachines/theirs"]["id"])

    def left_over(self) -> int:
        """Everything that costs money, or points to what does."""
        return len([name for name in self.things if not name.endswith((_SHARED, "/theirs"))])

    def answer(self, request: CloudRequest) -> tuple[int, dict[str, str], Any]:
        assert request.headers["authorization"] == f"Bearer {SECRET}"
        assert "api-version" in request.query, request
        routes: dict[str, Callable[..., Any]] = {
            rf"GET {_ROOT}/resourcegroups": lambda: (200, {"value": []}),
            rf"GET {_ROOT}/resourcegroups/([^/]+)": self._group,
            rf"PUT {_ROOT}/resourcegroups/([^/]+)": self._make_group,
            rf"GET {_ROOT}/providers/Microsoft.Compute/skus": lambda: self._skus(request.query["$filter"]),
            rf"GET {_ROOT}/resources": lambda: self._labelled(request.query["$filter"]),
            rf"GET {_ROOT}/operations/1": lambda: (200, self.outcome),
            rf"GET {_PROVIDERS}/(.+)/([^/]+)": lambda group, kind, name: (200, self._get(f"{kind}/{name}")),
            rf"PUT {_PROVIDERS}/(.+)/([^/]+)": lambda group, kind, name: self._put(group, kind, name, request.body),
            rf"DELETE {_PROVIDERS}/(.+)/([^/]+)": self._delete,
            rf"POST {_PROVIDERS}/(.+)/([^/]+)/(start|deallocate)": self._switch,
        }
        for pattern, made in routes.items():
            if found := re.fullmatch(pattern, f"{request.method} {request.path}", re.I):
                status, body, *more = made(*found.groups())
                return status, (more[0] if more else {}), body
        raise AssertionError(f"no such route: {request.line}")

    def _group(self, name: str) -> Any:
        if name not in self.groups:
            raise _refusal(404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found.")
        return 200, {"name": name, "location": REGION}

    def _make_group(self, name: str) -> Any:
        self.groups.add(name)
        return 201, {"name": name, "location": REGION}

    def _skus(self, wanted: str) -> Any:
        assert wanted == f"location eq '{REGION}'", wanted
        return 200, {"value": SHAPES}

    def _labelled(self, wanted: str) -> Any:
        found = re.fullmatch(r"tagName eq '([\w-]+)'(?: and tagValue eq '(\w+)')?", wanted)
        assert found, wanted
        fitting = [
            {key: one[key] for key in ("id", "name", "location", "tags")}
            for one in self.things.values()
            if found[1] in one.get("tags", {}) and found[2] in (None, one["tags"][found[1]])
        ]
        return 200, {"value": fitting}

    def _get(self, name: str) -> dict[str, Any]:
        if name not in self.things:
            raise _refusal(404, "ResourceNotFound", f"The Resource '{name}' was not found.")
        return self.things[name]

    def _put(self, group: str, kind: str, name: str, body: dict[str, Any]) -> Any:
        if group not in self.groups:
            raise _refusal(404, "ResourceGroupNotFound", f"Resource group '{group}' could not be found.")
        check_body(kind, body)
        is_new = f"{kind}/{name}" not in self.things
        made = self._keep(group, kind, name, body)
        if not kind.endswith("virtualMachines"):
            return 201, made
        if is_new:
            disk = {"location": REGION, "tags": body["tags"], "properties": {}}
            self._keep(group, "Microsoft.Compute/disks", body["properties"]["storageProfile"]["osDisk"]["name"], disk)
        if self.outcome["status"] == "Failed":
            made["properties"]["provisioningState"] = "Failed"
        return 201, made, {"Azure-AsyncOperation": f"{self.url}{_ROOT}/operations/1?api-version=1", "Retry-After": "0"}

    def _keep(self, group: str, kind: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        inner: dict[str, Any] = {**body["properties"], "provisioningState": "Succeeded"}
        if kind.endswith("virtualMachines"):
            inner |= {"instanceView": {"statuses": [{"code": "PowerState/running"}]}}
            inner |= {"timeCreated": "2026-11-17T17:00:00.0+00:00"}
        if kind.endswith("publicIPAddresses"):
            inner |= {"ipAddress": "203.0.113.9"}
        if kind.endswith("networkInterfaces"):
            inner["ipConfigurations"] = [{"properties": {"privateIPAddress": "10.70.0.4"}}]
        place = f"{_ROOT}/resourceGroups/{group}/providers/{kind}/{name}"
        made = {**body, "id": place, "name": name, "properties": inner}
        self.things[f"{kind}/{name}"] = made
        return made

    def _delete(self, group: str, kind: str, name: str) -> Any:
        if f"{kind}/{name}" not in self.things:
            return 204, None
        machine = name.removesuffix("-nic").removesuffix("-disk")
        if machine != name and f"Microsoft.Compute/virtualMachines/{machine}" in self.things:
            raise _refusal(400, "InUse", f"{name} is in use by {machine}")
        del self.things[f"{kind}/{name}"]
        return 200, None

    def _switch(self, group: str, kind: str, name: str, verb: str) -> Any:
        power = "running" if verb == "start" else "deallocated"
        self._get(f"{kind}/{name}")["properties"]["instanceView"]["statuses"][0]["code"] = f"PowerState/{power}"
        return 200, None


def check_body(kind: str, body: dict[str, Any]) -> None:
    """Whether a body has only what Azure's types know, of the kinds that they say, and labels that Azure takes."""
    import azure.mgmt.compute.types as compute
    import azure.mgmt.network.types as network

    known = {
        "Microsoft.Compute/virtualMachines": (compute, "VirtualMachine"),
        "Microsoft.Network/networkInterfaces": (network, "NetworkInterface"),
        "Microsoft.Network/publicIPAddresses": (network, "PublicIPAddress"),
        "Microsoft.Network/virtualNetworks": (network, "VirtualNetwork"),
        "Microsoft.Network/networkSecurityGroups": (network, "NetworkSecurityGroup"),
    }
    if kind in known:
        module, name = known[kind]
        _check_value(body, getattr(module, name), vars(module), kind)
    for key, value in body.get("tags", {}).items():
        assert len(key) <= 512 and not set(key) & set("<>%&\\?/") and len(value) <= 256


def _check_value(value: Any, hint: Any, names: dict[str, Any], place: str) -> None:
    if isinstance(hint, str | typing.ForwardRef):
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        if text in names:
            hint = names[text]
        elif text.startswith("list["):
            hint = list[typing.ForwardRef(text[5:-1].strip("\"'"))]  # type: ignore[misc]
        else:
            return  # an enumeration, which is text
    if getattr(hint, "__total__", None) is not None:
        known: dict[str, Any] = {}
        for base in reversed([hint, *getattr(hint, "__orig_bases__", ())]):
            known |= getattr(base, "__annotations__", {})
        assert isinstance(value, dict), (place, value)
        for key, inner in value.items():
            assert key in known, f"{place}.{key} is not known to Azure"
            _check_value(inner, known[key], names, f"{place}.{key}")
        return
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        assert isinstance(value, list), (place, value)
        for one in value:
            _check_value(one, inside[0], names, place)
    elif origin is dict:
        assert isinstance(value, dict), (place, value)
    elif inside and origin is not typing.Union:  # Required[...]
        _check_value(value, inside[0], names, place)
    elif hint in (str, int, bool, float):
        assert isinstance(value, (int, float) if hint is float else hint), (place, value)


def make_certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """TLS for 127.0.0.1: what a server uses, and the file that a client trusts."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - timedelta(days=1))
    builder = builder.not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(address, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    trusted, secret = folder / "trusted.pem", folder / "secret.pem"
    trusted.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, secret)
    return context, trusted


def _error(status: int, code: str, message: str) -> tuple[int, dict[str, str], Any]:
    return status, {}, {"error": {"code": code, "message": message}}


def _refusal(status: int, code: str, message: str) -> RefusalError:
    return RefusalError(status, _error(status, code, message)[2])


@contextmanager
def staged(secured: tuple[ssl.SSLContext, Path], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Azure for as long as the block lasts; `secured` is of `make_certificate`, `folder` holds az and its settings."""
    from benchwright.cloud.providers import azure_client
    from benchwright.cloud.providers.azure import Azure

    peer = AzureCloud()
    program = folder / "az"  # the login is az's, as at most desks
    token = json.dumps({"accessToken": SECRET, "expires_on": 4102444800, "tokenType": "Bearer"})
    program.write_text(f"#!/bin/sh\necho '{token}'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(azure_client, "PAUSE", 0.0)
    for name in ("AZURE_SUBSCRIPTION_ID", "AZURE_DEFAULTS_LOCATION", "AZURE_DEFAULTS_GROUP"):
        monkeypatch.delenv(name, raising=False)
    with serving_cloud(peer, secured[0]):
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")
        monkeypatch.setenv("AZURE_CONFIG_DIR", str(folder))
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(secured[1]))
        monkeypatch.setenv("BENCHWRIGHT_AZURE_ENDPOINT", peer.url)
        profile = {"subscriptions": [{"id": "another"}, {"id": SUBSCRIPTION, "isDefault": True}]}
        (folder / "azureProfile.json").write_text("\ufeff" + json.dumps(profile), encoding="utf-8")
        yield Stage(
            make=Azure,
            peer=peer,
            order=usual_order(provider="azure", shape="Standard_D2s_v5", region=REGION),
            shape=MachineShape(
                provider="azure", name="Standard_D2s_v5", region=REGION, vcpus=2, cores=1, memory_bytes=8 << 30
            ),
            misspelled="Standard_D2_v5",
            nearest="Standard_D2s_v5",
            secrets=(SECRET,),
        )
