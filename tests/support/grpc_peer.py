"""A server of the Open Inference Protocol over gRPC whose models are faults: what one does, its name says.

Run as a program it prints its ports, and ends with its standard input: grpc_peer.py [CERTIFICATE KEY]
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from inference_messages import message

SERVICE = "inference.GRPCInferenceService"
HUGE = 65 * 2**20  # bytes: more than a client reads
SMALL = 2**20  # bytes of a request that the server takes


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcPeer:
    """A running server."""

    place: str  # host and port
    secure: str  # the same with TLS
    process: subprocess.Popen[bytes]

    def end(self) -> None:
        """Ends the server before its time."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


@contextlib.contextmanager
def running(certificate: Path, key: Path) -> Iterator[GrpcPeer]:
    """Starts a server, and ends it."""
    command = [sys.executable, __file__, str(certificate), str(key)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdin and process.stdout
    try:
        plain, secure = json.loads(process.stdout.readline())
        yield GrpcPeer(place=f"127.0.0.1:{plain}", secure=f"localhost:{secure}", process=process)
    finally:
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


_CODES = {
    "invalid": (grpc.StatusCode.INVALID_ARGUMENT, "unexpected shape for input 'x'"),
    "broken": (grpc.StatusCode.INTERNAL, "the engine died"),
    "busy": (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests"),
    "away": (grpc.StatusCode.UNAVAILABLE, "the model is being unloaded"),
    "chatty": (grpc.StatusCode.UNKNOWN, "no " * 2000),
}


def _describe(request: Any, context: grpc.ServicerContext) -> bytes:
    asked = message("MetadataRequest").FromString(request)
    if asked.name == "absent":
        context.abort(grpc.StatusCode.NOT_FOUND, "no such model")
    if asked.name == "mute":
        return b"\xff\xff\xff"
    told = message("MetadataResponse")(name=asked.name, versions=["1", "2"], platform="tests")
    for tensors in (told.inputs, told.outputs):
        tensors.add(name="x", datatype="FP32", shape=[-1, 4])
        tensors.add(name="n", datatype="INT64", shape=[-1, 2])
    return bytes(told.SerializeToString())


def _infer(request: Any, context: grpc.ServicerContext) -> bytes:
    asked = message("InferRequest").FromString(request)
    name = asked.model_name
    if name in _CODES:
        context.abort(*_CODES[name])
    if name == "slow":
        time.sleep(5)
    if name == "secret" and dict(context.invocation_metadata()).get("authorization") != "Bearer sesame":
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
    if name == "nonsense":
        return b"\x2a\xff\xff\xff\xff\x7f nonsense"
    if name == "huge":
        return bytes(HUGE)
    told = message("InferResponse")(model_name=name, model_version=asked.model_version)
    for tensor, raw in zip(asked.inputs, asked.raw_input_contents, strict=True):
        code = "f" if tensor.datatype == "FP32" else "q"
        values = [value + 1 for value in struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)]
        shape = [*tensor.shape[:-1], tensor.shape[-1] + 1] if name == "short" else tensor.shape
        output = told.outputs.add(name=tensor.name, datatype=tensor.datatype, shape=shape)
        if name == "typed":
            contents = output.contents.fp32_contents if code == "f" else output.contents.int64_contents
            contents.extend(values)
        else:
            told.raw_output_contents.append(struct.pack(f"<{len(values)}{code}", *values))
        if name == "single":
            break
    return bytes(told.SerializeToString())


def _serve(certificate: str, key: str) -> None:
    server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.max_receive_message_length", SMALL)])
    methods = {
        "ModelMetadata": grpc.unary_unary_rpc_method_handler(_describe),
        "ModelInfer": grpc.unary_unary_rpc_method_handler(_infer),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, methods)])
    pair = (Path(key).read_bytes(), Path(certificate).read_bytes())
    ports = [
        server.add_insecure_port("127.0.0.1:0"),
        server.add_secure_port("localhost:0", grpc.ssl_server_credentials([pair])),
    ]
    server.start()
    print(json.dumps(ports), flush=True)
    sys.stdin.buffer.read()
    server.stop(None)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
