"""Machines that are this one, reached through a real outpost with a shelf of its own; no network is needed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchwright.execution.outposts import archive
from benchwright.execution.outposts.host import OutpostHost
from benchwright.execution.outposts.link import Link, Tell

Reach = Callable[..., OutpostHost]


def connect(home: Path, name: str = "box") -> OutpostHost:
    """A machine that keeps what it is sent in `home`."""

    def start(tell: Tell) -> Link:
        command = [sys.executable, "-u", "-c", archive.BOOTSTRAP]
        return Link(command, name=name, archive=archive.find(), home=str(home))

    return OutpostHost(name, start)


@pytest.fixture
def reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reach]:
    """Makes such machines, all with one shelf; the present folder is an empty project."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with contextlib.ExitStack() as opened:

        def make(name: str = "box") -> OutpostHost:
            return opened.enter_context(contextlib.closing(connect(tmp_path / "there", name)))

        yield make
