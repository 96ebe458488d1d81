"""The part of Oracle's HTTP interface that machines need, on loopback. Bodies must fit the library's own models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchwright.cloud.orders import MachineShape
from cloud_contract import Stage, usual_order
from cloud_peer import CloudPeer, CloudRequest, Fault, RefusalError, serving_cloud

REGION = "eu-frankfurt-1"
TENANCY, CHILD = "ocid1.tenancy.oc1..root", "ocid1.compartment.oc1..child"
DOMAINS = ("Uocm:EU-FRANKFURT-1-AD-1", "Uocm:EU-FRANKFURT-1-AD-2")
FINGERPRINT = "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34"
_MEMORY = {"minInGBs": 1, "maxInGBs": 1024, "defaultPerOcpuInGBs": 16, "minPerOcpuInGBs": 1, "maxPerOcpuInGBs": 64}
_FLEXIBLE = {"isFlexible": True, "ocpuOptions": {"min": 1, "max": 64}, "memoryOptions": _MEMORY}
FLEXIBLE = "VM.Standard.E5.Flex.2.16"  # of two OCPUs and 16 GiB
SHAPES = [
    {"shape": "VM.Standard.E5.Flex", "ocpus": 1, "memoryInGBs": 16, "gpus": 0, **_FLEXIBLE},
    {"shape": "VM.Standard.A1.Flex", "ocpus": 1, "memoryInGBs": 6, "gpus": 0, **_FLEXIBLE},
    {"shape": "VM.Standard2.2", "ocpus": 2, "memoryInGBs": 30, "gpus": 0, "isFlexible": False},
    {
        "shape": "VM.GPU.A10.1",
        "ocpus": 15,
        "memoryInGBs": 240,
        "gpus": 1,
        "gpuDescription": "NVIDIA A10",
        "isFlexible": False,
    },
]


class OracleCloud(CloudPeer):
    """One tenancy with one compartment below its root; `capacity` are the domains that have machines left."""

    def __init__(self) -> None:
        super().__init__()
        self.capacity = set(DOMAINS)
        self.machines: dict[str, dict[str, Any]] = {}
        self.launched: dict[str, str] = {}  # ids, by retry token
        self.subnets = [_subnet("benchwright"), _subnet("inside", prohibitPublicIpOnVnic=True)]

    def refuse(self, kind: str) -> None:
        """Makes the next order fail in that way."""
        order = r"POST .*/instances/?$"
        match kind:
            case "capacity":
                self.capacity.clear()
            case "quota":
                text = "The following service limits were exceeded: standard-e5-core-count"
                self.faults.append(Fault(order, _error(400, "LimitExceeded", text)))
            case "throttled":
                self.faults.append(Fault(order, _error(429, "TooManyRequests", "Too many requests for the user")))
            case "login":
                text = f"The required information was not provided or was incorrect: {FINGERPRINT}"
                self.faults.append(Fault(".", _error(401, "NotAuthenticated", text), times=99))
            case "lost-before" | "lost-after":
                self.faults.append(Fault(order, cut=kind.removeprefix("lost-")))

    def add_foreign(self) -> str:
        """A machine that somebody else started; returns its id."""
        body = {"compartmentId": CHILD, "freeformTags": {"team": "x"}, "shape": "VM.Standard2.2"}
        self.machines["ocid1.instance.theirs"] = _machine("ocid1.instance.theirs", body)
        return "ocid1.instance.theirs"

    def left_over(self) -> int:
        alive = [one for one in self.machines.values() if one["lifecycleState"] != "TERMINATED"]
        return len([one for one in alive if one["id"] != "ocid1.instance.theirs"])

    def answer(self, request: CloudRequest) -> tuple[int, dict[str, str], Any]:
        assert request.headers["authorization"].startswith('Signature algorithm="rsa-sha256"'), request.headers
        path, query = re.sub(r"^/20\d{6}", "", request.path).rstrip("/"), request.query
        routes: dict[str, Callable[..., Any]] = {
            r"GET /tenancies/(.+)": lambda _: {"id": TENANCY, "name": "lab"},
            r"GET /availabilityDomains": lambda: [{"name": name} for name in DOMAINS],
            r"GET /compartments": lambda: self._compartments(query),
            r"GET /shapes": lambda: SHAPES if query["availabilityDomain"] in DOMAINS else [],
            r"GET /images": lambda: self._images(query),
            r"GET /subnets": lambda: self.subnets,
            r"GET /instances": lambda: self._list(query["compartmentId"]),
            r"POST /instances": lambda: self._launch(request),
            r"GET /instances/(.+)": self._get,
            r"POST /instances/(.+)": lambda name: self._switch(name, query["action"]),
            r"DELETE /instances/(.+)": lambda name: self._terminate(name, query),
            r"GET /vnicAttachments": lambda: [_attachment(query["instanceId"])],
            r"GET /vnics/(.+)": lambda _: {"id": "vnic", "publicIp": "203.0.113.9", "privateIp": "10.0.0.2"},
        }
        for pattern, made in routes.items():
            if found := re.fullmatch(pattern, f"{request.method} {path}"):
                return 200, {"opc-request-id": "1"}, made(*found.groups())
        raise AssertionError(f"no such route: {request.line}")

    def _compartments(self, query: dict[str, str]) -> Any:
        assert query["compartmentId"] == TENANCY and query["compartmentIdInSubtree"].lower() == "true"
        return [{"id": CHILD, "name": "child", "lifecycleState": "ACTIVE"}]

    def _images(self, query: dict[str, str]) -> Any:
        assert query["sortBy"] == "TIMECREATED" and query["operatingSystem"] == "Canonical Ubuntu"
        kind = "aarch64" if ".A1." in query["shape"] else "x86"
        listed = ("Canonical-Ubuntu-24.04-Minimal", "Canonical-Ubuntu-24.04")
        return [
            {"id": f"ocid1.image.{kind}.{name}", "displayName": name, "lifecycleState": "AVAILABLE"} for name in listed
        ]

    def _list(self, compartment: str) -> Any:
        return [one for one in self.machines.values() if one["compartmentId"] == compartment]

    def _launch(self, request: CloudRequest) -> Any:
        body, token = request.body, request.headers["opc-retry-token"]
        assert len(token) <= 64
        if token in self.launched:
            return self.machines[self.launched[token]]
        check_body(body)
        if body["availabilityDomain"] not in self.capacity:
            raise _refusal(500, "InternalError", "Out of host capacity.")
        made = _machine(f"ocid1.instance.oc1.{len(self.machines)}", body)
        self.machines[made["id"]] = made
        self.launched[token] = made["id"]
        return made

    def _get(self, name: str) -> Any:
        if name not in self.machines:
            raise _refusal(404, "NotAuthorizedOrNotFound", "Authorization failed or requested resource not found.")
        return self.machines[name]

    def _switch(self, name: str, action: str) -> Any:
        found = self._get(name)
        found["lifecycleState"] = {"START": "RUNNING", "SOFTSTOP": "STOPPED"}[action]
        return found

    def _terminate(self, name: str, query: dict[str, str]) -> Any:
        assert query["preserveBootVolume"].lower() == "false"
        self._get(name)["lifecycleState"] = "TERMINATED"


def check_body(body: dict[str, Any]) -> None:
    """Whether a body has only what the library's models know, and labels that Oracle takes."""
    _check_model(body, "LaunchInstanceDetails", "")
    for labels in (body["freeformTags"], body["createVnicDetails"]["freeformTags"]):
        for key, value in labels.items():
            assert re.fullmatch(r"[^ .]{1,100}", key) and len(value) <= 256


