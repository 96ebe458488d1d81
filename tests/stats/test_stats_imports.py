"""What the measuring worker uses must cost it nothing to import."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest

import benchwright.stats

# And what begins like one of them.
WITH_NUMPY = (
    "bisection",
    "changepoint",
    "confirmation",
    "culprit",
    "drift",
    "errors",
    "level_paths",
    "pairs",
    "process_noise",
    "race",
    "signflips",
    "summary",
)
MODULES = sorted(m.name for m in pkgutil.iter_modules(benchwright.stats.__path__))


@pytest.mark.parametrize("module", [m for m in MODULES if not m.startswith(WITH_NUMPY)])
def test_only_the_standard_library_is_imported(module: str) -> None:
    code = f"import sys, json, benchwright.stats.{module}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert f"benchwright.stats.{module}" in loaded
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"__main__", "benchwright"}
    assert not {name for name in foreign if not name.startswith(("_", "sitecustomize"))}
    assert "statistics" not in loaded  # 14 ms
