"""The server: pages of up to ten million points, uploads that lose nothing, floods of results, bulk import.

    python benchmarks/server.py [--quick]

Starts the scripts in benchmarks/server one after the other; each has flags of its own and prints its own lines.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

QUICK = {
    "pages": ["--points", "20000", "--requests", "7", "--database", "sqlite"],
    "uploads": ["--seconds", "3"],
    "bulk": ["--results", "300", "--rounds", "2", "--database", "sqlite"],
    "flood": ["--seconds", "2", "--database", "sqlite"],
    "scale": ["--points", "100000", "--seconds", "5"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all; 1 when a bar is clearly missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds that show it works; bars are not judged")
    given = parser.parse_args(arguments)
    folder = Path(__file__).with_suffix("")
    ended = []
    for name, flags in QUICK.items():
        command = [sys.executable, str(folder / f"{name}.py"), *(flags if given.quick else ())]
        ended.append(subprocess.run(command, check=False).returncode)
    return int(any(ended))


if __name__ == "__main__":
    sys.exit(main())
