"""The part of Compute Engine's HTTP interface that machines need, on loopback. Bodies must fit Google's own types."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchwright.cloud.orders import MachineShape
from cloud_contract import Stage, usual_order
from cloud_peer import CloudPeer, CloudRequest, Fault, RefusalError, serving_cloud

PROJECT = "lab-1"
SECRET = "ya29-a-token-that-nobody-may-see"
REGION, ZONES = "europe-west4", ("europe-west4-a", "europe-west4-b")
_ROOT = f"/compute/v1/projects/{PROJECT}"
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
SHAPES = {
    "c3-standard-4": {"guestCpus": 4, "memoryMb": 16384, "architecture": "X86_64"},
    "c3-standard-8": {"guestCpus": 8, "memoryMb": 32768, "architecture": "X86_64"},
    "c4a-standard-2": {"guestCpus": 2, "memoryMb": 8192, "architecture": "ARM64"},
    "n1-standard-4": {"guestCpus": 4, "memoryMb": 15360, "architecture": "X86_64"},
    "g2-standard-4": {
        "guestCpus": 4,
        "memoryMb": 16384,
        "architecture": "X86_64",
        "accelerators": [{"guestAcceleratorType": "nvidia-l4", "guestAcceleratorCount": 1}],
    },
}


class GoogleCloud(CloudPeer):
    """One project with two zones; `capacity` are the zones that have machines left."""

    def __init__(self) -> None:
        super().__init__()
        self.capacity = set(ZONES)
        self.preempted: list[str] = []
        self.machines: dict[tuple[str, str], dict[str, Any]] = {}
        self.ordered: dict[str, dict[str, Any]] = {}  # operations, by the id of the request
        self.operations: dict[str, dict[str, Any]] = {}

    def refuse(self, kind: str) -> None:
        """Makes the next order fail in that way."""
        order = r"POST .*/instances$"
        match kind:
            case "capacity":
                self.capacity.clear()
            case "quota":
                self.faults.append(Fault(order, _error(403, "quotaExceeded", "Quota 'CPUS' exceeded. Limit: 8.0")))
            case "throttled":
                self.faults.append(Fault(order, _error(403, "rateLimitExceeded", "Rate Limit Exceeded")))
            case "login":
                self.faults.append(Fault(".", _error(401, "authError", f"Invalid Credentials: {SECRET}"), times=99))
            case "lost-before" | "lost-after":
                self.faults.append(Fault(order, cut=kind.removeprefix("lost-")))

    def add_foreign(self) -> str:
        """A machine that somebody else started; returns its id."""
        self.machines[ZONES[0], "theirs"] = _machine("theirs", ZONES[0], {"labels": {"team": "x"}})
        return f"{ZONES[0]}/theirs"

    def left_over(self) -> int:
        return len([one for one in self.machines.values() if one["name"] != "theirs"])

    def answer(self, request: CloudRequest) -> tuple[int, dict[str, str], Any]:
        assert request.headers["authorization"].startswith("Bearer ")
        path = request.path.removeprefix(_ROOT)
        routes: dict[str, Callable[..., Any]] = {
            r"GET ": lambda: {"name": PROJECT},
            r"GET /regions": lambda: {"items": [{"name": REGION}, {"name": "us-west1"}]},
            r"GET /regions/([^/]+)": self._region,
            r"GET /zones/([^/]+)/machineTypes": lambda zone: {"items": [{"name": name} for name in SHAPES]},
            r"GET /zones/([^/]+)/machineTypes/([^/]+)": self._shape,
            r"GET /zones/([^/]+)/acceleratorTypes": lambda zone: {"items": [{"name": "nvidia-tesla-t4"}]},
            r"GET /zones/([^/]+)/acceleratorTypes/([^/]+)": self._accelerator,
            r"GET /zones/([^/]+)/instances": lambda zone: self._list(zone, request.query),
            r"POST /zones/([^/]+)/instances": lambda zone: self._insert(zone, request),
            r"GET /zones/([^/]+)/instances/([^/]+)": self._get,
            r"DELETE /zones/([^/]+)/instances/([^/]+)": self._delete,
            r"POST /zones/([^/]+)/instances/([^/]+)/(start|stop)": self._switch,
            r"GET /zones/([^/]+)/operations": lambda zone: {"items": [_preempted(name) for name in self.preempted]},
            r"POST /zones/([^/]+)/operations/([^/]+)/wait": lambda zone, name: self.operations[name],
        }
        for pattern, made in routes.items():
            if found := re.fullmatch(pattern, f"{request.method} {path}"):
                return 200, {}, made(*found.groups())
        raise AssertionError(f"no such route: {request.line}")

    def _region(self, name: str) -> Any:
        if name != REGION:
            raise _refusal(404, "notFound", f"The resource 'projects/{PROJECT}/regions/{name}' was not found")
        return {"name": name, "zones": [f"https://www.googleapis.com{_ROOT}/zones/{zone}" for zone in ZONES]}

    def _shape(self, zone: str, name: str) -> Any:
        if name not in SHAPES:
            raise _refusal(404, "notFound", f"The resource '{zone}/machineTypes/{name}' was not found")
        return {"name": name, **SHAPES[name]}

    def _accelerator(self, zone: str, name: str) -> Any:
        if name != "nvidia-tesla-t4" or zone != ZONES[1]:
            raise _refusal(404, "notFound", f"The resource '{zone}/acceleratorTypes/{name}' was not found")
        return {"name": name}

    def _list(self, zone: str, query: dict[str, str]) -> Any:
        found = re.fullmatch(r"labels\.([a-z-]+)(?::\*|=([0-9a-f]{32}))", query["filter"])
        assert found, query
        there = [one for (place, _), one in self.machines.items() if place == zone]
        wanted = [one for one in there if found[1] in one["labels"] and found[2] in (None, one["labels"][found[1]])]
        return {"items": wanted}

    def _insert(self, zone: str, request: CloudRequest) -> Any:
        body, asked = request.body, request.query["requestId"]
        uuid.UUID(asked)
        if asked in self.ordered:
            return self.ordered[asked]
        check_body(body)
        if (zone, body["name"]) in self.machines:
            raise _refusal(409, "alreadyExists", f"The resource '{body['name']}' already exists")
        operation = {"name": f"operation-{len(self.operations)}", "status": "RUNNING"}
        done: dict[str, Any] = {**operation, "status": "DONE"}
        if zone in self.capacity:
            self.machines[zone, body["name"]] = _machine(body["name"], zone, body)
        else:
            fault = {"code": "ZONE_RESOURCE_POOL_EXHAUSTED", "message": f"The zone '{zone}' does not have enough"}
            done |= {"httpErrorStatusCode": 503, "error": {"errors": [fault]}}
        self.operations[operation["name"]] = done
        self.ordered[asked] = operation
        return operation

    def _get(self, zone: str, name: str) -> Any:
        if (zone, name) not in self.machines:
            raise _refusal(404, "notFound", f"The resource '{zone}/instances/{name}' was not found")
        return self.machines[zone, name]

    def _delete(self, zone: str, name: str) -> Any:
        self._get(zone, name)
        del self.machines[zone, name]
        return {"name": "operation-delete", "status": "RUNNING"}

    def _switch(self, zone: str, name: str, verb: str) -> Any:
        self._get(zone, name)["status"] = "RUNNING" if verb == "start" else "TERMINATED"
        return {"name": f"operation-{verb}", "status": "RUNNING"}


def check_body(body: dict[str, Any]) -> None:
    """Whether the machine fits Google's own message, and its rules for names and labels."""
    from google.cloud import compute_v1
    from google.protobuf import json_format

    json_format.ParseDict(body, compute_v1.Instance.pb()())
    assert _NAME.fullmatch(body["name"])
    for labels in (body["labels"], body["disks"][0]["initializeParams"]["labels"]):
        assert all(_LABEL.fullmatch(key) and _VALUE.fullmatch(value) for key, value in labels.items()), labels
    scheduling = body["scheduling"]
    if scheduling.get("provisioningModel") == "SPOT":
        assert scheduling["onHostMaintenance"] == "TERMINATE" and scheduling["automaticRestart"] is False
    if "instanceTerminationAction" in scheduling:
        assert scheduling.get("provisioningModel") == "SPOT" or "maxRunDuration" in scheduling


