"""Real servers that speak the protocols of cloud stores, each a process of its own on loopback.

Each yields the environment variables that lead clients to it: `with emulators.s3("bucket") as environment: ...`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

_LONG = 30.0  # seconds for a server to answer


@contextmanager
def s3(*buckets: str) -> Iterator[dict[str, str]]:
    """An S3 server with these buckets. It checks no login, but clients want one."""
    with _server([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}"]) as url:
        for bucket in buckets:
            _ask("PUT", f"{url}/{bucket}")
        try:
            yield {
                "AWS_ENDPOINT_URL": url,
                "AWS_ACCESS_KEY_ID": "somebody",
                "AWS_SECRET_ACCESS_KEY": "secret-of-somebody",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
        finally:
            forget("s3fs")


@contextmanager
def aws() -> Iterator[str]:
    """All of Amazon's services that moto plays; yields the address. `aws_faults` stands in front of it."""
    with _server([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}"]) as url:
        yield url


@contextmanager
def gcs(*buckets: str) -> Iterator[dict[str, str]]:
    """A Google Cloud Storage server with these buckets. It knows no logins."""
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory", "--host", "127.0.0.1"]
    with _server([*command, "--port", "{port}"]) as url:
        for bucket in buckets:
            _ask("POST", f"{url}/storage/v1/b", b'{"name": "%s"}' % bucket.encode())
        try:
            yield {
                "STORAGE_EMULATOR_HOST": url,
                "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",  # asks Google about every bucket otherwise
            }
        finally:
            forget("gcsfs")


@contextmanager
def _server(command: list[str]) -> Iterator[str]:
    """Starts the command with a free port in place of `{port}`, waits until it answers, ends it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [word.format(port=port) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
    )
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + _LONG
        while not _answers(url):
            assert process.poll() is None and time.monotonic() < deadline, f"{command} does not answer"
            time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as answer:
        answer.close()
        return True
    except OSError:
        return False


def _ask(method: str, url: str, body: bytes = b"") -> None:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=10):
        pass


def forget(package: str) -> None:
    """Clients are kept by fsspec, and the next server has another address."""
    if package in sys.modules:
        store = sys.modules[package]
        (store.S3FileSystem if package == "s3fs" else store.GCSFileSystem).clear_instance_cache()
