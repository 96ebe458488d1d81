"""Commands become cases."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from benchwright.errors import TargetError
from benchwright.records import Inputs
from benchwright.targets.sources import Request, plan


def test_a_command_is_kept_exactly() -> None:
    argv = [sys.executable, "-c", "print('a b')", "*", "$HOME"]
    (case,) = plan(Request(targets=(), command=argv, options={"ignore_failure": True}))
    assert shlex.split(case.target.uri) == argv and case.name == case.target.uri
    assert case.target.runtime == "command" and case.target.options == {"ignore_failure": True}
    assert case.params == {"runtime": "command", "workers": 1, "copies": 1}


def test_targets_and_a_command_together() -> None:
    names = [case.name for case in plan(Request(targets=["fake:constant"], command=["true"], copies=(1, 2)))]
    assert names == ["fake:constant", "fake:constant", "true", "true"]


def test_the_version_follows_the_script(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("print(1)")
    request = Request(targets=(), command=[sys.executable, str(script), "--flag"])
    before = plan(request)[0].version
    assert plan(request)[0].version == before
    script.write_text("print(2)")
    assert plan(request)[0].version != before


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"command": ["no-such-program"]}, "there is no program 'no-such-program'"),
        ({"command": ["true"], "runtimes": ("torch",)}, "a command needs no runtime"),
        ({"command": ["true"], "devices": ("cuda",)}, "chooses its device"),
        ({"command": ["true"], "inputs": Inputs(source="x.npy")}, "true takes no arrays, so --input does not apply"),
        ({"command": ["true"], "inputs": Inputs(shapes={"": (1, 3)})}, "so --shape does not apply"),
        ({"command": ["true"], "inputs": Inputs(dtypes={"": "int8"})}, "so --dtype does not apply"),
        ({"command": ["true"], "inputs": Inputs(count=4)}, "so --input-count does not apply"),
        ({"command": ["true"], "batch_sizes": (1, 8)}, "neither a batch size nor parameters"),
    ],
)
def test_wrong_requests(request_: dict[str, object], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        plan(Request(targets=(), **request_))  # type: ignore[arg-type]
