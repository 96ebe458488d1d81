"""Which cloud instance this machine is: named by its firmware, told more by the cloud's metadata service.

The service is asked only where the firmware names a cloud, so that a machine of one's own never waits for it. It is
asked with the token or the header that the cloud wants; an answer is bounded in bytes and time, and no proxy sees it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchwright.machine.environment.proc_files import read_text
from benchwright.records import Value
from benchwright.schema.parsing import TextError, json_value

SERVICE = "169.254.169.254"  # the same at every cloud
SECONDS = 1.0  # for all questions together
_LARGEST = 64 << 10  # bytes of an answer
_LONGEST = 200  # characters of a fact
_DMI = Path("sys/class/dmi/id")
_AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"  # of every machine there
_OCI_TAG = "OracleCloud.com"

Ask = Callable[..., str]  # (path, headers, method) -> the text of an answer; "" where there is none


def collect(root: Path, service: str = SERVICE) -> dict[str, Value]:
    """Provider, shape, region, zone, id, image and market of the instance; empty on a machine that is none."""
    provider = recognise(root)
    if not provider:
        return {}
    facts = {**(_firmware_of_aws(root) if provider == "aws" else {}), **_ask_once(provider, service)}
    return {"provider": provider, **{name: text[:_LONGEST] for name, text in facts.items() if text}}


def recognise(root: Path) -> str:
    """The cloud that the firmware names: aws, gcp, azure or oci; "" for any other machine."""
    vendor, product, tag = (_read(root, name) for name in ("sys_vendor", "product_name", "chassis_asset_tag"))
    if vendor == "Amazon EC2" or "amazon" in _read(root, "bios_version").lower():
        return "aws"
    if product == "Google Compute Engine":
        return "gcp"
    if tag == _AZURE_TAG:
        return "azure"
    return "oci" if tag == _OCI_TAG else ""


def _firmware_of_aws(root: Path) -> dict[str, str]:
    """Nitro machines carry their shape and their id in the firmware, where the service may be switched off."""
    tag = _read(root, "board_asset_tag")
    return {"shape": _read(root, "product_name"), "id": tag if tag.startswith("i-") else ""}


@cache
def _ask_once(provider: str, service: str) -> dict[str, str]:
    """What the service tells; an instance does not change its facts while a process lives."""
    return {name: text for name, text in _ASKED[provider](asker(service)).items() if text}


def asker(service: str = SERVICE) -> Ask:
    """Asks the metadata service; all questions together take a second at most, and what fails is an empty answer."""
    import http.client  # a machine that is no instance need not load it

    deadline = time.monotonic() + SECONDS

    def ask(path: str, headers: Mapping[str, str], method: str = "GET") -> str:
        left = deadline - time.monotonic()
        if left <= 0:
            return ""
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(service, timeout=left)
            with contextlib.closing(connection):
                connection.request(method, path, headers=dict(headers))
                answer = connection.getresponse()
                text = answer.read(_LARGEST)
                return text.decode(errors="replace") if answer.status == 200 else ""
        return ""

    return ask


def aws_headers(ask: Ask) -> dict[str, str]:
    """What a question to Amazon's service must carry; nothing where it gives no token.

    The older way without a token is not used: it is open to forged requests.
    """
    token = ask("/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, "PUT")
    return {"X-aws-ec2-metadata-token": token} if token else {}


def _ask_aws(ask: Ask) -> dict[str, str]:
    headers = aws_headers(ask)
    if not headers:
        return {}
    told = read_document(ask("/latest/dynamic/instance-identity/document", headers))
    life = ask("/latest/meta-data/instance-life-cycle", headers)
    return {
        "shape": _text(told.get("instanceType")),
        "region": _text(told.get("region")),
        "zone": _text(told.get("availabilityZone")),
        "id": _text(told.get("instanceId")),
        "image": _text(told.get("imageId")),
        "market": {"on-demand": "on-demand", "spot": "spot"}.get(life.strip(), ""),
    }


def _ask_gcp(ask: Ask) -> dict[str, str]:
    told = read_document(ask("/computeMetadata/v1/instance/?recursive=true", {"Metadata-Flavor": "Google"}))
    zone = _last(told.get("zone"))
    scheduling = told.get("scheduling")
    spot = isinstance(scheduling, dict) and _text(scheduling.get("preemptible")).upper() == "TRUE"
    return {
        "shape": _last(told.get("machineType")),
        "region": zone.rpartition("-")[0],
        "zone": zone,
        "id": _text(told.get("id")),
        "image": _last(told.get("image")),
        "market": ("spot" if spot else "on-demand") if told else "",
    }


def _ask_azure(ask: Ask) -> dict[str, str]:
    told = read_document(ask("/metadata/instance/compute?api-version=2021-02-01", {"Metadata": "true"}))
    spot = _text(told.get("priority")).lower() == "spot"
    parts = (told.get("publisher"), told.get("offer"), told.get("sku"), told.get("version"))
    return {
        "shape": _text(told.get("vmSize")),
        "region": _text(told.get("location")),
        "zone": _text(told.get("zone")),
        "id": _text(told.get("vmId")),
        "image": ":".join(map(_text, parts)) if all(parts) else "",
        "market": ("spot" if spot else "on-demand") if told else "",
    }


def _ask_oci(ask: Ask) -> dict[str, str]:
    told = read_document(ask("/opc/v2/instance/", {"Authorization": "Bearer Oracle"}))
    shape, size = _text(told.get("shape")), told.get("shapeConfig")
    if shape.endswith(".Flex") and isinstance(size, dict):  # what a flexible shape costs depends on its size
        shape = f"{shape}.{_size(size.get('ocpus'))}.{_size(size.get('memoryInGBs'))}"
    return {
        "shape": shape,
        "region": _text(told.get("canonicalRegionName") or told.get("region")),
        "zone": _text(told.get("availabilityDomain")),
        "id": _text(told.get("id")),
        "image": _text(told.get("image")),
    }


_ASKED: Mapping[str, Callable[[Ask], dict[str, str]]] = {
    "aws": _ask_aws,
    "gcp": _ask_gcp,
    "azure": _ask_azure,
    "oci": _ask_oci,
}


def _read(root: Path, name: str) -> str:
    try:
        return read_text(root / _DMI / name).strip()
    except OSError:
        return ""


def read_document(text: str) -> dict[str, Any]:
    """What an answer holds; nothing where it is no JSON object."""
    try:
        value = json_value(text) if text else {}
    except TextError:
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _last(value: object) -> str:
    """Google names things by paths: projects/1/zones/europe-west1-b."""
    return _text(value).rpartition("/")[2]


def _size(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else ""
