"""The facts of a summary that do not come from the method: harness, machine, framework, environment variables."""

from __future__ import annotations

import csv
import functools
import io
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import benchwright
from benchwright._version import VERSION
from benchwright.compat.perfzero.console import log
from benchwright.schema.parsing import json_value
from benchwright.system import addresses

TIMEOUT = 30.0  # seconds for a program that only tells something
IMPORTING = 120.0  # seconds that importing TensorFlow may take
_IMPORT = """\
import json, sys
sys.path += {paths!r}
import tensorflow
facts = {{"version": tensorflow.__version__, "build_version": tensorflow.__git_version__}}
print("\\n" + json.dumps({{"name": "tensorflow", **{{key: str(value) for key, value in facts.items()}}}}))
"""
_PACKAGE = Path(benchwright.__file__).parent
_QUERY = ["nvidia-smi", "--query-gpu=driver_version,gpu_name", "--format=csv,noheader"]
_ROCM = ["rocm-smi", "--json", "--showproductname", "--showdriverversion"]


def harness_info(package: Path = _PACKAGE) -> dict[str, str]:
    """What measured: Benchwright and its version; with URL, branch and commit where it runs from its own repository."""
    return {"name": "benchwright", "version": VERSION} | _repository(package)


def _repository(package: Path) -> dict[str, str]:
    """PerfZero's three keys. A package that only lies within somebody's repository, as in its .venv, is not of it."""
    git = ["git", "-C", str(package)]
    if not _run_program([*git, "ls-files", "--error-unmatch", "__init__.py"]):
        return {}
    url = _run_program([*git, "config", "--get", "remote.origin.url"])
    branch = _run_program([*git, "rev-parse", "--abbrev-ref", "HEAD"])
    commit = _run_program([*git, "rev-parse", "HEAD"])
    return {"url": addresses.without_login(url), "branch": branch, "hash": commit} if url and branch and commit else {}


def env_vars(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every variable whose name begins with PERFZERO_."""
    every = os.environ if environment is None else environment
    return {name: value for name, value in every.items() if name.startswith("PERFZERO_")}


def system_info(*, platform_name: str = "", system_name: str = "", has_tpu: bool = False) -> dict[str, Any]:
    """This machine in PerfZero's words; keys that have nothing to say are absent."""
    found: dict[str, Any] = {}
    if platform_name:
        found["platform_name"] = platform_name
    if system_name:
        found["system_name"] = system_name
    if os.environ.get("TPUVM_MODE"):
        found["accelerator_model"] = "tpuvm"
    elif not has_tpu:
        found |= _accelerators()
    return found | processors() | {"hostname": socket.gethostname()}


def processors(page: str | None = None) -> dict[str, Any]:
    """CPU model and counts; `page` is a /proc/cpuinfo, this machine's when None."""
    import psutil

    if page is None:
        try:
            page = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        except OSError:
            page = ""
    fields = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in page.splitlines())]
    return {
        "cpu_model": next((value for key, value in fields if key == "model name"), ""),
        "physical_cpu_count": psutil.cpu_count(logical=False),
        "logical_cpu_count": psutil.cpu_count(logical=True),
        "cpu_socket_count": len({value for key, value in fields if key == "physical id"}) if page else -1,
    }


def framework_info(told: object, build_label: str) -> dict[str, str]:
    """What the worker told of its framework; else TensorFlow as far as it is installed. Nothing is imported here."""
    facts = told if isinstance(told, Mapping) else {}
    info = {
        "name": str(facts.get("name") or "tensorflow"),
        "version": str(facts.get("version") or _installed_tensorflow()),
        "build_version": _unwrap_bytes(str(facts.get("build_version") or "")),
    }
    return info | ({"build_label": build_label} if build_label else {})


@functools.cache
def read_tensorflow_facts(paths: tuple[str, ...]) -> dict[str, str]:
    """What TensorFlow says of itself, {} where it cannot be imported. A process of its own does so, once for a run.

    PerfZero imports it for every summary. Here that is needed for methods that failed before they had loaded it.
    """
    here = [*sys.path, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    if PathFinder.find_spec("tensorflow", [*here, *paths]) is None:
        return {}
    log.info("Importing TensorFlow in a process of its own, to tell its version")
    code = _IMPORT.format(paths=list(paths))
    said = _run_program([sys.executable, "-P", "-c", code], seconds=IMPORTING).rpartition("\n")[2]
    try:
        found = json_value(said) if said else {}
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _installed_tensorflow() -> str:
    from importlib.metadata import PackageNotFoundError, version

    for name in ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def _unwrap_bytes(text: str) -> str:
    """A version that was printed as bytes, without their wrapper."""
    return text[2:-1] if text[:2] in ("b'", 'b"') else text


def _accelerators() -> dict[str, Any]:
    """Model, driver and count from the vendor's own program; nothing without one."""
    return _amd(_run_program(_ROCM)) or nvidia(_run_program(_QUERY))


def nvidia(page: str) -> dict[str, Any]:
    """Reads the GPU from `driver, name` lines. A Quadro in front drives the screen: the next one counts."""
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(page)) if len(row) == 2]
    except csv.Error:
        return {}
    if not rows:
        return {}
    chosen = rows[1] if len(rows) > 1 and "Quadro" in rows[0][1] else rows[0]
    return _accelerator(chosen[0], chosen[1], len(rows))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _amd(page: str) -> dict[str, Any]:
    try:
        told = json_value(page) if page else {}
    except ValueError:
        return {}
    if not isinstance(told, dict):
        return {}
    cards = [card for name, card in sorted(told.items()) if name.startswith("card") and isinstance(card, dict)]
    if not cards:
        return {}
    driver = next((str(v) for k, v in _mapping(told.get("system")).items() if "driver version" in k.lower()), "")
    models = [str(value) for key, value in cards[0].items() if "series" in key.lower() or "model" in key.lower()]
    return _accelerator(driver, models[0] if models else "", len(cards))


def _accelerator(driver: str, model: str, count: int) -> dict[str, Any]:
    return {"accelerator_driver_version": driver, "accelerator_model": model, "accelerator_count": count}


def _run_program(command: list[str], *, seconds: float = TIMEOUT) -> str:
    """Runs a program and returns what it prints; "" when it is absent, fails or takes too long."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
