"""What the core costs to install and to start, beside its peers: `python benchmarks/install.py [--quick]`.

Each is installed from its wheel into an empty environment of its own. Counted: packages, bytes on disk, and what its
help takes, as a ratio to `python -c pass` of the same environment in the same minute (the median of pairs).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Images of containers like to set it; a tool would then be compiled anew at each start.
_COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: what pip installs, and its help."""

    package: str
    help: tuple[str, ...]  # words after `bin/`


PEERS = {
    "pyperf": Tool(package="pyperf", help=("python", "-m", "pyperf", "--help")),
    "pytest-benchmark": Tool(package="pytest-benchmark", help=("pytest-benchmark", "--help")),
    "asv": Tool(package="asv", help=("asv", "--help")),
}


def main() -> None:
    """Installs each, and prints a row for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ours alone, few starts")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        ours = Tool(package=str(_build_wheel(Path(folder))), help=("benchwright", "--help"))
        tools = {"benchwright": ours, **({} if quick else PEERS)}
        print(f"{'':18}{'packages':>9}{'MB':>8}{'seconds':>9}{'help / pass':>13}{'ms':>7}")
        for name, tool in tools.items():
            home = Path(folder, name)
            packages, size, seconds = _install(tool, home)
            ratio, milliseconds = _time_help(tool, home, starts=5 if quick else 41)
            print(f"{name:18}{packages:9}{size / 1e6:8.1f}{seconds:9.1f}{ratio:13.2f}{milliseconds:7.0f}", flush=True)


def _build_wheel(folder: Path) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return next((folder / "dist").glob("*.whl"))


def _install(tool: Tool, home: Path) -> tuple[int, int, float]:
    """How many packages came, their bytes, compiled files left out, and the seconds."""
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    site = next((home / "lib").glob("python*/site-packages"))
    before = _size(site)
    begun = time.monotonic()
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-qqq", "--no-compile", tool.package]
    subprocess.run(pip, check=True)
    seconds = time.monotonic() - begun
    packages = len(list(site.glob("*.dist-info"))) - 2  # pip and setuptools were there
    return packages, _size(site) - before, seconds


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def _time_help(tool: Tool, home: Path, starts: int) -> tuple[float, float]:
    """The help over `python -c pass` in pairs, and its milliseconds; the first start compiles, and is left out."""
    nothing = [home / "bin" / "python", "-c", "pass"]
    asked = [home / "bin" / tool.help[0], *tool.help[1:]]
    pairs = [(_time(asked), _time(nothing)) for _ in range(starts + 1)][1:]
    ratio = statistics.median(help_time / bare for help_time, bare in pairs)
    return ratio, 1000 * statistics.median(help_time for help_time, _ in pairs)


def _time(command: list[Path | str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_COMPILED)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
