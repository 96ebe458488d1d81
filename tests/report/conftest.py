"""Sample runs for the tests of reports."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from benchwright.records import Run


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """The module that makes runs."""
    spec = importlib.util.spec_from_file_location("sample_runs", Path(__file__).with_name("sample_runs.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run(samples: ModuleType) -> Run:
    """A run of four cases that went well and one that did not, three rounds each."""
    made: Run = samples.make_run()
    return made