def key_file() -> str:
    """A key of a service account that nobody has: made anew."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # short: it is checked anew for each client
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return json.dumps(
        {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": pem,
            "client_email": f"bench@{PROJECT}.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": "http://127.0.0.1:9/token",
        }
    )


@contextmanager
def staged(login: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Google's cloud for as long as the block lasts; `login` is a file of `key_file`, gcloud's settings are empty."""
    from google.oauth2.service_account import Credentials

    from benchwright.cloud.providers.google import Google

    # The library asks Google, in a thread of its own, in which regions the login may be used.
    monkeypatch.setattr(Credentials, "_maybe_start_regional_access_boundary_refresh", lambda *_: None)
    peer = GoogleCloud()
    with serving_cloud(peer):
        for name in ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("CLOUDSDK_CONFIG", str(folder))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(login))
        monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", f"{peer.url}/compute/v1/")
        yield Stage(
            make=Google,
            peer=peer,
            order=usual_order(provider="gcp", shape="c3-standard-4", region=REGION),
            shape=MachineShape(
                provider="gcp", name="c3-standard-4", region=REGION, vcpus=4, cores=2, memory_bytes=16 << 30
            ),
            misspelled="c3-standart-4",
            nearest="c3-standard-4",
            secrets=("PRIVATE KEY", SECRET),
        )


def _machine(name: str, zone: str, body: dict[str, Any]) -> dict[str, Any]:
    interface = {"networkIP": "10.0.0.2", "accessConfigs": [{"natIP": "203.0.113.9"}]}
    return {
        **body,
        "name": name,
        "zone": f"https://www.googleapis.com{_ROOT}/zones/{zone}",
        "status": "RUNNING",
        "creationTimestamp": "2026-11-17T10:00:00.000-07:00",
        "networkInterfaces": [interface],
        "resourceStatus": {"physicalHost": "/aaaa/bbbb/cccc"},
    }


def _preempted(name: str) -> dict[str, Any]:
    link = f"https://www.googleapis.com{_ROOT}/zones/{ZONES[0]}/instances/{name}"
    return {
        "operationType": "compute.instances.preempted",
        "targetLink": link,
        "statusMessage": "Instance was preempted.",
    }


def _error(status: int, reason: str, message: str) -> tuple[int, dict[str, str], Any]:
    listed = [{"message": message, "domain": "usageLimits", "reason": reason}]
    return status, {}, {"error": {"code": status, "message": message, "errors": listed}}


def _refusal(status: int, reason: str, message: str) -> RefusalError:
    return RefusalError(status, _error(status, reason, message)[2])
