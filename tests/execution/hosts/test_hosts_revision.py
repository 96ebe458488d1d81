"""Workers of a built revision: its own Python for its code, this program for whoever asks its server."""

from __future__ import annotations

import sys
from pathlib import Path

from benchwright.execution.attempt import Attempt
from benchwright.execution.builds import BuiltRevision
from benchwright.execution.plan_elsewhere import plan_in
from benchwright.records import Case, Load, Revision, Scalar, Status, Target
from benchwright.targets.sources import Request
from benchwright.workflows.ab.pairs import setting_of

ADDRESS = "http://127.0.0.1:{port}/v1/chat/completions"
SERVER = """\
import os, pathlib, sys
import serve_words

here = pathlib.Path.cwd()
(here / "seen").write_text("\\n".join([str(here), os.environ["BENCHWRIGHT_REVISION"], os.environ["PATH"]]))
sys.argv = ["serve_words.py", sys.argv[1], "--first", "0.001", "--gap", "0.0005"]
serve_words.main()
"""


def _built(folder: Path, root: Path, python: str) -> BuiltRevision:
    (folder / "server.py").write_text(SERVER)
    (folder / "serve_words.py").write_text((root / "examples" / "serve_words.py").read_text())
    (folder / "httptools.py").write_text("raise ImportError('the revision shadows a library of the client')")
    revision = Revision(vcs="git", id="a" * 40, branch="main", dirty=False)
    return BuiltRevision(revision=revision, folder=folder, python=python, log=folder / "log", own=True)


def test_addresses_are_planned_here_whatever_the_revision_has(tmp_path: Path, root: Path) -> None:
    built = _built(tmp_path, root, python="/there/is/no/python")
    options: dict[str, Scalar] = {"serve": "python server.py {port}"}
    (case,) = plan_in(built, Request(targets=[ADDRESS], options=options))
    assert case.name == "127.0.0.1:{port}/v1/chat/completions"


def test_the_server_is_the_revision_s_and_the_client_is_ours(tmp_path: Path, root: Path) -> None:
    (tmp_path / "work").mkdir()
    home = tmp_path / "environment"
    (home / "bin").mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("")
    (home / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (home / "bin" / "python").chmod(0o755)
    built = _built(tmp_path / "work", root, python=str(home / "bin" / "python"))
    options: dict[str, Scalar] = {"serve": "python server.py {port}", "output_tokens": 2}
    target = Target(runtime="openai", uri=ADDRESS, options=options)
    setting = setting_of(built)
    assert setting.host is not None
    outcome = Attempt(
        Case(name="c", target=target, load=Load(samples=3, warmup=0.0)),
        setting.host,  # type: ignore[arg-type]
        paths=setting.paths or (),
    ).run()
    assert outcome.status is Status.OK, (outcome.failure, outcome.log_tail)
    folder, revision, path = (tmp_path / "work" / "seen").read_text().splitlines()
    assert (folder, revision) == (str(tmp_path / "work"), "a" * 40)
    assert path.startswith(str(home / "bin"))


def test_code_of_the_revision_runs_with_its_own_python(tmp_path: Path, root: Path) -> None:
    built = _built(tmp_path, root, python="/there/is/no/python")
    setting = setting_of(built)
    case = Case(name="c", target=Target(runtime="python", uri="server.py::main"))
    outcome = Attempt(case, setting.host).run()  # type: ignore[arg-type]
    assert outcome.failure is not None and "/there/is/no/python" in outcome.failure.message
