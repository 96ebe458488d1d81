"""When a wheel or an sdist is made, the dashboard is built into it first, so that nobody who installs it needs Node."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DashboardHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling before it collects files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds what is missing or older than its sources. An editable install takes what there is."""
        if version == "editable":
            return
        path = Path(self.root, "dashboard", "build.py")
        spec = importlib.util.spec_from_file_location("dashboard_build", path)
        assert spec is not None and spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        try:
            script.build()
        except RuntimeError as error:
            self.app.abort(str(error))
