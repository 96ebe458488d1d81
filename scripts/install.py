"""install.py ARGUMENT...: `pip install ARGUMENT...` for this Python; uv does it where it can, in a tenth of the time.

uv is told what pip is configured with: the indexes, the folders, the certificates, the proxy. Where pip is configured
with something else that matters, where uv cannot be had, and where it fails, pip does the work.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
UV = [sys.executable, "-m", "uv", "--quiet", "pip", "install", "--python", sys.executable]

# pip's setting: uv's option, given once for each value ...
OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraint",
}
# ... or the variables that uv reads.
VARIABLES = {
    "cert": ("SSL_CERT_FILE",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
    "timeout": ("UV_HTTP_TIMEOUT",),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
}
# What changes how pip goes about it, not what is installed.
MANNERS = {
    "break-system-packages",
    "cache-dir",
    "disable-pip-version-check",
    "no-cache-dir",
    "no-color",
    "no-input",
    "prefer-binary",
    "progress-bar",
    "quiet",
    "require-virtualenv",
    "retries",
    "root-user-action",
    "verbose",
}


def main(arguments: list[str]) -> int:
    settings = _settings()
    if settings.keys() <= OPTIONS.keys() | VARIABLES.keys() | MANNERS and _uv_is_here():
        command = [*UV, "--index-strategy", "unsafe-best-match"]  # the best version of all indexes, as pip takes it
        for name, option in OPTIONS.items():
            command += [part for value in settings.get(name, "").split() for part in (option, value)]
        if _succeeds([*command, *arguments], _variables(settings)):
            return 0
    return subprocess.run([*PIP, "install", "-qq", *arguments], check=False).returncode


def _settings() -> dict[str, str]:
    """What pip is configured with, by its files and by the environment, which goes first."""
    listed = subprocess.run([*PIP, "config", "list"], check=True, capture_output=True, text=True).stdout
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found:
            found[section][key] = ast.literal_eval(value)
    return found["global"] | found["install"] | found[":env:"]


def _variables(settings: Mapping[str, str]) -> dict[str, str]:
    named = {name: settings[key] for key, names in VARIABLES.items() if key in settings for name in names}
    return named | os.environ


def _uv_is_here() -> bool:
    return importlib.util.find_spec("uv") is not None or _succeeds([*PIP, "install", "-qq", "uv"], os.environ)


def _succeeds(command: list[str], variables: Mapping[str, str]) -> bool:
    return not subprocess.run(command, check=False, env=variables, stderr=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
