"""Nested runs of pytest see no plug-in but ours, and forget no module but those of the suite that they run."""

from __future__ import annotations

import pytest
from _pytest.pytester import SysModulesSnapshot


@pytest.fixture(autouse=True)
def _nested_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    # Usually every module that was imported is removed at the end, and SQLAlchemy does not survive half of that.
    snapshot = SysModulesSnapshot(
        preserve=lambda name: not name.startswith(("test_suite", "conftest", "pytest_benchmark", "pytest_codspeed"))
    )
    monkeypatch.setattr(pytest.Pytester, "_Pytester__take_sys_modules_snapshot", lambda self: snapshot)
