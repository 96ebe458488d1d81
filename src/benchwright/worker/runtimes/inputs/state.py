"""State that goes from an output of one call to an input of the next, as in streaming models.

A runtime copies the output into the array or tensor that the input lies in, so that whatever looks into that memory
sees the new state, and all feeds share one. The copy is part of the timed call: an application has to do it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchwright.errors import RequestError, did_you_mean
from benchwright.records import Case, Inputs, Load
from benchwright.targets.signatures import Signature, TensorSignature, format_shape, guesses
from benchwright.units import whole_number

Pairs = list[tuple[str, int]]  # an input's name, the place of the output that it takes


def pairs_of(case: Case, inputs: Sequence[TensorSignature], outputs: Sequence[TensorSignature]) -> Pairs:
    """Which outputs the next call takes, by their places; a `RequestError` when that cannot be.

    An output is named, or given by its place from 0, or "" for the only one of the input's shape and type.
    """
    check_load(case.inputs, case.load)
    chosen = choose(case.inputs, Signature(inputs=tuple(inputs), outputs=tuple(outputs)))
    names = [output.name for output in outputs]
    return [(name, names.index(output)) for name, output in chosen.items()]


def check_load(inputs: Inputs, load: Load) -> None:
    """Refuses several calls at a time: they would write into one state."""
    if inputs.feed_back and max(load.workers, load.streams) > 1:
        raise RequestError(
            "state that is fed back belongs to one stream of calls, and several workers share it",
            remedy="use --copies for several streams, or leave --feed-back out",
        )


def refuse(case: Case, runtime: str) -> None:
    """Refuses state in a runtime whose arrays cannot be written to."""
    if case.inputs.feed_back:
        raise RequestError(
            f"{runtime} does not hand on state here", remedy="leave --feed-back out, or measure a function that does"
        )


def choose(inputs: Inputs, signature: Signature) -> dict[str, str]:
    """The name of the output that each input takes."""
    found = {}
    specs = {spec.name: spec for spec in signature.inputs}
    outputs = {output.name: output for output in signature.outputs}
    for name, asked in inputs.feed_back.items():
        if name not in specs:
            raise RequestError(f"the model has no input {name!r}", remedy=did_you_mean(name, specs))
        output = asked or guesses.partners(signature, [name]).get(name, "")
        if output not in outputs and (number := whole_number(output)) is not None and number < len(outputs):
            output = list(outputs)[number]
        if not output:
            alike = [each.name for each in signature.outputs if guesses.fits(specs[name], each)]
            count = f"{len(alike)} outputs have" if alike else "no output has"
            wanted = f"{specs[name].dtype} {format_shape(specs[name].shape)}"
            raise RequestError(
                f"{count} the shape and type of input {name!r}, {wanted}",
                remedy=f"name the output: --feed-back {name}={(alike or [*outputs, 'OUTPUT'])[0]}",
            )
        if output not in outputs:
            raise RequestError(f"the model has no output {output!r}", remedy=did_you_mean(output, outputs))
        _check_fit(specs[name], outputs[output])
        found[name] = output
    return found


def _check_fit(spec: TensorSignature, output: TensorSignature) -> None:
    known = spec.shape is not None and output.shape is not None and spec.dtype and output.dtype
    if known and not guesses.fits(spec, output):
        raise RequestError(
            f"output {output.name!r} is {output.dtype} {format_shape(output.shape)} and cannot become "
            f"input {spec.name!r}, {spec.dtype} {format_shape(spec.shape)}",
            remedy="name an output of the same shape and type",
        )


def share(feeds: list[dict[str, Any]], pairs: Pairs) -> None:
    """Lets every feed hold the same memory for state, so that it goes on from feed to feed."""
    for feed in feeds[1:]:
        feed |= {name: feeds[0][name] for name, _ in pairs}


def make_hand_on(pairs: Pairs, kept: Mapping[str, Any], copy: Callable[[Any, Any], Any]) -> Callable[[Any], None]:
    """A function that is given a call's outputs and copies the state among them to where the next call looks."""
    wanted = [(name, kept[name], place) for name, place in pairs]

    def hand_on(outputs: Any) -> None:
        for name, target, place in wanted:
            source = outputs[place]
            if source.shape != target.shape:  # numpy would stretch what is smaller
                raise RequestError(
                    f"output {place} is {format_shape(tuple(source.shape))} and cannot become input {name!r}, "
                    f"{format_shape(tuple(target.shape))}",
                    remedy="leave --feed-back out for state that grows with every call",
                )
            copy(target, source)

    return hand_on


def snapshot(feed: Mapping[str, Any], pairs: Pairs) -> dict[str, Any]:
    """The feed as the first call sees it: what is checked after the last one begins with the same state."""
    handed = {name for name, _ in pairs}
    return {name: array.copy() if name in handed else array for name, array in feed.items()}
