"""What an agent's owner lets jobs do: by runtime, and for commands by program.

The list limits what runs, not who submits: whoever may submit is trusted with what the list names, arguments included.
"""

from __future__ import annotations

import fnmatch
import os
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from benchwright.execution.outposts import bundles
from benchwright.lab.parcels import LabParcel
from benchwright.records import Case
from benchwright.records.lab import LabWork
from benchwright.worker.runtimes.control import Control

_ROOT = "/root-of-the-job"  # stands for the folder that files of a job are laid out in
_CODE = (".py", ".pyc", ".pyd", ".so", ".pth", ".zip", ".whl", ".egg")  # what Python would import


def refusal(work: LabWork, parcel: LabParcel, allowed: Sequence[str]) -> str:
    """Why a job is not measured here; "" when it is. Without a list, everything is allowed.

    An entry is the name of a runtime (`onnxruntime`), or a program of this machine, with wildcards (`/opt/bench/*`).
    Code that comes with a job, or that makes its inputs, counts as the runtime `python`. A program of this machine is
    named by its whole path, or by a name that is looked for as a shell would.
    """
    if not allowed:
        return ""
    case = work.case
    runtime = case.target.runtime
    if runtime == "command" and runtime not in allowed:
        return _refuse_program(case, parcel, allowed)
    if runtime not in (*allowed, Control.name):  # which is fixed work of our own, and says how fast the machine is
        return f"runtime {runtime} is not on its list"
    if "python" in allowed:
        return ""
    if parcel.environment is not None:
        return "it asks for packages of its own, and runtime python is not on its list"
    if ":" in case.inputs.source:
        return f"inputs are made by code, {case.inputs.source[:80]!r}, and runtime python is not on its list"
    files = {_place(one.path) for one in parcel.files}
    brought = next((path for path in sorted(files) if path.endswith(_CODE)), "")
    for path in (PurePosixPath(path) for path in (*work.paths, *work.last_paths)):
        # Python imports from an archive as well, whatever its name is.
        brought = brought or next((str(one) for one in (path, *path.parents) if str(one) in files), "")
    return f"code comes with it, {brought[-80:]!r}, and runtime python is not on its list" if brought else ""


def _refuse_program(case: Case, parcel: LabParcel, allowed: Sequence[str]) -> str:
    try:
        program = shlex.split(case.target.uri)[0]
        there = shlex.split(bundles.translate_texts(case.target.uri, parcel.bundle, _ROOT, {}))[0]
    except (ValueError, IndexError):
        return "its command cannot be read"
    is_brought = there != program or ("/" in program and not program.startswith("/"))
    if "/" in program:
        program = os.path.normpath(PurePosixPath(parcel.directory, program))
    if not any(fnmatch.fnmatchcase(program, entry) for entry in allowed):
        return f"the program {program[-80:]!r} is not on its list"
    if is_brought or any(program == _place(one.path) for one in parcel.files):
        return f"the program {program[-80:]!r} comes with the job, and is none of this machine"
    return ""


def _place(path: str) -> str:
    """The one way to write a path: a file may be sent as `/a//b` and lie at `/a/b`."""
    return str(PurePosixPath(path))
