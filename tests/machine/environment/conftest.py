"""Made-up `/proc` and `/sys` trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Path]:
    """`tree({"proc/loadavg": "0.1 0.2 0.3"})` writes files and answers the root they are below."""

    def write(files: Mapping[str, str], name: str = "root") -> Path:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        for place, content in files.items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content + "\n", encoding="utf-8")
        return root

    return write
