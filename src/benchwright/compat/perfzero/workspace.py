"""PerfZero's folders: what lies where under the project."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

DATA = "/data"  # where PerfZero has data sets
SUMMARY = "perfzero_summary.json"
LOG = "perfzero.log"
PROCESS_INFO = "process_info.log"
PROFILE = "profiler_data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The workspace of a project; an absolute `name` is taken as it is."""

    project: Path
    name: str

    @property
    def root(self) -> Path:
        return (self.project / (self.name or "workspace")).absolute()

    @property
    def packages(self) -> Path:
        """Where repositories are cloned to."""
        return self.root / "site-packages"

    @property
    def output(self) -> Path:
        """Where every method has a folder of its own."""
        return self.root / "output"

    def python_path(self, parts: list[str]) -> tuple[str, ...]:
        """The folders that `--python_path` names; an absolute one is taken as it is."""
        return tuple(os.path.normpath(self.packages / part) for part in parts)
