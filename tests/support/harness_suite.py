"""A small suite for FAI-PEP's harness: a spec, a program that prints rows, and the command line that runs them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from benchwright.compat.harness.door import main
from benchwright.events import nobody

ROW = """echo 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": %s}'"""
GOOD = ROW % 5
NEEDED = ["--framework", "generic", "--platform", "host", "--model_cache", "cache", "--cooldown=0"]


def write_program(name: str, body: str) -> str:
    """Writes a shell script and returns its name."""
    path = Path(name)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    return str(path)


def write_spec(*tests: dict[str, Any], **model: Any) -> str:
    """Writes a spec of these tests, each with what is usual, and returns its name."""
    usual = {"identifier": "{ID}", "metric": "delay", "iter": 1, "commands": ["{program}"]}
    whole = {
        "model": {"name": "tiny", "format": "generic", "files": {}, **model},
        "tests": [{**usual, **test} for test in tests or ({},)],
    }
    Path("spec.json").write_text(json.dumps(whole), encoding="utf-8")
    return "spec.json"


def describe_sides(**sides: str) -> str:
    """Returns the text of --info for these programs."""
    return json.dumps({side: {"commit": side, "commit_time": 0, "program": program} for side, program in sides.items()})


def run_harness(spec: str, info: str, *more: str, framework: str = "generic", platform: str = "host") -> int:
    """Runs the harness in this process and returns its exit code."""
    words = ["-b", spec, *NEEDED, "--framework", framework, "--platform", platform]
    return main([*words, "--info", info, *more], lambda: contextlib.nullcontext(nobody))
