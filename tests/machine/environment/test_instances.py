"""The metadata services of four clouds, each played by a server on loopback that wants what the real one wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchwright.machine.environment import collect, instances

Tree = Callable[..., Path]
DMI = "sys/class/dmi/id/"
AWS = {f"{DMI}sys_vendor": "Amazon EC2", f"{DMI}product_name": "c7i.large", f"{DMI}board_asset_tag": "i-0abc"}
GCP = {f"{DMI}product_name": "Google Compute Engine", f"{DMI}sys_vendor": "Google"}
AZURE = {f"{DMI}chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77", f"{DMI}sys_vendor": "Microsoft Corporation"}
OCI = {f"{DMI}chassis_asset_tag": "OracleCloud.com"}

ANSWERS: dict[tuple[str, str], tuple[tuple[str, str], Any]] = {  # (method, path) -> (the header it wants, answer)
    ("PUT", "/latest/api/token"): (("X-aws-ec2-metadata-token-ttl-seconds", "60"), "secret"),
    ("GET", "/latest/dynamic/instance-identity/document"): (
        ("X-aws-ec2-metadata-token", "secret"),
        {
            "instanceType": "c7i.large",
            "region": "eu-central-1",
            "availabilityZone": "eu-central-1a",
            "instanceId": "i-0abc",
            "imageId": "ami-1",
        },
    ),
    ("GET", "/latest/meta-data/instance-life-cycle"): (("X-aws-ec2-metadata-token", "secret"), "spot"),
    ("GET", "/computeMetadata/v1/instance/?recursive=true"): (
        ("Metadata-Flavor", "Google"),
        {
            "machineType": "projects/1/machineTypes/n2-standard-4",
            "zone": "projects/1/zones/europe-west1-b",
            "id": 12345678901234567890,
            "image": "projects/debian-cloud/global/images/debian-12",
            "scheduling": {"preemptible": "TRUE"},
        },
    ),
    ("GET", "/metadata/instance/compute?api-version=2021-02-01"): (
        ("Metadata", "true"),
        {
            "vmSize": "Standard_D2s_v5",
            "location": "westeurope",
            "zone": "1",
            "vmId": "1-2",
            "publisher": "canonical",
            "offer": "ubuntu",
            "sku": "24_04",
            "version": "1.0",
            "priority": "Regular",
        },
    ),
    ("GET", "/opc/v2/instance/"): (
        ("Authorization", "Bearer Oracle"),
        {
            "shape": "VM.Standard.E5.Flex",
            "shapeConfig": {"ocpus": 2.0, "memoryInGBs": 16.0},
            "canonicalRegionName": "eu-frankfurt-1",
            "availabilityDomain": "AD-1",
            "id": "ocid1.instance",
            "image": "ocid1.image",
        },
    ),
}


class _Service(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        header, content = ANSWERS.get((self.command, self.path), (("", ""), None))
        if content is None or self.headers.get(header[0]) != header[1]:
            self.send_error(401)
            return
        text = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = _answer  # noqa: N815 - the names that the standard library looks for

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("files", "facts"),
    [
        (AWS, ("aws", "c7i.large", "eu-central-1", "eu-central-1a", "i-0abc", "ami-1", "spot")),
        (GCP, ("gcp", "n2-standard-4", "europe-west1", "europe-west1-b", "12345678901234567890", "debian-12", "spot")),
        (AZURE, ("azure", "Standard_D2s_v5", "westeurope", "1", "1-2", "canonical:ubuntu:24_04:1.0", "on-demand")),
        (OCI, ("oci", "VM.Standard.E5.Flex.2.16", "eu-frankfurt-1", "AD-1", "ocid1.instance", "ocid1.image", None)),
    ],
)
def test_an_instance_is_told_by_its_cloud(
    tree: Tree, service: str, files: dict[str, str], facts: tuple[str | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # which never sees these questions
    found = instances.collect(tree(files), service)
    names = ("provider", "shape", "region", "zone", "id", "image", "market")
    assert tuple(found.get(name) for name in names) == facts


def test_a_machine_that_is_no_instance_asks_nobody(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "_ask_once", lambda *_: pytest.fail("it asked"))
    assert instances.collect(tree({f"{DMI}sys_vendor": "Dell Inc.", f"{DMI}product_name": "Precision"})) == {}
    assert instances.collect(tree({}, "bare")) == {}


def test_without_an_answer_the_firmware_is_believed(tree: Tree) -> None:
    started = time.monotonic()
    found = instances.collect(tree(AWS), "127.0.0.1:9")
    assert found == {"provider": "aws", "shape": "c7i.large", "id": "i-0abc"}
    assert time.monotonic() - started < 30  # a second, on a machine that has one to spare


def test_it_is_part_of_the_system_and_not_of_what_keys_a_series(
    tree: Tree, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances.collect, "__defaults__", (service,))
    environment = collect(root=tree(GCP))
    assert environment.system["instance"]["shape"] == "n2-standard-4"  # type: ignore[index,call-overload]
    assert "instance" not in environment.machine
