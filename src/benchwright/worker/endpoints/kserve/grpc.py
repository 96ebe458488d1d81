"""The protocol over gRPC: tensors always travel as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchwright.errors import LoadError
from benchwright.worker.endpoints.dialect import RawAnswer
from benchwright.worker.endpoints.kserve import messages
from benchwright.worker.endpoints.kserve.descriptions import AnsweredTensor, ModelDescription, read_description
from benchwright.worker.endpoints.kserve.dialect import Feed, PackedFeed, TensorDialect
from benchwright.worker.endpoints.kserve.places import ModelPlace
from benchwright.worker.endpoints.kserve.tensors import TensorError

if TYPE_CHECKING:
    from benchwright.worker.endpoints.driver import EndpointDriver


class GrpcTensors(TensorDialect):
    """Requests of gRPC for one model."""

    def __init__(self, place: ModelPlace, *, check_shapes: bool = True) -> None:
        super().__init__(check_shapes=check_shapes)
        self._name, self._version = place.model, place.version

    def describe(self, driver: EndpointDriver) -> ModelDescription:
        from benchwright.worker.endpoints.grpc_client import GrpcClient

        client = driver.client
        assert isinstance(client, GrpcClient), "gRPC's messages go over gRPC"
        entry = client.ask(messages.METADATA, messages.metadata_request(self._name, self._version))
        traffic = client.traffic
        if traffic.outcome[entry]:
            raise LoadError(
                f"the server does not describe the model {self._name}: {traffic.reasons[entry]}",
                remedy="is it the model's name, and is the model loaded?",
            )
        try:
            return read_description(messages.read_metadata(traffic.pieces[entry][0][1]))
        except TensorError as error:
            raise LoadError(f"the server describes the model so that it cannot be understood: {error}") from None

    def details(self) -> dict[str, str]:
        return {"tensors": "binary"}

    def pack(self, feed: Feed) -> PackedFeed:
        inputs = [(name, self.datatype(name, array), array) for name, array in feed.items()]
        return PackedFeed(body=messages.infer_request(self._name, self._version, inputs))

    def unpack(self, answer: RawAnswer) -> list[AnsweredTensor]:
        return messages.read_infer(answer.body())
