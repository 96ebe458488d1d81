"""test_pythons.py [VERSION...]: the core alone, and what is computed, on every supported Python that this machine has.

For each version an environment below build/pythons gets the core and what the tests of computed things need. Versions
for which there is no interpreter are named at the end; that is a failure only where the version was asked for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = "endpoints,plot"  # whose parts are computed with, too
NEEDS = ["pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "scipy", "jsonschema", "hdrhistogram", "tokenizers"]
TESTS = [f"tests/{name}" for name in ("units", "schema", "records", "analysis", "targets/tasks", "worker/tasks")]
# What a stranger does first, with nothing installed but the core.
FIRST = ["--version", "--help", "run --rounds 1 --samples 3 -- true", "show last", "compare last last", "report last"]


def main(wanted: list[str]) -> int:
    """Tests each version; 1 where one failed, or was asked for and is not there."""
    missing, failed = [], []
    for version in wanted or stated_versions():
        python = find_interpreter(version)
        if python is None:
            missing.append(version)
        elif not _passes(version, python):
            failed.append(version)
    if missing:
        _say(f"no interpreter was found for Python {', '.join(missing)}")
    _say(f"failed: Python {', '.join(failed)}" if failed else "all that were found pass")
    return 1 if failed or (wanted and missing) else 0


def stated_versions() -> list[str]:
    """The versions of Python that pyproject.toml names."""
    return re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def find_interpreter(version: str) -> str | None:
    """An interpreter of this version that starts: of the path, or of pyenv, whose names in the path may be empty."""
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(f"{version}.*/bin/python")
    found = [shutil.which(f"python{version}"), *map(str, sorted(homes))]
    return next((path for path in found if path and _is_version(path, version)), None)


def _is_version(python: str, version: str) -> bool:
    said = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return said.returncode == 0 and said.stdout.startswith(f"Python {version}.")


def _passes(version: str, python: str) -> bool:
    folder = ROOT / "build" / "pythons" / version
    _say(f"== Python {version}: {python}")
    if not (folder / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    ours = str(folder / "bin" / "python")
    subprocess.run([ours, ROOT / "scripts" / "install.py", "-e", f"{ROOT}"], check=True)
    return _takes_first_steps(folder) and _computes_right(ours)


def _takes_first_steps(folder: Path) -> bool:
    for words in FIRST:
        command = [folder / "bin" / "benchwright", *words.split()]
        if subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode:
            _say(f"benchwright {words}: failed")
            return False
        (folder / "benchwright-report.html").unlink(missing_ok=True)
    return True


def _computes_right(python: str) -> bool:
    subprocess.run([python, ROOT / "scripts" / "install.py", "-e", f"{ROOT}[{EXTRAS}]", *NEEDS], check=True)
    marks = ["-m", "not soak and not serial", "-p", "no:cacheprovider", "-n", "2"]
    ended = subprocess.run([python, "-m", "pytest", *marks, *TESTS], cwd=ROOT, check=False)
    return ended.returncode == 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
