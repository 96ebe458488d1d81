"""Children that are tied to whoever starts them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchwright.system import orphans
from benchwright.system.process import carriers
from benchwright.system.scratch import JOB_VARIABLE

CODE = "import sys; from benchwright.system import orphans; orphans.become(sys.argv[2:], int(sys.argv[1]))"


def command_for(lifeline: str) -> list[str]:
    hidden = "setsid sleep 600 & echo begun; read line; echo got $line; exec sleep 600"
    return [sys.executable, "-c", CODE, lifeline, "sh", "-c", hidden]


def test_nothing_that_a_tied_child_started_is_left() -> None:
    token = os.urandom(orphans.TOKEN_BYTES).hex()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
        given.write(b"word\n")
        given.seek(0)
        with (
            pytest.raises(subprocess.TimeoutExpired),
            orphans.start_tied(command_for, os.environ, output=output, given=given, token=token) as child,
        ):
            while b"got" not in os.pread(output.fileno(), 100, 0):
                assert child.poll() is None
            assert carriers(JOB_VARIABLE, token)
            child.wait(0.01)
        assert child.returncode is not None and carriers(JOB_VARIABLE, token) == []
        assert os.pread(output.fileno(), 100, 0) == b"begun\ngot word\n"


def test_no_pipe_is_left_open() -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    with tempfile.TemporaryFile() as output:
        with orphans.start_tied(lambda _: ["true"], os.environ, output=output) as child:
            assert child.wait() == 0
        with (
            pytest.raises(FileNotFoundError),
            orphans.start_tied(lambda _: ["/not/there"], os.environ, output=output),
        ):
            pass
    assert len([*Path("/proc/self/fd").iterdir()]) == before
