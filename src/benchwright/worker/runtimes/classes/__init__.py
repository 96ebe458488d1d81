"""Benchmark classes: our own convention, asv's, PerfZero's and TensorFlow's. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Scalar, Target
from benchwright.schema.parsing import json_value
from benchwright.worker.runtimes import Loaded, options

OPTIONS = ("style", "constructor", "root_data_dir", "tpu", "log", "log_level")
STYLES = ("perfzero", "tf_benchmark", "plain")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
ROOT_DATA_DIR = "/data"  # PerfZero's


class Class:
    """`pkg.module:Class.method`: `time_*` methods are timed like a callable, every other is called once a round."""

    name: ClassVar[str] = "class"
    extensions: ClassVar[tuple[str, ...]] = (".py",)
    requires: ClassVar[str] = ""
    module: ClassVar[str] = ""

    @staticmethod
    def check(target: Target) -> None:
        """Refuses options that make no sense, and devices, which only the class itself can choose."""
        read_options(target.options)
        if target.device != "cpu":
            raise DeviceError(
                f"a class chooses its device itself, and nothing shows that {target.device!r} is used",
                remedy="leave --device out, and give the class a parameter that chooses",
            )

    def load(self, case: Case) -> Loaded:
        from benchwright.worker.runtimes.classes import (
            methods,  # what it needs of the standard library is of no use to the parent
        )

        self.check(case.target)
        return methods.load(case, read_options(case.target.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOptions:
    """The options of a target that is a benchmark class."""

    style: str = ""  # "": the one that the class has by itself
    constructor: Mapping[str, Any] = field(default_factory=dict)
    root_data_dir: str = ROOT_DATA_DIR
    tpu: str | None = None
    log: str = ""
    log_level: str = "INFO"


def read_options(given: Mapping[str, Scalar]) -> ClassOptions:
    """Reads the options of a target; a `LoadError` names the one that makes no sense."""
    options.refuse_unknown(given, OPTIONS, "class")
    log = str(given.get("log") or "")
    if Path(log).is_absolute() or ".." in Path(log).parts:
        raise LoadError(f"option log: {log!r} is not a file in the output folder", remedy="for example log=run.log")
    return ClassOptions(
        style=options.choice(given, "style", "", ("", *STYLES)),
        constructor=_json_object(str(given.get("constructor") or "{}")),
        root_data_dir=str(given.get("root_data_dir", ROOT_DATA_DIR)),
        tpu=str(given.get("tpu") or "") or None,
        log=log,
        log_level=options.choice(given, "log_level", "INFO", LEVELS),
    )


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json_value(text, finite=False)
    except ValueError as error:
        raise LoadError(f"option constructor: {text[:200]!r}: {error}") from None
    if not isinstance(value, dict):
        raise LoadError(f"option constructor: {text!r} is not a JSON object", remedy='for example {"batch_size": 32}')
    return value
