"""The model that MLServer serves: numbers come back with one added, texts as they are."""

from __future__ import annotations

from typing import Any

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse, ResponseOutput


class Plus(MLModel):
    """Answers each input with an output of the same name, type and shape."""

    async def load(self) -> bool:
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        return InferenceResponse(model_name=self.name, outputs=[_plus(one) for one in payload.inputs])


def _plus(given: Any) -> ResponseOutput:
    if given.datatype == "BYTES":
        return ResponseOutput(name=given.name, datatype=given.datatype, shape=given.shape, data=given.data)
    return NumpyCodec.encode_output(given.name, NumpyCodec.decode_input(given) + 1)
