"""Makes environments on the machine that measures, and builds revisions there: each once, whoever asks for it.

What is there is known by what was ordered and by the Python that it is for. What was cut off never looks made, and what
failed is removed again, so that a full disk does not stay full. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchwright import schema
from benchwright.errors import BenchwrightError
from benchwright.execution.outposts import bundles
from benchwright.execution.outposts.orders import EnvironmentOrder, MadeEnvironment
from benchwright.execution.venvs import commands, environments
from benchwright.records import Failure
from benchwright.system import whole_files
from benchwright.system.locks import hold_free_lock, hold_lock

KEPT_DAYS = 30.0
MARK = "made.json"  # written last, and touched when it is used
LOG = "build.log"
SHOWN = 5  # packages that are named
_FULL = os.strerror(errno.ENOSPC)


class Installer:
    """Keeps environments below `home`; files of the run lie below `root`. `tell` hears what takes long."""

    def __init__(self, home: Path, root: Path, tell: Callable[[str], None]) -> None:
        # Resolved: where the folder is a link, environments lie, and are named, behind it.
        self._home, self._root, self._tell = (home / "environments").resolve(), root, tell

    def make(self, order: EnvironmentOrder) -> MadeEnvironment:
        """The environment, made now or found; of several that ask for it at the same time one makes it."""
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._forget_old()
        key = key_of(order)
        place = self._home / key
        with hold_lock(place.with_name(f".{key}.lock")):
            if (
                (place / MARK).is_file()
                and environments.interpreter(place / "environment").exists()
                and not order.again
            ):
                os.utime(place / MARK)
                return replace(self._describe(place, order), cached=True)
            return self._make(place, order)

    def _make(self, place: Path, order: EnvironmentOrder) -> MadeEnvironment:
        begin = time.monotonic()
        (place / MARK).unlink(missing_ok=True)
        commands.end_left_over(place / LOG)
        environments.remove(place)
        try:
            place.mkdir()
            failure = self._fill(place, order)
            if failure is None:
                whole_files.write_text(place / MARK, json.dumps(schema.encode(order)), durable=True)
                return replace(self._describe(place, order), seconds=time.monotonic() - begin)
        except OSError as error:
            failure = Failure(kind="start", message=f"no environment could be made: {error}")
        except BenchwrightError as error:
            remedy = "does its Python have venv, and pip or ensurepip? ?python=PATH names another one"
            failure = Failure(kind="packages", message=error.message, remedy=error.remedy or remedy)
        except BaseException:  # somebody does not want it any more
            environments.remove(place)
            raise
        if _FULL in f"{failure.message} {failure.log_tail}":
            free = shutil.disk_usage(self._home).free
            message = f"{failure.message}: its disk is full, with {free / 1e6:.0f} MB free"
            failure = replace(failure, kind="disk", message=message, remedy="make room on that machine")
        environments.remove(place)
        return MadeEnvironment(failure=failure, seconds=time.monotonic() - begin)

    def _fill(self, place: Path, order: EnvironmentOrder) -> Failure | None:
        folder, work = place / "environment", place / "work"
        if order.is_built:
            shutil.copytree(bundles.below(self._root, order.folder), work, symlinks=True)
        else:
            work.mkdir()
        environments.make(folder, sys.executable)
        variables = environments.variables(environments.interpreter(folder), order.revision, work, own=True)
        constraints = [_written(place / f"constraint-{i}.txt", text) for i, text in enumerate(order.constraints)]
        limits = [word for file in constraints for word in ("--constraint", str(file))]
        log = place / LOG
        for arguments, named in self._steps(place, order):
            self._tell(f"installing {named}")
            command = environments.install_command(folder, [*self._sources(order), *limits, *arguments])
            failure = commands.run(command, work, variables, log=log, timeout=order.timeout, what="the environment")
            if failure is not None:
                message = f"packages could not be installed: {named}"
                own = failure.kind == commands.OWN_FAULT
                return replace(failure, kind="packages", message=message, remedy="") if own else failure
        if not order.command:
            return None
        self._tell(f"building {order.revision[:12]}: {order.command}")
        if constraints:
            listed = " ".join(map(str, constraints))
            variables |= {"PIP_CONSTRAINT": listed, "UV_CONSTRAINT": listed}
        failure = commands.run(order.command, work, variables, log=log, timeout=order.timeout, what=order.revision[:12])
        return None if failure is None else replace(failure, remedy="the end of what it printed is in the record")

    def _steps(self, place: Path, order: EnvironmentOrder) -> Iterator[tuple[list[str], str]]:
        """What pip is told, one call after the other, each with the packages that it is about, for people."""
        if order.pins:
            yield ["--no-deps", *order.pins], _shorten(order.pins)
        if order.requirements or order.content:
            file = ["--requirement", str(_requirements_file(place, order.content))] if order.content else []
            lines = (line.partition("#")[0].strip(" \\") for line in order.content.splitlines())
            listed = [line for line in lines if line and not line.startswith("-")]
            yield [*order.requirements, *file], _shorten([*order.requirements, *listed])

    def _sources(self, order: EnvironmentOrder) -> list[str]:
        """Where packages come from: the machine's own index, or the wheels that were sent and nothing else."""
        folders = dict.fromkeys(str(bundles.below(self._root, wheel.path).parent) for wheel in order.wheels)
        return ["--no-index", *(word for folder in folders for word in ("--find-links", folder))] if folders else []

    def _describe(self, place: Path, order: EnvironmentOrder) -> MadeEnvironment:
        python = environments.interpreter(place / "environment")
        return MadeEnvironment(
            python=str(python),
            folder=str(place / "work") if order.is_built else "",
            packages=environments.packages(python),
        )

    def _forget_old(self) -> None:
        """Removes what nobody has asked for in a month, and what was cut off: nobody holds its lock any more."""
        limit = time.time() - KEPT_DAYS * 86400
        for place in [one for one in self._home.iterdir() if not one.name.startswith(".")]:
            mark = place / MARK
            with contextlib.suppress(OSError):
                if mark.is_file() and mark.stat().st_mtime > limit:
                    continue
                with hold_free_lock(place.with_name(f".{place.name}.lock")) as free:
                    if free:
                        mark.unlink(missing_ok=True)
                        environments.remove(place)


def key_of(order: EnvironmentOrder) -> str:
    """All that decides what is in it: the order without what says how to make it, and the Python it is for."""
    plain = replace(order, timeout=0.0, again=False, revision=order.revision if order.is_built else "")
    wheels = sorted((Path(wheel.path).name, wheel.sha256) for wheel in order.wheels)
    told = [
        schema.encode(replace(plain, wheels=())),
        wheels,
        sys.version,
        os.path.realpath(sys.executable),
        sysconfig.get_platform(),
        platform.machine(),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:24]


def _requirements_file(place: Path, content: str) -> Path:
    """The file of the working copy itself where it is that one: what it names beside it is found."""
    named = place / "work" / "requirements.txt"
    same = named.is_file() and named.read_text(encoding="utf-8", errors="replace") == content
    return named if same else _written(place / "requirements.txt", content)


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _shorten(packages: Sequence[str]) -> str:
    return ", ".join(packages[:SHOWN]) + (f" and {len(packages) - SHOWN} more" if len(packages) > SHOWN else "")
