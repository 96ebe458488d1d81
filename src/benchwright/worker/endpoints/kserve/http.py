"""The protocol over HTTP: JSON, and tensors as bytes behind it where the server takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchwright.errors import LoadError
from benchwright.system.texts import shorten
from benchwright.worker.endpoints.dialect import RawAnswer, ReadAnswer, error_text, read_json
from benchwright.worker.endpoints.kserve import tensors
from benchwright.worker.endpoints.kserve.descriptions import (
    AnsweredTensor,
    AnswerError,
    ModelDescription,
    read_description,
    read_shape,
)
from benchwright.worker.endpoints.kserve.dialect import Feed, PackedFeed, TensorDialect
from benchwright.worker.endpoints.kserve.places import ModelPlace
from benchwright.worker.endpoints.kserve.tensors import TensorError
from benchwright.worker.endpoints.traffic import Outcome
from benchwright.worker.endpoints.wire import request_bytes

if TYPE_CHECKING:
    from benchwright.worker.endpoints.driver import EndpointDriver
    from benchwright.worker.endpoints.exchanges import Exchange

JSON, BINARY = FORMS = ("json", "binary")
EXTENSION = "binary_tensor_data"  # of servers that take bytes
LENGTH = "Inference-Header-Content-Length"  # bytes of the JSON before them
MOST_JSON = 64 * 2**10  # bytes of an answer in which its JSON is looked for first
_DECODER = json.JSONDecoder()


class HttpTensors(TensorDialect):
    """Requests of HTTP; `form` is how tensors travel: "" leaves it to what the server says."""

    def __init__(self, place: ModelPlace, *, form: str = "", check_shapes: bool = True) -> None:
        super().__init__(check_shapes=check_shapes)
        self._place, self._form = place, form
        self._server = ""

    def describe(self, driver: EndpointDriver) -> ModelDescription:
        """Asks for the model's metadata, and for the server's, which says whether it takes bytes."""
        place = self._place
        told = _fetch(driver, place.metadata)
        if told.outcome is not Outcome.OK:
            raise LoadError(
                f"the server does not describe the model {place.model}: {told.reason}",
                remedy="is it the model's name, and is the model loaded?",
            )
        try:
            model = read_description(read_json(told.text.encode()))
        except ValueError as error:
            raise LoadError(f"the server describes the model by something that is not JSON: {error}") from None
        self._read_server(_fetch(driver, place.server))
        return model

    def details(self) -> dict[str, str]:
        return {"tensors": self._form, **({"server": self._server} if self._server else {})}

    def pack(self, feed: Feed) -> PackedFeed:
        if self._form == BINARY:
            return self._pack_bytes(feed)
        inputs = []
        for name, array in feed.items():
            datatype = self.datatype(name, array)
            data = tensors.to_numbers(array, datatype)
            inputs.append({"name": name, "shape": list(array.shape), "datatype": datatype, "data": data})
        return PackedFeed(body=json.dumps({"inputs": inputs}).encode())

    def _pack_bytes(self, feed: Feed) -> PackedFeed:
        inputs, parts = [], []
        for name, array in feed.items():
            datatype = self.datatype(name, array)
            parts.append(tensors.to_bytes(array, datatype))
            size = {"binary_data_size": len(parts[-1])}
            inputs.append({"name": name, "shape": list(array.shape), "datatype": datatype, "parameters": size})
        head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
        headers = {"Content-Type": "application/octet-stream", LENGTH: str(len(head))}
        return PackedFeed(body=b"".join((head, *parts)), headers=headers)

    def unpack(self, answer: RawAnswer) -> list[AnsweredTensor]:
        body = answer.body()
        try:
            told, end = split_json(body)
        except ValueError as error:
            raise AnswerError(f"the answer is not JSON: {error}") from None
        if isinstance(told, dict) and told.get("error"):
            raise AnswerError(error_text(body[:end]), Outcome.STREAM_ERROR)
        outputs = told.get("outputs") if isinstance(told, dict) else None
        if not isinstance(outputs, list):
            raise AnswerError("the answer has no outputs")
        sizes = [_binary_size(output) for output in outputs]
        behind = sum(size or 0 for size in sizes)
        place = len(body) - behind
        if place < end or body[end:place].strip():
            raise AnswerError(f"{behind:,} bytes of tensors are said, {len(body) - end:,} came")
        found = []
        for output, size in zip(outputs, sizes, strict=True):
            found.append(_read_output(output, None if size is None else body[place : place + size]))
            place += size or 0
        return found

    def _read_server(self, told: ReadAnswer) -> None:
        """Learns how tensors may travel. A server that says nothing of itself is sent JSON."""
        try:
            about = read_json(told.text.encode()) if told.outcome is Outcome.OK else None
        except ValueError:
            about = None
        about = about if isinstance(about, dict) else {}
        extensions = about.get("extensions")
        takes_bytes = isinstance(extensions, list) and EXTENSION in extensions
        self._form = self._form or (BINARY if takes_bytes else JSON)
        self._server = shorten(f"{about.get('name') or ''} {about.get('version') or ''}".strip(), 100)


def split_json(body: bytes) -> tuple[Any, int]:
    """The JSON at the front of a body, and where it ends; a `ValueError` when there is none.

    Where the JSON ends is found in itself: the header that says so is not kept of every answer.
    """
    for size in (MOST_JSON, len(body)):
        text = body[:size].decode("latin-1")  # one character a byte, so that places are places of bytes
        begin = len(text) - len(text.lstrip())
        try:
            end = _DECODER.raw_decode(text, begin)[1]
        except RecursionError:
            raise ValueError("nested too deep") from None
        except ValueError:
            if size < len(body):
                continue
            raise
        if end < size or size >= len(body):
            return read_json(body[:end]), end
    raise ValueError("it has no end")


def _binary_size(output: Any) -> int | None:
    """Bytes that follow for an output; None where its values are in the JSON."""
    told = output.get("parameters") if isinstance(output, Mapping) else None
    size = told.get("binary_data_size") if isinstance(told, Mapping) else None
    if size is None:
        return None
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise AnswerError("binary_data_size is not a whole number")
    return size


def _read_output(told: Any, data: bytes | None) -> AnsweredTensor:
    try:
        name, datatype, shape = str(told["name"]), str(told["datatype"]), read_shape(told["shape"])
        values = told["data"] if data is None else None
    except (TypeError, LookupError) as error:
        raise AnswerError(f"an output has no {error}") from None
    try:
        if data is not None:
            count = tensors.count_bytes(data, datatype)
            return AnsweredTensor(
                name=name,
                datatype=datatype,
                shape=shape,
                count=count,
                load=lambda: tensors.from_bytes(data, datatype, shape),
            )
        count = tensors.count_numbers(values, datatype)
    except TensorError as error:
        raise AnswerError(f"output {shorten(name, 60)!r}: {error}") from None
    return AnsweredTensor(
        name=name,
        datatype=datatype,
        shape=shape,
        count=count,
        load=lambda: tensors.from_numbers(values, datatype, shape),
    )


def _fetch(driver: EndpointDriver, path: str) -> ReadAnswer:
    place = replace(driver.plan.settings.address, path=path)
    return driver.answer_to(request_bytes(place, b"", driver.plan.headers, method="GET"), _TextDialect())


class _TextDialect:
    """Reads any answer as its text."""

    accept = "application/json"

    def encode(self, exchange: Exchange) -> bytes:
        return b""

    def headers(self, exchange: Exchange) -> Mapping[str, str]:
        return {}

    def read(self, answer: RawAnswer) -> ReadAnswer:
        return ReadAnswer(text=answer.body().decode(errors="replace"))

    def relax(self) -> str:
        return ""
