"""Sample runs for the tests of reports."""

from __future__ import annotations

import pytest

import sample_runs as samples
from benchwright.records import Run


@pytest.fixture(scope="session")
def run() -> Run:
    """A run of four cases that went well and one that did not, three rounds each."""
    made: Run = samples.make_run()
    return made
