"""What a model answers, against what it must answer: asked once, after the last timed call.

An answer out of tolerance is a missed objective. What cannot be compared at all (another shape, another set of outputs,
a file that is not there) is a failure of the case: it is not the model that somebody expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchwright.errors import LoadError, MeasureError, did_you_mean
from benchwright.records import Case, Expected, Failure, ResultWarning
from benchwright.stats.errors import ShapeError
from benchwright.worker.runtimes import Loaded, Report
from benchwright.worker.runtimes.failures import SEE_THE_LOG, first_line, log_traceback
from benchwright.worker.runtimes.inputs import array_files
from benchwright.worker.runtimes.outputs import comparison, tensors
from benchwright.worker.runtimes.outputs.comparison import Array, ComparedOutput

KEPT = "outputs.npz"
MOST_KEPT = 256 << 20  # bytes of outputs that are written
MISSED = "objective-missed"  # as the instrument calls it
_CODE = "answers"
_TYPES = {np.dtype(code).name for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"}


def compare_answers(report: Report, loaded: Loaded, case: Case, folder: str) -> Report:
    """Compares the model's answers with those that the case expects, and adds what was found to the report."""
    expected = case.expected
    if expected is None or not (expected.outputs or expected.keep) or report.failure:
        return report
    if loaded.infer is None or loaded.feed is None or loaded.is_async:
        seen = f"{case.target.runtime} cannot ask this model for its answers, so they were not compared"
        return _add_warning(report, seen, "compare them in a runtime that loads models: onnxruntime, openvino, torch")
    try:
        answered = _ask_model(loaded, expected)
        pairs = _match_outputs(expected, list(answered)) if expected.outputs else {}
    except MeasureError as error:
        return replace(report, failure=Failure(kind=_CODE, message=error.message, remedy=error.remedy))
    found, failures = [], []
    for name, own in pairs.items():
        try:
            found.append(comparison.compare_output(name, own, answered[own], case))
        except (LoadError, ShapeError) as error:
            failures.append(error)
    report = _with_findings(report, found)
    if not loaded.details.get("outputs"):
        shapes = {name: f"{a.dtype}[{'x'.join(map(str, a.shape))}]" for name, a in answered.items()}
        report = replace(report, details={**report.details, "outputs": dict(shapes)})
    if expected.keep:
        report = _keep_outputs(report, answered, expected, folder)
    return replace(report, failure=_failure(failures)) if failures else report


# ---- the model's answers ----


def _ask_model(loaded: Loaded, expected: Expected) -> dict[str, Array]:
    """The outputs by the runtime's own names, in its order."""
    assert loaded.infer is not None and loaded.feed is not None
    feed = dict(loaded.feed)
    for name, place in expected.inputs.items():
        if name not in feed:
            raise LoadError(f"the model has no input {name!r}", remedy=did_you_mean(name, feed))
        feed[name] = _convert_like(feed[name], array_files.read(place, name, tuple(feed[name].shape)))
    try:
        answer = loaded.infer(*feed.values())
    except Exception as error:  # the border to the library and the model
        log_traceback(error)
        raise MeasureError(
            f"the model failed when it was asked for its answers: {first_line(error)}", remedy=SEE_THE_LOG
        ) from None
    outputs = loaded.details.get("outputs")
    return tensors.name_arrays(answer, list(outputs) if isinstance(outputs, dict) else [])


def _convert_like(present: Any, array: Array) -> Array:
    """The array in the type of the input it replaces, where that is one of numpy's own; else the runtime converts."""
    name = str(present.dtype).rpartition(".")[2]  # torch.float32, float32
    return array.astype(name, copy=False) if name in _TYPES else array


def _match_outputs(expected: Expected, own: Sequence[str]) -> dict[str, str]:
    """Which output is meant by each expected name: the one it is mapped to, of its name, or in its place."""
    pairs = {}
    for name in expected.outputs:
        if name in expected.names or name in own:
            pairs[name] = expected.names.get(name, name)
    for name, mapped in pairs.items():
        if mapped not in own:
            raise LoadError(f"the model has no output {mapped!r} for {name!r}", remedy=did_you_mean(mapped, own))
    left = [name for name in expected.outputs if name not in pairs]
    free = [name for name in own if name not in pairs.values()]
    if left and len(expected.outputs) != len(own):
        what = f"none is called {left[0]!r}" if left[0] else f"{expected.outputs['']} is for one"
        raise LoadError(
            f"the outputs of the model are {', '.join(own)}; {what}",
            remedy="say which one is meant: by its own name, or with the names of this runtime in the spec",
        )
    return {name: pairs.get(name) or free.pop(0) for name in expected.outputs}


# ---- what is added to the report ----


def _with_findings(report: Report, found: Sequence[ComparedOutput]) -> Report:
    metrics = [
        metric for each in found for metric in comparison.metrics(each, f".{each.name}" if len(found) > 1 else "")
    ]
    warnings = [
        ResultWarning(
            code=MISSED,
            seen=f"output {each.own!r}: {'; '.join(each.reasons)}",
            remedy="find out what differs, or allow more if that is meant (--tolerance, or the spec)",
        )
        for each in found
        if each.reasons
    ]
    details = {**report.details, **({_CODE: comparison.details(found)} if found else {})}
    return replace(report, metrics=[*report.metrics, *metrics], warnings=[*report.warnings, *warnings], details=details)


def _failure(failures: Sequence[Exception]) -> Failure:
    first = failures[0]
    message = "; ".join(str(getattr(each, "message", each)) for each in failures)
    remedy = getattr(first, "remedy", "") or "is it the same model, with the same inputs?"
    return Failure(kind=_CODE, message=message, remedy=remedy)


def _keep_outputs(report: Report, answered: Mapping[str, Array], expected: Expected, folder: str) -> Report:
    """Writes the outputs into the folder, under the names that the expectation has for them."""
    names = {own: name for name, own in expected.names.items()}
    plain = {names.get(own, own): tensors.storable(array) for own, array in answered.items()}
    size = sum(array.nbytes for array in plain.values())
    if size > MOST_KEPT:
        seen = f"the outputs take {size / 2**20:,.0f} MiB, more than the {MOST_KEPT >> 20} MiB that are kept"
        return _add_warning(report, seen, "keep those of a smaller batch")
    if not folder:
        return _add_warning(report, "there is no folder to keep the outputs in", "measure on a host that keeps files")
    array_files.write(Path(folder, KEPT), plain)
    return report


def _add_warning(report: Report, seen: str, remedy: str) -> Report:
    return replace(report, warnings=[*report.warnings, ResultWarning(code=_CODE, seen=seen, remedy=remedy)])
