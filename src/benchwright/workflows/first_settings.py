"""The first `benchwright.toml` of a project: what was found there, as a file that people can read and change."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchwright import config
from benchwright.errors import OptionError
from benchwright.system import whole_files
from benchwright.targets.projects import FoundProject, FoundTarget
from benchwright.units.numbers import printable

MOST = 30  # targets that a run without arguments measures; the others stand beside them, switched off
_HEAD = """\
# Settings of Benchwright for this folder and the folders in it. The documentation explains every key: settings.md.

# Where results are kept: this file, a PostgreSQL address, or a server of your team (https://...).
store = {store}

# How often and how long each benchmark is measured, where a command does not say.
# rounds = 5       # fresh processes for each
# duration = 1.0   # seconds in each process
"""
_RUN = """
# `benchwright run` without arguments measures these; `benchwright ab` compares them on two revisions, and
# `benchwright watch` measures them on each new commit. A # in front of a line leaves it out.
[run]
targets = [
{targets}
]
"""
_OPTIONS = """
# Any flag of `benchwright run`, without its dashes. What the command line says goes before it.
[run.options]
# batch-size = [1, 8]
# param = ["n=1000"]
# tag = ["nightly"]
"""
_EXAMPLES = """\
  # "model.onnx",            a model file
  # "bench.py::encode",      a function of a file
  # "benchmarks/bench.py",   every benchmark of a file"""


def settings_text(found: FoundProject) -> str:
    """The whole text of the file."""
    lines = [*_target_lines(found.targets)]
    text = _HEAD.format(store=_quote(config.DEFAULT_STORE))
    text += _RUN.format(targets="\n".join(lines) or _EXAMPLES)
    text += _OPTIONS
    if tests := [one for one in found.targets if one.kind == "pytest"]:
        text += "\n# Benchmarks that pytest runs:\n"
        text += "".join(f"#   pytest {_shown(shlex.quote(one.target))}   # {_shown(one.about)}\n" for one in tests)
    return text


def write_settings(found: FoundProject, *, force: bool) -> Path:
    """Writes `benchwright.toml` into the folder, whole or not at all; one that is there stays, without `force`."""
    path = found.folder / config.FILE
    if path.is_dir():
        raise OptionError(f"{path} is a folder", remedy="remove it, or choose another folder")
    try:
        with whole_files.new_file(path, force=force) as file:
            file.write(settings_text(found).encode())
    except PermissionError:
        raise OptionError(f"{path} cannot be written", remedy="is the folder yours? --print shows it") from None
    return path


def active_targets(found: FoundProject) -> list[FoundTarget]:
    """The targets that a run without arguments measures."""
    return [one for one in found.targets if not one.lacks and one.kind != "pytest"][:MOST]


def settings_above(folder: Path) -> Path | None:
    """The `benchwright.toml` of a folder above, which no longer counts below a new one."""
    return None if folder.parent == folder else config.nearest_file(folder.parent)


def _target_lines(targets: Sequence[FoundTarget]) -> Iterator[str]:
    active = 0
    for one in (each for each in targets if each.kind != "pytest"):
        about = _shown(one.about)
        if one.lacks:
            for line in one.lacks.splitlines():
                yield f"  # {_shown(line)}"
            yield f"  # {_quote(one.target)},  # {about}"
            continue
        active += 1
        if active == MOST + 1:
            yield f"  # More than {MOST} would take long; these are switched off:"
        yield f"  {'' if active <= MOST else '# '}{_quote(one.target)},  # {about}"


def _quote(text: str) -> str:
    """A text of TOML, whatever is in it: JSON writes the same but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(text: str) -> str:
    return printable(text)


def store_is_ignored(folder: Path) -> bool:
    """Whether git will leave the store alone; True where there is no repository."""
    from benchwright.errors import FetchError
    from benchwright.vcs.git_program import Git

    try:
        git = Git(folder=folder, timeout=10.0)
        if git.look("rev-parse", "--is-inside-work-tree") != "true":
            return True
        return git.look("check-ignore", "--quiet", os.fspath(Path(config.DEFAULT_STORE))) is not None
    except (FetchError, OSError):
        return True
