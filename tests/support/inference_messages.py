"""The messages of the Open Inference Protocol's gRPC service as protobuf's own library has them: the truth in tests."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_KINDS = {
    "string": 9,
    "int64": 3,
    "bytes": 12,
    "bool": 8,
    "int32": 5,
    "uint32": 13,
    "uint64": 4,
    "float": 2,
    "double": 1,
}
_MESSAGE = 11
_ONE, _MANY = 1, 3
_TENSOR = ("1 name string", "2 datatype string", "3* shape int64", "5 contents Contents")
_MESSAGES = {
    "MetadataRequest": ("1 name string", "2 version string"),
    "TensorMetadata": ("1 name string", "2 datatype string", "3* shape int64"),
    "MetadataResponse": (
        "1 name string",
        "2* versions string",
        "3 platform string",
        "4* inputs TensorMetadata",
        "5* outputs TensorMetadata",
    ),
    "Contents": (
        "1* bool_contents bool",
        "2* int_contents int32",
        "3* int64_contents int64",
        "4* uint_contents uint32",
        "5* uint64_contents uint64",
        "6* fp32_contents float",
        "7* fp64_contents double",
        "8* bytes_contents bytes",
    ),
    "Tensor": _TENSOR,
    "InferRequest": (
        "1 model_name string",
        "2 model_version string",
        "3 id string",
        "5* inputs Tensor",
        "7* raw_input_contents bytes",
    ),
    "InferResponse": (
        "1 model_name string",
        "2 model_version string",
        "3 id string",
        "5* outputs Tensor",
        "6* raw_output_contents bytes",
    ),
}


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="inference.proto", package="inference", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields:
            number, field, kind = text.split()
            label = _MANY if number.endswith("*") else _ONE
            added = message.field.add(name=field, number=int(number.rstrip("*")), label=label)
            added.type = _KINDS.get(kind, _MESSAGE)
            if added.type == _MESSAGE:
                added.type_name = f".inference.{kind}"
    return file


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_describe())


def message(name: str) -> Any:
    """The class of a message."""
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"inference.{name}"))
