"""Addresses of models: where requests go, and which model and version they ask for. Standard library only."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from benchwright.errors import RequestError
from benchwright.worker.endpoints.wire import GRPC, HTTP, Address, parse_address

_HTTP = re.compile(r"(?P<base>.*/v2)/models/(?P<model>[^/]+)(?P<version>/versions/[^/]+)?(?:/infer)?/?")
_GRPC = re.compile(r"/(?P<model>[^/?]+)(?:/(?P<version>[^/?]+))?/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlace:
    """A model behind an address."""

    address: Address  # where requests for its outputs go
    model: str
    version: str = ""
    server: str = ""  # over HTTP: the path that tells of the server
    metadata: str = ""  # over HTTP: the path that tells of the model


def is_grpc(uri: str) -> bool:
    """Whether an address is one of gRPC."""
    return uri.lower().startswith("grpc")


def find_place(uri: str) -> ModelPlace:
    """The model that an address names; a `RequestError` where it names none."""
    return _find_grpc(uri) if is_grpc(uri) else _find_http(uri)


def read_address(uri: str) -> Address:
    """Where requests for a model's outputs go; its address may end before `/infer`."""
    return find_place(uri).address


def _find_http(uri: str) -> ModelPlace:
    address = parse_address(uri, HTTP)
    path, mark, query = address.path.partition("?")
    found = _HTTP.fullmatch(path)
    if found is None:
        raise RequestError(
            f"{path} is not the address of a model",
            remedy="write kserve:http://host:8080/v2/models/NAME, or kserve:grpc://host:8081/NAME",
        )
    version = found["version"] or ""
    metadata = f"{found['base']}/models/{found['model']}{version}"
    return ModelPlace(
        address=replace(address, path=f"{metadata}/infer{mark}{query}"),
        model=found["model"],
        version=version.rpartition("/")[2],
        server=found["base"],
        metadata=metadata,
    )


def _find_grpc(uri: str) -> ModelPlace:
    address = parse_address(uri, GRPC)
    found = _GRPC.fullmatch(address.path)
    if found is None:
        raise RequestError(
            f"{address.path} does not name a model", remedy="write kserve:grpc://host:8081/NAME, or .../NAME/VERSION"
        )
    return ModelPlace(address=address, model=found["model"], version=found["version"] or "")
