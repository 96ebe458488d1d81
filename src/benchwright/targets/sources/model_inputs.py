"""What the inputs of models need that nobody gave, found before anything starts, in the files of the models alone."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from benchwright.errors import OptionError, RequestError
from benchwright.events import Noted
from benchwright.records import Case, Inputs
from benchwright.targets import signatures
from benchwright.targets.signatures import Signature, guesses
from benchwright.targets.signatures.guesses import InputKind
from benchwright.targets.sources import FED_BY_FILE, Request
from benchwright.worker.runtimes.inputs import shapes, state

_NAMELESS = ("openvino",)  # which do not tell that two open dimensions are the same
_USUAL_IDS = {"uint8": 256}  # random whole numbers stay below 100 otherwise
_BELOW = 100


def add_file_facts(case: Case) -> Case:
    """The case with what its model's file tells of valid values, where the request says nothing of them.

    Numbers that choose rows of a table stay below its size; a length is that of the sequence beside it.
    """
    signature = _signature(case)
    if signature is None or case.inputs.source != "random":
        return case
    inputs = case.inputs
    ranges = {name: bounds for name, bounds in _ranges(signature) if not _is_given(name, inputs)}
    values = {name: size for name, size in _lengths(signature, inputs) if not _is_given(name, inputs)}
    filled = _batches(signature, inputs) if case.target.runtime in _NAMELESS else {}
    if not (ranges or values or filled):
        return case
    inputs = replace(
        inputs,
        ranges={**ranges, **inputs.ranges},
        values={**values, **inputs.values},
        shapes={**filled, **inputs.shapes},
    )
    return replace(case, inputs=inputs)


def settle_inputs(cases: Sequence[Case], request: Request, *, command: Sequence[str] = ()) -> list[Case]:
    """The cases, ready to be measured; an `OptionError` with the command line that would do when sizes are open.

    `command` is what was typed. Whoever listens to the request hears of what was guessed.
    """
    done, missing, noted = [], dict[str, _MissingInputs](), dict[str, None]()
    for case in cases:
        signature = _signature(case)
        if signature is None or _has_other_names(case, signature):
            done.append(case)
            continue
        try:
            inputs, notes = _settle(case, signature)
        except RequestError as error:
            if not error.flags:
                raise OptionError(f"{case.name}: {error.message}", remedy=error.remedy) from None
            missing.setdefault(case.target.uri, _MissingInputs(case, signature, error))
            continue
        noted |= dict.fromkeys(notes)
        done.append(replace(case, inputs=inputs))
    if missing:
        raise _refusal(list(missing.values()), cases, request, command)
    for text in noted:
        request.listener(Noted(text=text))
    return done


@functools.lru_cache(maxsize=64)
def _read(path: str, size: int, changed: int) -> Signature | None:
    return signatures.read(path)


def _signature(case: Case) -> Signature | None:
    if case.target.runtime not in FED_BY_FILE:
        return None
    try:
        about = Path(case.target.uri).stat()
    except (OSError, ValueError):
        return None
    return _read(case.target.uri, about.st_size, about.st_mtime_ns)


def _has_other_names(case: Case, signature: Signature) -> bool:
    """Whether the request may use names that OpenVINO's own files list in no order."""
    if PurePath(case.target.uri).suffix != ".xml":
        return False
    known = {"", *(spec.name for spec in signature.inputs)}
    return not {*case.inputs.shapes, *case.inputs.dtypes, *case.inputs.values, *case.inputs.feed_back} <= known


def _is_given(name: str, inputs: Inputs) -> bool:
    return any(name in told for told in (inputs.ranges, inputs.values, inputs.files))


# ---- what the graph tells ----


def _ranges(signature: Signature) -> Iterable[tuple[str, tuple[float, float]]]:
    dtypes = {spec.name: spec.dtype for spec in signature.inputs}
    for name, table in signature.tables.items():
        below = _USUAL_IDS.get(dtypes.get(name, ""), _BELOW)
        if table.rows < below or not signatures.is_whole(dtypes.get(name, "")):
            yield name, (0.0, float(min(table.rows, below)))


def _lengths(signature: Signature, inputs: Inputs) -> Iterable[tuple[str, tuple[float, ...]]]:
    """Inputs that say how long the sequences beside them are, where that is known."""
    for spec in signature.inputs:
        if spec.shape is not None and len(spec.shape) <= 1 and guesses.kind_of(spec, signature) is InputKind.LENGTH:
            for other in signature.inputs:
                shape = inputs.shapes.get(other.name, inputs.shapes.get("", other.shape)) or ()
                if other.shape and len(shape) > 1 and isinstance(size := shape[1], int):
                    yield spec.name, (float(size),)
                    break


