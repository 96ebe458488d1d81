"""Container engines: podman or docker, found on this machine and called with argument lists.

Only what measuring needs is here, so that measuring in a container takes no package beyond the core; building images
is in `benchwright.execution.images`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Literal

from benchwright.errors import OptionError
from benchwright.schema.parsing import TextError, json_value

VARIABLE = "BENCHWRIGHT_CONTAINER_ENGINE"
KNOWN: tuple[Literal["podman", "docker"], ...] = (
    "podman",
    "docker",
)  # in the order they are tried: podman needs no daemon
ANSWER = 60.0  # seconds an engine may take to answer a question


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A program that answers as `podman` or `docker` does."""

    path: str
    kind: Literal["podman", "docker"]
    version: str

    def image(self, name: str) -> Image:
        """The image of that name on this machine; it is never fetched."""
        told = ask([self.path, "image", "inspect", name])
        if told.returncode != 0:
            raise OptionError(
                f"{self.kind} has no image {name!r}: {_last_line(told.stderr)}",
                remedy=f"{self.kind} pull {name}, or make one: benchwright image build",
            )
        identity = _identity(told.stdout)
        if not identity:
            raise OptionError(
                f"{self.path} image inspect {name} does not answer with an image as {self.kind} does",
                remedy=f"{VARIABLE} names another program",
            )
        return Image(name=name, id=identity if identity.startswith("sha256:") else f"sha256:{identity}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image on this machine."""

    name: str
    id: str  # sha256:..., or "" for a file system that is no image


def find() -> Engine:
    """The engine to use: the one that BENCHWRIGHT_CONTAINER_ENGINE names, else podman or docker, whichever answers."""
    named = os.environ.get(VARIABLE)
    if named:
        path = shutil.which(named)
        if path is None:
            raise OptionError(f"{VARIABLE}: there is no program {named!r}", remedy="name one that can be executed")
        return _engine(path)
    found = [path for path in map(shutil.which, KNOWN) if path]
    if not found:
        raise OptionError(
            "there is no container engine: neither podman nor docker is installed",
            remedy=f"install podman or docker, or name another program in {VARIABLE}",
        )
    for path in found[:-1]:
        try:
            return _engine(path)
        except OptionError:  # the next one may do; the last one says why it does not
            continue
    return _engine(found[-1])


def ask(command: list[str], *, seconds: float = ANSWER) -> subprocess.CompletedProcess[str]:
    """Runs a command of an engine and returns what it said; one that does not answer in time counts as failed."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {seconds:g} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 126, "", str(error))


def _engine(path: str) -> Engine:
    """The engine at `path`, once it has answered; docker's answer comes from its daemon."""
    named = ask([path, "--version"])
    kind = next((kind for kind in KNOWN if kind in named.stdout.lower()), None)
    if named.returncode != 0 or kind is None:
        said = _last_line(named.stderr) or _last_line(named.stdout) or f"exit code {named.returncode}"
        raise OptionError(f"{path} is neither podman nor docker: {said}", remedy=f"{VARIABLE} names another program")
    side = "Client" if kind == "podman" else "Server"
    version = ask([path, "version", "--format", f"{{{{.{side}.Version}}}}"])
    if version.returncode != 0:
        remedy = "start its daemon, or use podman" if kind == "docker" else f"does `{path} info` work?"
        raise OptionError(f"{path} does not work: {_last_line(version.stderr)}", remedy=remedy)
    return Engine(path=path, kind=kind, version=version.stdout.strip())


def _identity(text: str) -> str:
    """What `image inspect` says of the first image; "" for an answer that no engine gives: any program may be named."""
    try:
        found: Any = json_value(text)
    except TextError:
        return ""
    first = found[0] if isinstance(found, list) and found else None
    return str(first.get("Id") or "") if isinstance(first, dict) else ""


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""
