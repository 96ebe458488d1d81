"""What a spec file comes down to: tests that are decided but for what only a device knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from benchwright.records import Value
from benchwright.targets.specs.places import SpecProblem

# frameworks that load a model by themselves, without a program
LIBRARIES = ("onnxruntime", "openvino", "torch", "tensorflow", "litert", "jax")


class Role(StrEnum):
    """What a file is to its test."""

    MODEL = "model"
    INPUT = "input"
    TEST = "test"  # `files` of the test
    OUTPUT = "output"  # made by the program
    GOLDEN = "golden"  # an output that is here already: what the program's is compared with
    STEP = "step"  # of a preprocess or postprocess
    LIBRARY = "library"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRequest:
    """What the command line says beside the spec."""

    framework: str
    string_map: Mapping[str, str] = field(default_factory=dict)
    command_args: str = ""
    backend: str = ""
    wipe_cache: str = ""
    timeout: float | None = 300.0  # seconds, where neither test nor model says
    root_model_dir: Path | None = None  # where locations that begin with // are
    platform: str = "host"
    info: Mapping[str, Value] = field(default_factory=dict)  # the document of --info
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def on_host(self) -> bool:
        """Whether the program runs on this machine, not on a phone."""
        return not self.platform.startswith(("android", "ios"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file that a test names."""

    key: str  # `files.predict`, `input_files.data`, `test.files.labels`: one of its own in each test
    filename: str  # its name on the device and in the cache; "" for what has none
    location: str = ""  # an url, an absolute path, or text with a placeholder that only the run knows; "" for none
    md5: str = ""  # lower case, or "directory"; "" for a file that is used as it is
    converter: str = ""
    args: Mapping[str, Value] = field(default_factory=dict)
    role: Role = Role.MODEL
    place: str = ""  # where the spec says so

    @property
    def is_wanted(self) -> bool:
        """Whether the file must be there before the test starts; the test itself makes the others."""
        return bool(self.location) and "{" not in self.location and self.role is not Role.OUTPUT


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """One test of one spec file, with one shape for each input."""

    __test__ = False  # a record, whatever pytest thinks of its name

    file: Path
    place: str  # `spec.json:12:5`
    net: str
    format: str
    identifier: str
    metric: str
    framework: str
    commands: tuple[str, ...]  # with their placeholders
    model: Mapping[str, Value]
    test: Mapping[str, Value]
    group: str = ""
    cooldown: float | None = None  # seconds after it; None: what the command line says
    files: tuple[FileEntry, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # by input
    dtypes: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, Value] = field(default_factory=dict)  # of a `commands` map, such as run_individual
    iterations: int = -1
    warmup: int = -1
    repeat: int = 1
    statistics: tuple[str, ...] = ()
    seed_dialect: bool = False
    timeout: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] = ()
    sleep_before_run: float = 0.0
    tokens: Mapping[str, str] = field(default_factory=dict)
    power: Mapping[str, Value] = field(default_factory=dict)  # method, collection_time, voltage of metric power
    log_output: bool = False
    reason: str = ""  # why it cannot be run here; "" when it can

    @property
    def name(self) -> str:
        """Returns the name by which people know the test."""
        return f"{self.net} {self.identifier}" if self.identifier != self.net else self.net


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecPlan:
    """Every test of a file in order, and what its author should know."""

    file: Path
    tests: tuple[PlannedTest, ...]
    notices: tuple[SpecProblem, ...] = ()
