"""The form of our spec files, as JSON Schema: what editors check while one is written, and what `validator` goes by.

One table for both, so that the two cannot disagree. Names of inputs, outputs, files and runtimes are checked by
`references`, which knows what they refer to.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VERSION = 1
FILE_NAME = "spec.schema.json"
DTYPES = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)


def json_schema() -> dict[str, Any]:
    """The schema of a spec file (draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:benchwright:spec:{VERSION}",
        "title": f"Benchwright spec, form {VERSION}",
        **_record(
            "What a model is, and how to test it.",
            required=("benchwright", "model"),
            benchwright={"const": VERSION, "description": "The version of this form."},
            model={"$ref": "#/$defs/model"},
            runtimes=_mapping_of("#/$defs/runtime", "What each runtime needs to know. Those named here are measured."),
            tests={"type": "array", "items": {"$ref": "#/$defs/test"}, "minItems": 1, "description": "None: one test."},
            tags=_WORDS | {"description": "Words that its results carry."},
            **{"$schema": {"type": "string", "description": "For editors."}},
        ),
        "$defs": {
            "model": _model(),
            "file": _file(),
            "input": _input(),
            "output": _output(),
            "runtime": _runtime(),
            "test": _test(),
        },
    }


def render() -> str:
    """The text of the published file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> Path:
    """Writes the published file and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    path.write_text(render(), encoding="utf-8")
    return path


_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_WORDS: dict[str, Any] = {"type": "array", "items": _TEXT}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}
_AMOUNT: dict[str, Any] = {"type": "number", "minimum": 0}
_SHAPE: dict[str, Any] = {"type": "array", "items": _COUNT}
_SECONDS: dict[str, Any] = {"anyOf": [_AMOUNT, _TEXT]}
_NAMES: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}
_SCALARS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "null")]},
}


def _model() -> dict[str, Any]:
    return _record(
        "A model: its files, each the same model for other runtimes, and what goes in and comes out.",
        required=("name",),
        name=_TEXT | {"description": "What results are called."},
        description={"type": "string"},
        files=_mapping_of("#/$defs/file", "The same model in several formats, by any name."),
        inputs=_mapping_of(
            "#/$defs/input", "By a name of your own; `files` or `runtimes` say what each file calls it."
        ),
        outputs=_mapping_of("#/$defs/output", "By a name of your own, likewise."),
    )


def _file() -> dict[str, Any]:
    whole = _record(
        "A file: where it is, and what it must contain.",
        path=_TEXT | {"description": "Relative to the spec."},
        url=_TEXT | {"description": "Fetched once into the cache: http, https, s3, gs, hf and others."},
        sha256={"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
        md5={"type": "string", "pattern": "^[0-9a-fA-F]{32}$"},
        name=_TEXT | {"description": "What to call it here, when the address has no telling name."},
        inputs=_NAMES | {"description": "Input of the spec -> what this file calls it, where that differs."},
        outputs=_NAMES | {"description": "Output of the spec -> what this file calls it."},
    )
    return {"anyOf": [_TEXT | {"description": "A path relative to the spec, or a url."}, whole]}


def _input() -> dict[str, Any]:
    return _record(
        "What the model is given. What is left out the model's file tells.",
        shape=_SHAPE | {"description": "With the leading dimension of the batch, usually 1."},
        type={"enum": list(DTYPES)},
        range={
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 2,
            "description": "Random numbers from the first up to, not including, the second.",
        },
        file={"$ref": "#/$defs/file", "description": "A .npy file, or text with numbers, instead of random ones."},
    )


def _output() -> dict[str, Any]:
    return _record(
        "What must come out. A bound that is not given is measured and not judged.",
        golden={
            "$ref": "#/$defs/file",
            "description": "A .npy or .npz file, FILE.npz::NAME, or text, one number a line.",
        },
        absolute=_AMOUNT
        | {"description": "An element is near when |found - golden| <= absolute + relative * |golden|."},
        relative=_AMOUNT,
        cosine={"type": "number", "minimum": -1, "maximum": 1, "description": "Similarity of at least."},
        top=_COUNT | {"description": "So many largest elements are the same ones."},
    )


def _runtime() -> dict[str, Any]:
    return _record(
        "What one runtime needs to know.",
        file=_TEXT | {"description": "Which of the model's files. Default: the first whose ending it loads."},
        options=_SCALARS | {"description": "As --option hands them to the runtime."},
        inputs=_NAMES | {"description": "Input of the spec -> what this runtime calls it, where that differs."},
        outputs=_NAMES | {"description": "Output of the spec -> what this runtime calls it."},
        program={"$ref": "#/$defs/file", "description": "Of the runtime binary: the program itself."},
        command={
            "anyOf": [_TEXT, _WORDS | {"minItems": 1}],
            "description": "Of the runtime binary; {program}, {files.NAME}, {iterations}, {batch_size}, {shapes.INPUT}",
        },
        env=_NAMES | {"description": "Of the runtime binary: added to the environment."},
    )


def _test() -> dict[str, Any]:
    return _record(
        "One way to measure the model.",
        name=_TEXT | {"description": "Tells it from the others."},
        shapes={
            "type": "object",
            "additionalProperties": {"type": "array", "items": _SHAPE, "minItems": 1},
            "description": "By input: the i-th shape of every input belongs together, and is one case.",
        },
        batch_sizes={"type": "array", "items": _COUNT, "minItems": 1},
        iterations=_COUNT | {"description": "Samples to take."},
        duration=_SECONDS | {"description": "How long calls are timed: seconds, or text such as 500ms."},
        warmup=_SECONDS | {"description": "Warm up at most so long; 0: not at all."},
        timeout=_SECONDS | {"description": "A worker that takes longer is ended."},
        objective={"anyOf": [_TEXT, _WORDS | {"minItems": 1}], "description": "Bounds that must hold: p99<20ms."},
        runtimes=_WORDS | {"minItems": 1, "description": "Only in these."},
        devices=_WORDS | {"minItems": 1, "description": "cpu, cuda, ... Default: cpu."},
        placeholders=_SCALARS | {"description": "Of the runtime binary: what {NAME} in its command stands for."},
        golden={
            "type": "boolean",
            "description": "Whether outputs are compared. Default: where shapes are the model's.",
        },
        tags=_WORDS,
    )


def _record(description: str, /, *, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "description": description,
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def _mapping_of(reference: str, description: str) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": {"$ref": reference}, "description": description}
