"""The readers of models, which take no library to be read."""

from __future__ import annotations

from readers import calls, packed, seeds
from readers.kinds import BYTES, TEXT, Reader

MODELS: dict[str, Reader] = {
    "exported program": Reader(
        file="model.pt2",
        bodies=lambda: [seeds.EXPORTED],
        call=calls.exported,
        modules=("targets.signatures.exported",),
        ways=("by_structure", "by_token", "by_byte"),
    ),
    "model": Reader(
        file="model.onnx", bodies=seeds.models, call=calls.signature, modules=("targets.signatures.onnx",), ways=BYTES
    ),
    "openvino model": Reader(
        file="model.xml",
        bodies=lambda: [packed.OPENVINO],
        call=calls.signature,
        modules=("targets.signatures.openvino",),
        ways=TEXT,
    ),
    "torchscript model": Reader(
        file="model.pt",
        bodies=packed.scripts,
        call=calls.signature,
        modules=("targets.signatures.torchscript",),
        ways=BYTES,
    ),
    "archive": Reader(
        file="model.tar", bodies=packed.archives, call=packed.unpack, modules=("fetch.members",), ways=BYTES
    ),
}
