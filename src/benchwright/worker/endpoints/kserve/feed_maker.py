"""Requests of arrays: made for what the server says of its model, by the flags that any model's inputs have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchwright.errors import LoadError, RequestError
from benchwright.records import Case, ResultWarning, Value
from benchwright.targets.signatures import TensorSignature
from benchwright.worker.endpoints.arrays import draw_arrays
from benchwright.worker.endpoints.dialect import RawAnswer, ReadAnswer
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.kserve.descriptions import AnsweredTensor, ModelDescription
from benchwright.worker.endpoints.kserve.dialect import TensorDialect
from benchwright.worker.endpoints.kserve.tensors import BYTES, DTYPES
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.runtimes.inputs.feeds import Feed, requested_inputs

if TYPE_CHECKING:
    from benchwright.worker.endpoints.driver import EndpointDriver


class FeedMaker:
    """Asks a server for its model's inputs and draws them; the same few go round, as with any model."""

    repeats = True

    def __init__(self, case: Case, dialect: TensorDialect) -> None:
        self._case, self._dialect = case, dialect
        self.warnings: list[ResultWarning] = []
        self.feeds: list[Feed] = []
        self.on_settled: Callable[[FeedMaker], None] = lambda maker: None
        self._driver: EndpointDriver

    def settle(self, driver: EndpointDriver) -> None:
        """Asks what the model takes, and makes the requests."""
        self._driver = driver
        self._dialect.model = self._dialect.describe(driver)
        specs = find_inputs(self._dialect.model, self._case)
        self.feeds = draw_arrays(specs, self._case.inputs, self.warnings)
        self._dialect.take(self.feeds)
        self.on_settled(self)

    def __call__(self, count: int, seed: int, *, copy: int = 0, copies: int = 1) -> Sequence[Exchange]:
        """One request for each of the distinct inputs."""
        return [Exchange(messages=(), session=place) for place in range(len(self.feeds))]

    def warm_up(self, count: int, seed: int) -> Sequence[Exchange]:
        """The same: arrays leave no trace in a server that does not cache answers."""
        return self(count, seed)

    def infer(self, *arrays: Any, **named: Any) -> dict[str, Any]:
        """The model's outputs for any arrays, by their names; those of texts are left out, for they are no numbers."""
        given = {**dict(zip(self.feeds[0], arrays, strict=False)), **named}
        feed = {name: np.asarray(array) for name, array in given.items()}
        client, packed = self._driver.client, self._dialect.pack(feed)
        reader = _OutputReader(self._dialect)
        payload = client.frame(packed.body, {**self._driver.plan.headers, **packed.headers})
        answer = self._driver.answer_to(payload, reader)
        if answer.outcome is not Outcome.OK:
            raise LoadError(f"the server did not give the model's outputs: {answer.reason}")
        return {tensor.name: tensor.load() for tensor in reader.outputs if tensor.datatype != BYTES}

    def details(self) -> dict[str, Value]:
        """What a result tells of the model, its inputs and its outputs."""
        model = self._dialect.model
        outputs = {each.name: each.signature() for each in model.outputs}
        return {
            "inputs": {name: _describe(array.dtype.name, array.shape) for name, array in self.feeds[0].items()},
            "outputs": {name: _describe(each.dtype, each.shape or ()) for name, each in outputs.items()},
            "distinct_inputs": len(self.feeds),
            **({"platform": model.platform} if model.platform else {}),
            **({"model_versions": list(model.versions)} if model.versions else {}),
            **self._dialect.details(),
        }


def find_inputs(model: ModelDescription, case: Case) -> list[TensorSignature]:
    """The inputs that the server names; of a server that names none those that the request does."""
    if model.inputs:
        for tensor in model.inputs:
            if tensor.datatype not in DTYPES:
                raise LoadError(f"input {tensor.name!r} takes {tensor.datatype}, which is not a type of this protocol")
        return [tensor.signature() for tensor in model.inputs]
    asked = case.inputs
    names = {name: True for section in (asked.shapes, asked.dtypes, asked.values, asked.files) for name in section}
    names.pop("", None)
    if not names:
        raise RequestError(
            "the server does not tell what inputs the model has",
            remedy="name them: --shape NAME:1x4 --dtype NAME:float32",
        )
    return requested_inputs("the model", names, asked)


def _describe(dtype: str, shape: Sequence[int | str | None]) -> str:
    kind = "str" if dtype.startswith("str") else dtype
    return f"{kind}[{'x'.join('?' if size is None else str(size) for size in shape)}]"


class _OutputReader:
    """Reads answers as the dialect does, and keeps the outputs of the last one."""

    accept = TensorDialect.accept

    def __init__(self, dialect: TensorDialect) -> None:
        self._dialect = dialect
        self.encode, self.headers, self.relax = dialect.encode, dialect.headers, dialect.relax
        self.outputs: list[AnsweredTensor] = []

    def read(self, answer: RawAnswer) -> ReadAnswer:
        told = self._dialect.read(answer)
        if told.outcome is Outcome.OK:
            self.outputs = self._dialect.unpack(answer)
        return told
