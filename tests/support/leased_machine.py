"""A cloud whose machines can be measured on: moto has their records, and an sshd on loopback stands in for each.

Between it and its clients stands the proxy of `aws_faults`, which can refuse, lose answers, and see who asks what.
"""

from __future__ import annotations

import contextlib
import getpass
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import sshd
from aws_faults import REGION, Cloud, serving_aws
from benchwright.cloud.providers import aws

IMAGE = "ami-12c6146b"  # one of moto's
PRICES = """
prices:
  - {{provider: aws, shape: c7i.large, region: {region}, amount: 0.1, fetched_at: {day}}}
  - {{provider: aws, shape: c7i.large, region: {region}, amount: 0.04, market: spot, fetched_at: {day}}}
  - {{provider: aws, shape: c7i.xlarge, region: {region}, amount: 0.2, fetched_at: {day}}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedMachines:
    """The variables that lead to that cloud, with a ledger, a key, prices and connections of its own."""

    cloud: Cloud
    stranger: str  # a machine that somebody else ordered, which nobody may touch
    server: sshd.Sshd
    environment: dict[str, str] = field(repr=False)

    def spec(self, shape: str = "c7i.large", market: str = "", **words: str) -> str:
        """How `--host` names one of its machines."""
        told = {"image": IMAGE, **words}
        query = "&".join(f"{word}={value}" for word, value in told.items())
        return f"cloud:aws/{shape}@{REGION}{f':{market}' if market else ''}?{query}"

    def alive(self) -> list[dict[str, Any]]:
        """The machines that were ordered here, and cost money."""
        found = self.cloud.machines()
        assert found.pop(self.stranger, None), "somebody else's machine was ended"
        return list(found.values())


@contextlib.contextmanager
def standing_in(folder: Path) -> Iterator[tuple[sshd.Sshd, dict[str, str]]]:
    """An sshd that stands in for every machine of every cloud, and the variables by which ssh finds it."""
    with (
        sshd.running(folder / "sshd") as server,
        tempfile.TemporaryDirectory(prefix="bw-") as short,  # a socket's path must be
    ):
        config = folder / "ssh_config"
        config.write_text(
            f"Host *\n HostName 127.0.0.1\n Port {server.port}\n IdentityFile {server.folder}/id\n"
            " GlobalKnownHostsFile none\n"
        )
        yield (
            server,
            {
                "BENCHWRIGHT_SSH_OPTIONS": f"-F {config} -o User={getpass.getuser()}",
                "XDG_STATE_HOME": str(folder / "state"),
                "XDG_RUNTIME_DIR": short,
            },
        )


@contextlib.contextmanager
def running(folder: Path, *, day: str) -> Iterator[LeasedMachines]:
    """Starts the cloud, with a machine of somebody else, and what stands in for ours; all end with the block."""
    with serving_aws() as cloud, standing_in(folder) as (server, found_by):
        (folder / "prices.yaml").write_text(PRICES.format(region=REGION, day=day))
        told = cloud.client.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="t3.nano")
        aws.forget_clients()  # of another cloud: to make new ones takes a second
        yield LeasedMachines(
            cloud=cloud,
            stranger=told["Instances"][0]["InstanceId"],
            server=server,
            environment={
                **cloud.environment,
                **found_by,
                "BENCHWRIGHT_PRICES": str(folder / "prices.yaml"),
            },
        )
        aws.forget_clients()


# Where each cloud's service tells that it takes the machine away, and what must be asked along.
NOTICES = {
    "/latest/meta-data/spot/instance-action": ("X-aws-ec2-metadata-token", "a-token"),
    "/computeMetadata/v1/instance/preempted": ("Metadata-Flavor", "Google"),
    "/metadata/scheduledevents?api-version=2020-07-01": ("Metadata", "true"),
}


class MetadataService:
    """The metadata service of a machine; `notice` is what it says of taking the machine away."""

    def __init__(self) -> None:
        self.notice = ""
        service = self

        class Answer(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                self._answer(b"a-token")

            def do_GET(self) -> None:
                name, value = NOTICES.get(self.path, ("", ""))
                allowed = bool(name) and self.headers.get(name) == value
                self._answer(service.notice.encode() if allowed else b"")

            def _answer(self, body: bytes) -> None:
                self.send_response(200 if body else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> MetadataService:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