def _batches(signature: Signature, inputs: Inputs) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs in which only the batch is open, in another place than the first."""
    leading = {spec.shape[0] for spec in signature.inputs if spec.shape and isinstance(spec.shape[0], str)}
    found: dict[str, tuple[int, ...]] = {}
    for spec in signature.inputs:
        rest = (spec.shape or ())[1:]
        if spec.name not in inputs.shapes and "" not in inputs.shapes and leading & {*rest}:
            sizes = [size if isinstance(size, int) or size not in leading else inputs.batch_size for size in rest]
            first = (spec.shape or (1,))[0]
            if all(isinstance(size, int) for size in sizes):
                found[spec.name] = (first if isinstance(first, int) else 1, *(int(size or 0) for size in sizes))
    return found


# ---- what a person should know ----


def _settle(case: Case, signature: Signature) -> tuple[Inputs, list[str]]:
    """The inputs with what was guessed, and a sentence for each guess."""
    inputs, notes = case.inputs, []
    state.check_load(inputs, case.load)
    if signature.outputs:
        chosen = state.choose(inputs, signature)
        notes += [
            f"{case.name}: {name} takes what output {output} gave, the only one of its shape and type"
            for name, output in chosen.items()
            if not inputs.feed_back[name]
        ]
        inputs = replace(inputs, feed_back=chosen)
    shapes.resolve(signature.inputs, inputs, [], told=signature, name=case.name)
    for spec in signature.inputs if inputs.source == "random" else ():
        if (
            guesses.kind_of(spec, signature) is InputKind.RATE
            and spec.shape is not None
            and not _is_given(spec.name, inputs)
        ):
            inputs = replace(inputs, values={**inputs.values, spec.name: (float(guesses.SAMPLE_RATE),)})
            notes.append(
                f"{case.name}: {spec.name} seems to be a sample rate and is {guesses.SAMPLE_RATE}; "
                f"--value {spec.name}=8000 sets another"
            )
    notes += [
        f"{case.name}: {name} seems to be state and is the same at every call; "
        f"--feed-back {name}={output} hands on what a call gave"
        for name, output in guesses.states(signature).items()
        if inputs.source == "random" and name not in inputs.feed_back and name not in inputs.values
    ]
    return inputs, notes


# ---- the command line that would do ----


@dataclass(frozen=True, slots=True)
class _MissingInputs:
    case: Case
    signature: Signature
    error: RequestError


def _refusal(
    missing: list[_MissingInputs], cases: Sequence[Case], request: Request, command: Sequence[str]
) -> OptionError:
    message = "; ".join(f"{each.case.name}: {each.error.message}" for each in missing)
    looks = "; ".join(dict.fromkeys(each.error.remedy.partition(": add ")[0] for each in missing))
    uris = {case.target.uri for case in cases}
    if len(missing) == 1 and len(uris) == 1:
        lines = [_complete_command(command, missing[0].error.flags)]
    else:
        lines = [
            _complete_command(_drop_targets(command, uris - {each.case.target.uri}, request), each.error.flags)
            for each in missing
        ]
    return OptionError(message, remedy="\n  ".join([f"{looks}; try:", *lines]))


def _drop_targets(command: Sequence[str], uris: set[str], request: Request) -> list[str]:
    """The command line without the other models, whose inputs have other names."""
    names = {PurePath(uri).name for uri in uris}
    targets = {target for target in request.targets if PurePath(target).name in names}
    return [word for word in command if word not in targets]


def _complete_command(command: Sequence[str], flags: Sequence[str]) -> str:
    """The command with flags added; without a command, what the Python door takes."""
    if command:
        at = list(command).index("--") if "--" in command else len(command)
        return shlex.join([*command[:at], *flags, *command[at:]])
    keywords: dict[str, dict[str, object]] = {}
    for flag, text in zip(flags[::2], flags[1::2], strict=True):
        if flag == "--shape":
            name, _, sizes = text.rpartition(":")
            keywords.setdefault("shapes", {})[name] = tuple(int(size) for size in sizes.split("x"))
        elif flag == "--dtype":
            name, _, dtype = text.rpartition(":")
            keywords.setdefault("dtypes", {})[name] = dtype
        elif flag == "--value":
            name, _, number = text.rpartition("=")
            keywords.setdefault("values", {})[name] = (float(number),)
        else:
            name, _, output = text.partition("=")
            keywords.setdefault("feed_back", {})[name] = output
    return f"inputs=benchwright.Inputs({', '.join(f'{name}={value!r}' for name, value in keywords.items())})"
