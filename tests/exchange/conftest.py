"""A sample run."""

from __future__ import annotations

import pytest

from benchwright.records import Run
from sample_runs import make_run


@pytest.fixture(scope="session")
def run() -> Run:
    """A run of four cases that went well and one that did not, three rounds each."""
    return make_run()
