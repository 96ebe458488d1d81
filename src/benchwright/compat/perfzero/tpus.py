"""A TPU for the time of a run, through `gcloud`. Nothing here is called without `--tpu_parameters`."""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

from benchwright.compat.perfzero.console import log
from benchwright.compat.perfzero.flags import json_object
from benchwright.errors import OptionError, UploadError
from benchwright.schema.parsing import json_value
from benchwright.system.http import PassingError, call

HEALTHY = "HEALTHY"
PATIENCE = 1200.0  # seconds until a TPU must be healthy
PAUSE = 5.0
PORT = 8475  # where a TPU answers for its version
ANSWER = 60.0  # seconds for one answer
MOST_ANSWER = 1 << 20  # bytes
_NEEDED = ("name", "project", "zone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tpu:
    """What `--tpu_parameters` says."""

    name: str
    project: str
    zone: str
    size: str = ""
    version: str = ""
    version_id: str = ""
    prestarted: bool = False

    def place(self) -> list[str]:
        return [f"--project={self.project}", f"--zone={self.zone}"]


def parse(text: str) -> Tpu | None:
    """The TPU that the flag describes, or None when it is empty."""
    found = json_object(text, "tpu_parameters")
    if not found:
        return None
    missing = [name for name in _NEEDED if not found.get(name)]
    if missing:
        raise OptionError(f"--tpu_parameters has no {missing[0]!r}", remedy=f"it needs {', '.join(_NEEDED)}")
    words = {name: str(found.get(name) or "") for name in (*_NEEDED, "size", "version", "version_id")}
    return Tpu(**words, prestarted=found.get("using_prestarted_tpu") == "true")


def start(tpu: Tpu) -> dict[str, str]:
    """Starts the TPU unless it runs already, waits until it is healthy, and returns its version."""
    if not tpu.prestarted:
        _create(tpu)
    endpoint = _wait_until_healthy(tpu)
    if tpu.version_id:
        _switch(endpoint, tpu.version_id)
        endpoint = _wait_until_healthy(tpu)
    return {"url": "", **_version(endpoint, tpu.version)}


def delete(tpu: Tpu) -> bool:
    """Deletes the TPU; returns whether it is gone. One that was running before is left alone."""
    if tpu.prestarted:
        return True
    done = _gcloud("execution-groups", "delete", tpu.name, *tpu.place(), "--tpu-only", "--quiet")
    if done.returncode != 0:
        log.error("the TPU %s could not be deleted: %s", tpu.name, _error_text(done))
    return done.returncode == 0


def _create(tpu: Tpu) -> None:
    """Creates the TPU. A failure is only logged: a TPU of that name may be running, as the next step finds out."""
    options = [f"--name={tpu.name}", *tpu.place()]
    options += [f"--accelerator-type={tpu.size}"] if tpu.size else []
    options += [f"--tf-version={tpu.version}"] if tpu.version else []
    done = _gcloud("execution-groups", "create", "--tpu-only", *options, "--quiet")
    if done.returncode != 0:
        log.error("the TPU %s could not be created: %s", tpu.name, _error_text(done))


def _wait_until_healthy(tpu: Tpu) -> str:
    """Waits until the TPU is healthy; returns the address of its first endpoint, "" when it has none."""
    deadline = time.monotonic() + PATIENCE
    while True:
        done = _gcloud("describe", tpu.name, *tpu.place(), "--format=json")
        if done.returncode != 0:
            raise OptionError(f"there is no TPU {tpu.name}: {_error_text(done)}", remedy="check --tpu_parameters")
        told = _parse_object(done.stdout)
        if told.get("health", HEALTHY) == HEALTHY and told.get("state", "READY") == "READY":
            endpoints = told.get("networkEndpoints") or [{}]
            return str(endpoints[0].get("ipAddress") or "")
        if time.monotonic() > deadline:
            raise OptionError(
                f"the TPU {tpu.name} is not healthy after {PATIENCE:g} s", remedy="gcloud compute tpus list"
            )
        time.sleep(PAUSE)


def _switch(endpoint: str, version: str) -> None:
    path = f"/{urllib.parse.quote(version, safe='')}?restartType=always"
    try:
        _ask(endpoint, path, b"")
    except (PassingError, UploadError) as error:
        raise OptionError(f"the TPU did not take version {version}: {error}") from None


def _version(endpoint: str, label: str) -> dict[str, str]:
    told: dict[str, Any] = {}
    if endpoint:
        try:
            told = _parse_object(_ask(endpoint, "", None))
        except (PassingError, UploadError, ValueError) as error:
            log.error("the TPU does not tell its version: %s", error)
    commit = told.get("currentVersion") or told.get("buildLabel") or ""
    return {"hash": str(commit), "branch": label, "piper_id": str(told.get("piperOriginRevId") or "")}


def _ask(endpoint: str, path: str, data: bytes | None) -> bytes:
    url = f"http://{endpoint}:{PORT}/requestversion{path}"
    method = "GET" if data is None else "POST"
    answer = call(method, url, headers={}, body=data, timeout=ANSWER, most=MOST_ANSWER)
    if not answer.ok:
        raise UploadError(f"it answered {answer.said}")
    return answer.text


def _gcloud(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ["gcloud", "compute", "tpus", *arguments]
    log.debug("running %s", " ".join(command))
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise OptionError(f"gcloud cannot be run: {error.strerror}", remedy="install the Google Cloud CLI") from None


def _error_text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip() or f"gcloud ended with {done.returncode}"


def _parse_object(text: bytes) -> dict[str, Any]:
    found = json_value(text)
    return found if isinstance(found, dict) else {}
