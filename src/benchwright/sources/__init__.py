"""Sources read one kind of target and yield cases. They run in the parent and import no framework."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from benchwright.records import Case, Inputs, Load, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person asked for, before it is crossed into cases. Every sequence is a dimension of the matrix."""

    targets: Sequence[str]
    command: Sequence[str] = ()  # what followed `--`
    runtimes: Sequence[str] = ()  # empty: the first installed one that loads the target
    devices: Sequence[str] = ("cpu",)
    precisions: Sequence[str] = ("",)
    batch_sizes: Sequence[int] = (1,)
    workers: Sequence[int] = (1,)
    copies: Sequence[int] = (1,)
    rates: Sequence[float | None] = (None,)
    params: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)  # narrows or adds parameters of a callable
    options: Mapping[str, Scalar] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=Inputs)
    load: Load = field(default_factory=Load)  # everything but workers, copies and rate
    tags: Sequence[str] = ()


class Source(Protocol):
    """What every source offers."""

    name: ClassVar[str]

    def accepts(self, target: str) -> bool:
        """Whether this source reads such a target; decided from the text and the file's ending alone."""
        ...

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        """Every case of the target, in the order to run them; a `TargetError` names what is wrong."""
        ...
