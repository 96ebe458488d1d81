"""Crossing a request's dimensions into cases.

The nesting order, outermost first: runtime, device, precision, batch size, a callable's own parameters, workers,
copies, rate.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

from benchwright import plugins
from benchwright.errors import TargetError
from benchwright.records import Case, Inputs, Load, Mode, Scalar, Target
from benchwright.targets.sources import Request


def models(name: str, uri: str, runtime: str, version: str, request: Request) -> Iterator[Case]:
    """The cases of one model in one runtime."""
    for parameter in request.params:
        raise TargetError(f"{name} is a model and takes no parameter {parameter!r}", remedy="leave --param out")
    for device, precision, batch_size in itertools.product(request.devices, request.precisions, request.batch_sizes):
        shape: dict[str, Scalar] = {"runtime": runtime}
        shape |= {"device": device} if device != "cpu" else {}
        shape |= {"precision": precision} if precision else {}
        options = options_for(runtime, request)
        target = Target(runtime=runtime, uri=uri, device=device, precision=precision, options=options)
        inputs = dataclasses.replace(request.inputs, batch_size=batch_size)
        for load, issuing in loads(request):
            params = {**shape, "batch_size": batch_size, **issuing}
            yield case(name, target, params, inputs, load, version, request)


def options_for(runtime: str, request: Request) -> dict[str, Scalar]:
    """The request's options, those of the form `RUNTIME.name` only in that runtime and without its name."""
    if not any("." in key for key in request.options):
        return dict(request.options)
    names = plugins.names("runtimes")
    shared = {key: value for key, value in request.options.items() if key.partition(".")[0] not in names}
    own = {k.removeprefix(f"{runtime}."): v for k, v in request.options.items() if k.startswith(f"{runtime}.")}
    return {**shared, **own}


def refuse_inputs(name: str, request: Request) -> None:
    """Raises a `TargetError` when inputs are described for something that is called without any."""
    asked, usual = request.inputs, Inputs()
    flags = {
        "--input": asked.source != usual.source,
        "--shape": bool(asked.shapes),
        "--dtype": bool(asked.dtypes),
        "--value": bool(asked.values),
        "--feed-back": bool(asked.feed_back),
        "--input-count": asked.count != usual.count,
    }
    for flag in (flag for flag, given in flags.items() if given):
        raise TargetError(
            f"{name} takes no arrays, so {flag} does not apply to it",
            remedy=f"leave {flag} out, or measure what takes it in a run of its own",
        )


def loads(request: Request, loops: int | None = None) -> Iterator[tuple[Load, dict[str, Scalar]]]:
    """Each way to issue calls, with the parameters that name it. A rate makes a closed loop an open one."""
    for workers, copies, rate in itertools.product(request.workers, request.copies, request.rates):
        load = dataclasses.replace(request.load, workers=workers, copies=copies, rate=rate)
        if rate is not None and load.mode is Mode.CLOSED:
            load = dataclasses.replace(load, mode=Mode.OPEN)
        if loops is not None:
            load = dataclasses.replace(load, loops=loops)
        named: dict[str, Scalar] = {"workers": workers, "copies": copies}
        named |= {"rate": rate} if rate is not None else {}
        yield load, named | ({"ramp_to": load.ramp_to} if load.ramp_to is not None else {})


def combinations(params: Mapping[str, Sequence[Scalar]]) -> Iterator[dict[str, Scalar]]:
    """Every combination of parameter values, the first parameter varying slowest."""
    for values in itertools.product(*params.values()):
        yield dict(zip(params, values, strict=True))


def case(
    name: str,
    target: Target,
    params: Mapping[str, Scalar],
    inputs: Inputs,
    load: Load,
    version: str,
    request: Request,
) -> Case:
    """One case of the request."""
    return Case(
        name=name, target=target, params=params, inputs=inputs, load=load, version=version, tags=tuple(request.tags)
    )
