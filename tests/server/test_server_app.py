"""Once a day a server lets go what is too old."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import series_of_runs as runs
from benchwright.server.standing_jobs import Upkeep, tidy
from benchwright.store.sql.retention import RetentionRules


def test_what_is_too_old_goes_by_itself(serving: Callable[..., Any], tmp_path: Path) -> None:
    server = serving(tmp_path, retention=RetentionRules(runs=86400.0))
    runs.fill(server.store, [0.5, 0.5])  # months ago
    with server:
        deadline = time.monotonic() + 20
        while not server.store.audit() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [line.what for line in server.store.audit()] == ["2 runs, samples of 0 results"]
        assert [*server.store.run_ids()] == []


def test_without_rules_everything_stays(server: Any) -> None:
    runs.fill(server.store, [0.5])
    tidy(server.made.state.context)
    upkeep = Upkeep(server.made.state.context)
    upkeep.start()
    upkeep.end()
    assert [*server.store.run_ids()] == ["run-0000"] and server.store.audit() == []
