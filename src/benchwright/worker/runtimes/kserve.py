"""Servers of the Open Inference Protocol (KServe v2), over HTTP or gRPC: Triton, MLServer, KServe, OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from benchwright.errors import LoadError, RequestError
from benchwright.records import Case, Target
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.options import boolean, choice

if TYPE_CHECKING:
    from benchwright.worker.endpoints.client import ClientSettings
    from benchwright.worker.endpoints.endpoint_client import EndpointClient
    from benchwright.worker.endpoints.kserve.dialect import TensorDialect
    from benchwright.worker.endpoints.kserve.feed_maker import FeedMaker

OPTIONS = frozenset({"tensors", "check_shapes"})
_FORMS = ("json", "binary")


class Kserve:
    """`kserve:http://host:8080/v2/models/M` and `kserve:grpc://host:8081/M`."""

    name: ClassVar[str] = "kserve"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = "benchwright[endpoints]"
    module: ClassVar[str] = "httptools"
    parameters: ClassVar[frozenset[str]] = OPTIONS  # whatever may differ from case to case

    @staticmethod
    def check(target: Target) -> None:
        """Refuses what is wrong with the address or the options."""
        from benchwright.worker.endpoints.kserve.places import find_place, is_grpc
        from benchwright.worker.endpoints.option_names import check_options
        from benchwright.worker.endpoints.wire import GRPC, HTTP

        check_options(target, OPTIONS, (*HTTP, *GRPC))
        find_place(target.uri.replace("{port}", "1"))
        options = target.options
        choice(options, "tensors", "binary", _FORMS)
        boolean(options, "check_shapes", True)
        if not is_grpc(target.uri):
            return
        if options.get("tensors") == "json":
            raise RequestError("gRPC has no JSON: tensors travel as bytes", remedy="leave tensors out")
        if boolean(options, "insecure", False):
            raise RequestError(
                "gRPC's library checks every certificate, so --insecure cannot be had",
                remedy="trust its certificate: SSL_CERT_FILE=ca.pem",
            )

    def load(self, case: Case) -> Loaded:
        from benchwright.worker.endpoints.company import load_in_company

        self.check(case.target)
        return load_in_company(case, self._load)

    def _load(self, case: Case) -> Loaded:
        from benchwright.worker.endpoints.endpoint import load_client
        from benchwright.worker.endpoints.kserve.feed_maker import FeedMaker
        from benchwright.worker.endpoints.kserve.places import read_address
        from benchwright.worker.runtimes.inputs import state

        state.refuse(case, "kserve")
        dialect, make_client = _wire(case)
        maker = FeedMaker(case, dialect)
        loaded = load_client(case, dialect, read_address=read_address, make=maker, make_client=make_client)
        loaded.drawn = case.inputs.source == "random"
        maker.on_settled = partial(_tell, loaded)
        return loaded


def _wire(case: Case) -> tuple[TensorDialect, Callable[[ClientSettings], EndpointClient]]:
    """What speaks to the server: how messages are written, and who sends them."""
    from benchwright.worker.endpoints.kserve.places import find_place, is_grpc

    options, place = case.target.options, find_place(case.target.uri)
    check_shapes = boolean(options, "check_shapes", True)
    if not is_grpc(case.target.uri):
        from benchwright.worker.endpoints.client import HttpClient
        from benchwright.worker.endpoints.kserve.http import HttpTensors

        form = choice(options, "tensors", "binary", _FORMS) if "tensors" in options else ""
        return HttpTensors(place, form=form, check_shapes=check_shapes), HttpClient
    from benchwright.worker.endpoints.kserve.grpc import GrpcTensors
    from benchwright.worker.endpoints.kserve.messages import INFER
    from benchwright.worker.endpoints.wire import read_headers

    try:
        from benchwright.worker.endpoints.grpc_client import GrpcClient, metadata_of
    except ImportError as error:
        raise LoadError(f"gRPC needs a library: {error}", remedy="pip install 'benchwright[grpc]'") from None
    headers = metadata_of(read_headers(options, GrpcTensors.accept))
    return GrpcTensors(place, check_shapes=check_shapes), partial(GrpcClient, method=INFER, headers=headers)


def _tell(loaded: Loaded, maker: FeedMaker) -> None:
    """Adds what was learnt of the model, once its server has told, to what was loaded."""
    loaded.details = {**loaded.details, **maker.details()}
    loaded.feed, loaded.infer = maker.feeds[0], maker.infer
