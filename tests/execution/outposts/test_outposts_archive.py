"""What is sent to another machine so that it can measure."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from benchwright.execution.outposts import archive


def test_the_outpost_holds_what_it_imports(tmp_path: Path) -> None:
    """Nothing else of this package is over there."""
    with zipfile.ZipFile(io.BytesIO(archive.find().content)) as packed:
        packed.extractall(tmp_path)
    modules = ["attempt", "outposts.entry", "outposts.outpost", "plan_elsewhere"]
    imports = "; ".join(f"import benchwright.execution.{name}" for name in modules)
    script = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; {imports}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
