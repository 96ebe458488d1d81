"""What the two wires of the protocol have in common: arrays go out as requests, answers come back as tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchwright.system.texts import shorten
from benchwright.worker.endpoints.dialect import LONGEST_REASON, RawAnswer, ReadAnswer
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.kserve.descriptions import AnsweredTensor, AnswerError, ModelDescription, find_fault
from benchwright.worker.endpoints.kserve.tensors import BYTES, Array, TensorError, datatype_of

if TYPE_CHECKING:
    from benchwright.worker.endpoints.driver import EndpointDriver

Feed = Mapping[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedFeed:
    """The arrays of one request, ready to be sent."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class TensorDialect:
    """Requests that hold arrays. A wire says how they are packed, and how answers are unpacked."""

    accept = "*/*"

    def __init__(self, *, check_shapes: bool = True) -> None:
        self.model = ModelDescription()
        self._check_shapes = check_shapes
        self._packed: Sequence[PackedFeed] = ()

    # ---- what a wire says ----

    def describe(self, driver: EndpointDriver) -> ModelDescription:
        """Asks the server what the model takes and gives; a `LoadError` when it does not say."""
        raise NotImplementedError

    def pack(self, feed: Feed) -> PackedFeed:
        """The request for some arrays."""
        raise NotImplementedError

    def unpack(self, answer: RawAnswer) -> list[AnsweredTensor]:
        """The outputs of a whole answer; an `AnswerError` or a `TensorError` where there are none."""
        raise NotImplementedError

    def details(self) -> dict[str, str]:
        """What a result tells of the wire."""
        return {}

    # ---- what the driver asks for ----

    def take(self, feeds: Sequence[Feed]) -> None:
        """Makes the requests of these arrays, which go round from now on."""
        self._packed = [self.pack(feed) for feed in feeds]

    def encode(self, exchange: Exchange) -> bytes:
        """The body of a request: the arrays whose turn it is."""
        return self._packed[exchange.session % len(self._packed)].body

    def headers(self, exchange: Exchange) -> Mapping[str, str]:
        """How long the part of JSON is, where tensors follow as bytes."""
        return self._packed[exchange.session % len(self._packed)].headers

    def relax(self) -> str:
        """Nothing can be left out."""
        return ""

    def read(self, answer: RawAnswer) -> ReadAnswer:
        """Whether the answer holds the outputs that it must; the outputs themselves are read by `unpack`."""
        try:
            fault = find_fault(self.unpack(answer), self.model, shapes=self._check_shapes)
            if fault:
                raise AnswerError(fault)
        except TensorError as error:
            return _fail(AnswerError(str(error)))
        except AnswerError as error:
            return _fail(error)
        return ReadAnswer()

    def datatype(self, name: str, array: Array) -> str:
        """The type that an input has by the server's word, or by the array's own type where the server is silent."""
        told = next((each.datatype for each in self.model.inputs if each.name == name), "")
        return BYTES if array.dtype.kind in "US" else told or datatype_of(array)


def _fail(error: AnswerError) -> ReadAnswer:
    return ReadAnswer(outcome=error.outcome, reason=shorten(error.reason, LONGEST_REASON))
