"""One test of a spec on one device: what the runtime `binary` carries out. It travels to the worker as JSON.

Everything is decided here but what only the device knows: where files lie on it. So commands still hold their
placeholders: `{program}`, `{files.predict}`, `{input_files.data}`, `{TGTDIR}`, `{INDEX}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchwright import schema
from benchwright.records import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFile:
    """A file that belongs to a test."""

    key: str  # how placeholders call it: `files.predict`, `input_files.data`, `output_files.softmaxout`
    name: str  # what it is called on the device; folders in front are allowed
    path: str = ""  # where it lies here, absolute; "" for one that the program will make
    converter: str = ""  # for an output: what turns it into rows
    args: Mapping[str, Value] = field(default_factory=dict)  # of the converter


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCommands:
    """Commands on this machine around the program: before the first or after the last repeat, or around each."""

    commands: tuple[str, ...]
    files: tuple[PassFile, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """A program that prints result rows, or writes outputs to compare with golden ones."""

    framework: str  # decides the marker of rows and the order of generated flags: caffe2, pytorch, generic, tflite, ...
    metric: str  # delay, error, accuracy, power, generic, or free text
    commands: tuple[str, ...]  # the main ones, in order; words are split as a shell would, and no shell runs them
    program: str = ""  # where the program lies here, absolute
    programs: Mapping[str, str] = field(default_factory=dict)  # others that commands may name
    libraries: tuple[str, ...] = ()  # shared libraries that go to the device beside it
    files: tuple[PassFile, ...] = ()  # of the model: pushed once
    input_files: tuple[PassFile, ...] = ()  # of the test, `files` of the test among them
    output_files: tuple[PassFile, ...] = ()  # pulled after the program; `path` of metric error is the golden file
    model: Mapping[str, Value] = field(default_factory=dict)  # for placeholders
    test: Mapping[str, Value] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)  # `{TOKEN}` -> text, in every string
    iterations: int = -1  # values that are wanted of each entry; below zero: what one execution gives
    repeat: int = 1
    converter: str = ""  # default: the framework's
    converter_args: Mapping[str, Value] = field(default_factory=dict)
    seed_dialect: bool = False  # generated flags and text blocks of early 2018
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = 300.0  # seconds for each command
    cpus: tuple[int, ...] = ()  # none: any
    sleep_before_run: float = 0.0
    before: HostCommands | None = None  # model preprocess, first repeat
    before_each: HostCommands | None = None  # test preprocess
    after_each: HostCommands | None = None
    after: HostCommands | None = None  # model postprocess, last repeat
    log_output: bool = False


def to_text(one: Pass) -> str:
    """Returns the pass as the text that `Target.work` holds."""
    return json.dumps(schema.encode(one), sort_keys=True, allow_nan=False)


def from_text(text: str) -> Pass:
    """The inverse of `to_text`."""
    return schema.decode(Pass, json.loads(text), where="pass")