def _check_model(value: Any, name: str, place: str) -> None:
    import oci

    if inside := re.fullmatch(r"list\[(.+)\]", name):
        assert isinstance(value, list), place
        for one in value:
            _check_model(one, inside[1], place)
        return
    if name.startswith("dict("):
        assert isinstance(value, dict), place
        return
    plain: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": (int, float)}
    if name in plain:
        assert isinstance(value, plain[name]), (place, value)
        return
    kind = getattr(oci.core.models, name)
    if hasattr(kind, "get_subtype"):  # one of several, told by a word inside
        kind = getattr(oci.core.models, kind.get_subtype(value))
    model = kind()
    known = {model.attribute_map[key]: model.swagger_types[key] for key in model.attribute_map}
    for key, inner in value.items():
        assert key in known, f"{place}.{key} is not known to Oracle"
        _check_model(inner, known[key], f"{place}.{key}")


def write_profile(folder: Path) -> Path:
    """A profile of `oci` with a key that nobody knows; returns its file."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # short: it is checked anew for each client
    file = folder / "key.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    file.chmod(0o600)
    told = {"user": "ocid1.user.oc1..ada", "fingerprint": FINGERPRINT, "tenancy": TENANCY, "key_file": str(file)}
    lines = [f"{name}={value}" for name, value in {**told, "region": REGION}.items()]
    profile = folder / "config"
    profile.write_text("[DEFAULT]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    profile.chmod(0o600)
    return profile


def _machine(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: value for key, value in body.items() if key not in ("createVnicDetails", "metadata")},
        "id": name,
        "lifecycleState": "RUNNING",
        "timeCreated": "2026-11-17T17:00:00.000Z",
        "region": "eu-frankfurt-1",
    }


def _attachment(instance: str) -> dict[str, Any]:
    return {"id": "attachment", "instanceId": instance, "vnicId": "vnic", "lifecycleState": "ATTACHED"}


def _subnet(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"ocid1.subnet.{name}", "displayName": name, "prohibitPublicIpOnVnic": False, **more}


def _error(status: int, code: str, message: str) -> tuple[int, dict[str, str], Any]:
    return status, {}, {"code": code, "message": message}


def _refusal(status: int, code: str, message: str) -> RefusalError:
    return RefusalError(status, _error(status, code, message)[2])


@contextmanager
def staged(profile: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Oracle's cloud for as long as the block lasts; `profile` is of `write_profile`."""
    from benchwright.cloud.providers.oci import Oci

    peer = OracleCloud()
    for name in ("OCI_CLI_PROFILE", "OCI_CLI_AUTH", "OCI_CLI_REGION", "OCI_COMPARTMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    with serving_cloud(peer):
        monkeypatch.setenv("OCI_CLI_CONFIG_FILE", str(profile))
        monkeypatch.setenv("BENCHWRIGHT_OCI_ENDPOINT", peer.url)
        yield Stage(
            make=Oci,
            peer=peer,
            order=usual_order(provider="oci", shape=FLEXIBLE, region=REGION),
            shape=MachineShape(provider="oci", name=FLEXIBLE, region=REGION, vcpus=4, cores=2, memory_bytes=16 << 30),
            misspelled="VM.Standart.E5.Flex.2.16",
            nearest="VM.Standard.E5.Flex",
            secrets=(FINGERPRINT,),
        )
