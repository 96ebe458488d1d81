"""install_each.py EXTRA: installs the requirements of an extra one by one and says which ones could not be had."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

INSTALL = [sys.executable, str(Path(__file__).with_name("install.py"))]


def main(extra: str) -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    subprocess.run([*INSTALL, "-e", "."], check=True)
    for requirement in project["optional-dependencies"][extra]:
        own = requirement.startswith(f"{project['name']}[")  # another extra of this very project
        what = ["-e", f".{requirement.removeprefix(project['name'])}"] if own else [requirement]
        if subprocess.run([*INSTALL, *what], check=False, stderr=subprocess.DEVNULL).returncode:
            sys.stdout.write(f"could not install {requirement}: the comparison goes on without it\n")


if __name__ == "__main__":
    main(sys.argv[1])
