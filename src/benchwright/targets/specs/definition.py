"""What a spec of our own form says, once it has been read. Every path is absolute, every name is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchwright.records import Objective, Scalar, Tolerance

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFile:
    """A file that a spec names."""

    where: str  # the place in the spec
    location: str  # an absolute path or a url
    name: str  # what it is called; its ending decides which runtimes load it
    sha256: str = ""
    md5: str = ""
    member: str = ""  # the array of an .npz file
    inputs: Mapping[str, str] = field(default_factory=dict)  # the spec's name -> the file's
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_url(self) -> bool:
        """Whether it has to be fetched."""
        return "://" in self.location


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What a model is given; what is left out its file tells."""

    shape: tuple[int, ...] | None = None
    dtype: str = ""
    range: tuple[float, float] | None = None
    file: SpecFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOutput:
    """What a model must answer."""

    golden: SpecFile | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeEntry:
    """What one runtime needs to know."""

    where: str
    file: str = ""  # which of the model's files; "" the first whose ending it loads
    options: Mapping[str, Scalar] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)  # the spec's name -> the runtime's
    outputs: Mapping[str, str] = field(default_factory=dict)
    program: SpecFile | None = None  # of the runtime binary
    commands: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecTest:
    """One way to measure the model. What is None or empty is left to the command line and its defaults."""

    name: str = ""
    shapes: tuple[Shapes, ...] = ()  # one case for each
    batch_sizes: tuple[int, ...] = ()
    iterations: int | None = None
    duration: float | None = None
    warmup: float | None = None
    timeout: float | None = None
    objectives: tuple[Objective, ...] = ()
    runtimes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    placeholders: Mapping[str, Scalar] = field(default_factory=dict)
    golden: bool | None = None  # None: where shapes and batch size are the model's own
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A model and its tests."""

    path: Path
    name: str
    description: str = ""
    files: Mapping[str, SpecFile] = field(default_factory=dict)
    inputs: Mapping[str, Input] = field(default_factory=dict)
    outputs: Mapping[str, SpecOutput] = field(default_factory=dict)
    runtimes: Mapping[str, RuntimeEntry] = field(default_factory=dict)
    tests: tuple[SpecTest, ...] = (SpecTest(),)
    tags: tuple[str, ...] = ()
