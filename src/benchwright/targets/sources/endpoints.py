"""Served models by their address: `http://host:8000/v1/chat/completions`, `kserve:http://...`, any other route."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from benchwright import plugins
from benchwright.errors import NotInstalledError, TargetError
from benchwright.records import Case, Scalar, Target
from benchwright.system.masking import mask_url
from benchwright.targets.sources import Request, matrix
from benchwright.worker.runtimes import check_installed

_ADDRESS = re.compile(r"(?:kserve:)?(?:https?|grpcs?)://", re.IGNORECASE)
_KSERVE = "kserve:"
RUNTIMES = ("openai", "kserve", "http")


class Endpoints:
    """Addresses. The runtime follows from the address, unless --runtime names another."""

    name: ClassVar[str] = "endpoints"

    def accepts(self, target: str) -> bool:
        return is_address(target)

    def cases(self, target: str, request: Request) -> Iterator[Case]:
        shown = mask_url(target)
        for runtime in request.runtimes or (_usual_runtime(target),):
            if runtime not in RUNTIMES:
                raise TargetError(
                    f"{runtime} does not call {shown}", remedy=f"served models go by {', '.join(RUNTIMES)}"
                )
            if not request.elsewhere:
                check_installed(runtime)
                _check_grpc(target)
            yield from self._cases(target, runtime, request)

    def _cases(self, target: str, runtime: str, request: Request) -> Iterator[Case]:
        uri = target.removeprefix(_KSERVE)
        if tuple(request.devices) != ("cpu",) or tuple(request.precisions) != ("",):
            raise TargetError("a server chooses its device and precision itself", remedy="leave both out")
        if runtime == "openai":
            matrix.refuse_inputs(mask_url(uri), request)
        name = mask_url(uri).partition("://")[2]
        known = plugins.load("runtimes", runtime).parameters
        for parameter in request.params:
            if parameter not in known:
                raise TargetError(f"{name} has no parameter {parameter!r}", remedy=f"it has {', '.join(sorted(known))}")
        for batch_size in request.batch_sizes:
            for chosen in matrix.combinations(request.params):
                options = {**matrix.options_for(runtime, request), **chosen}
                made = Target(runtime=runtime, uri=uri, options=options)
                shape: dict[str, Scalar] = {"runtime": runtime, **chosen}
                shape |= {"batch_size": batch_size} if batch_size != 1 else {}
                for load, issuing in matrix.loads(request):
                    inputs = replace(request.inputs, batch_size=batch_size)
                    yield matrix.case(name, made, {**shape, **issuing}, inputs, load, "", request)


def _check_grpc(target: str) -> None:
    """gRPC takes a library more."""
    if re.match("(kserve:)?grpc", target, re.IGNORECASE) and importlib.util.find_spec("grpc") is None:
        raise NotInstalledError("gRPC", "benchwright[grpc]")


def is_address(target: str) -> bool:
    """Whether a target is the address of a served model."""
    return _ADDRESS.match(target) is not None


def _usual_runtime(target: str) -> str:
    """The protocol that an address looks like."""
    path = target.partition("?")[0].rstrip("/").lower()
    if path.startswith((_KSERVE, "grpc")) or re.search(r"/v2/models/[^/]+(/versions/[^/]+)?(/infer)?$", path):
        return "kserve"
    from benchwright.worker.runtimes.openai import ROUTES

    return "openai" if path.endswith(tuple(f"/{route}" for route in ROUTES)) else "http"
