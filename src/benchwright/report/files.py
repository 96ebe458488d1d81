"""Runs in files: a document that `--json` printed, or the JSON Lines that `export` wrote."""

from __future__ import annotations

import json
from pathlib import Path

from benchwright import schema
from benchwright.errors import DecodeError
from benchwright.records import Run


def read_runs(path: Path) -> list[Run]:
    """Every run in a JSON or JSON Lines file, in its order."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DecodeError(f"{path}: not text", remedy="give a .json or .jsonl file that benchwright wrote") from None
    if _is_one_document(text):
        return [schema.loads(text, Run, where=str(path))]
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise DecodeError(f"{path}: empty", remedy="give a .json or .jsonl file that benchwright wrote")
    return [schema.loads(line, Run, where=f"{path}:{i}") for i, line in lines]


def read_run(path: Path) -> Run:
    """The one run in a file."""
    runs = read_runs(path)
    if len(runs) > 1:
        raise DecodeError(
            f"{path}: holds {len(runs)} runs, and one is needed",
            remedy="import the file into a store and name the run, or export that run alone",
        )
    return runs[0]


def _is_one_document(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False
