"""What a server says of a model, and whether an answer is what it said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchwright.errors import LoadError
from benchwright.system.texts import shorten
from benchwright.targets.signatures import TensorSignature, format_shape
from benchwright.worker.endpoints.kserve.tensors import DTYPES, Array, TensorError, size_of
from benchwright.worker.endpoints.traffic import Outcome

MOST_TENSORS = 1000  # inputs or outputs of one model
MOST_DIMENSIONS = 64
LONGEST_NAME = 500  # characters
LONGEST_SIZE = 2**40  # of one dimension
OPEN = -1  # a dimension that a call fixes


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorDescription:
    """One input or output of a served model."""

    name: str
    datatype: str
    shape: tuple[int, ...]  # OPEN where a call fixes it

    def signature(self) -> TensorSignature:
        """The same in the words of model files."""
        sizes = tuple(None if size == OPEN else size for size in self.shape)
        return TensorSignature(name=self.name, shape=sizes, dtype=DTYPES.get(self.datatype, self.datatype))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDescription:
    """A model as its server describes it; without inputs or outputs where the server does not tell."""

    inputs: tuple[TensorDescription, ...] = ()
    outputs: tuple[TensorDescription, ...] = ()
    platform: str = ""
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredTensor:
    """One output of an answer, as it came."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    count: int  # elements that arrived
    load: Callable[[], Array]


class AnswerError(Exception):
    """An answer without outputs: what became of the request, and why."""

    def __init__(self, reason: str, outcome: Outcome = Outcome.MALFORMED) -> None:
        super().__init__(reason)
        self.reason, self.outcome = reason, outcome


def read_description(told: Any) -> ModelDescription:
    """A server's answer as JSON has it; a `LoadError` where it is something else."""
    if not isinstance(told, Mapping):
        raise LoadError("the server describes the model by something that is no JSON object")
    versions = told.get("versions")
    return ModelDescription(
        inputs=_read_tensors(told, "inputs"),
        outputs=_read_tensors(told, "outputs"),
        platform=str(told.get("platform") or "")[:LONGEST_NAME],
        versions=tuple(str(version)[:LONGEST_NAME] for version in versions[:MOST_TENSORS])
        if isinstance(versions, list)
        else (),
    )


def _read_tensors(told: Mapping[str, Any], kind: str) -> tuple[TensorDescription, ...]:
    listed = told.get(kind) or []
    if not isinstance(listed, list) or len(listed) > MOST_TENSORS:
        raise LoadError(f"the server describes the model's {kind} by no list of up to {MOST_TENSORS:,}")
    return tuple(_read_tensor(each, kind) for each in listed)


def _read_tensor(told: Any, kind: str) -> TensorDescription:
    try:
        name, datatype, shape = told["name"], told["datatype"], read_shape(told["shape"], least=OPEN)
        if not isinstance(name, str) or not isinstance(datatype, str) or max(len(name), len(datatype)) > LONGEST_NAME:
            raise TensorError("its name and datatype are no texts")
    except (TypeError, KeyError, LookupError, TensorError) as error:
        raise LoadError(
            f"the server describes one of the model's {kind} so that it cannot be understood: {error}"
        ) from None
    return TensorDescription(name=name, datatype=datatype, shape=shape)


def read_shape(told: Any, *, least: int = 0) -> tuple[int, ...]:
    """A shape; a `TensorError` for anything else. Whole numbers may come as text, as gRPC's JSON has them."""
    if not isinstance(told, list | tuple) or len(told) > MOST_DIMENSIONS:
        raise TensorError(f"a shape is a list of up to {MOST_DIMENSIONS} whole numbers")
    try:
        sizes = tuple(int(size) for size in told if not isinstance(size, float))
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != len(told) or not all(least <= size <= LONGEST_SIZE for size in sizes):
        raise TensorError("a shape is a list of whole numbers")
    return sizes


def find_fault(answered: Sequence[AnsweredTensor], model: ModelDescription, *, shapes: bool) -> str:
    """What is wrong with the outputs of an answer; "" when they are sound."""
    if not answered:
        return "the answer has no outputs"
    for tensor in answered:
        if tensor.count != size_of(tensor.shape):
            shape = shorten(format_shape(tensor.shape), 100)
            return f"output {tensor.name!r} holds {tensor.count:,} elements, not those of {shape}"
    by_name = {tensor.name: tensor for tensor in answered}
    for told in model.outputs:
        if (found := by_name.get(told.name)) is None:
            return f"the answer has no output {told.name!r}, only {', '.join(by_name)}"
        if shapes and not _fits(found, told):
            said = f"{told.datatype}[{_shape_text(told.shape)}]"
            return f"output {told.name!r} is {found.datatype}[{_shape_text(found.shape)}], not {said} as was said of it"
    return ""


def _fits(found: AnsweredTensor, told: TensorDescription) -> bool:
    same = len(found.shape) == len(told.shape) and found.datatype == told.datatype
    return same and all(said in (OPEN, size) for said, size in zip(told.shape, found.shape, strict=True))


def _shape_text(shape: Sequence[int]) -> str:
    return "x".join("?" if size == OPEN else str(size) for size in shape)
