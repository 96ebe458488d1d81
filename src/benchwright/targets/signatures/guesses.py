"""What an input seems to be, judged by its name, its shape and its neighbours, and sizes that suit it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from benchwright.targets.signatures import SCALARS, Signature, TensorSignature, is_whole
from benchwright.units import whole_number

SAMPLE_RATE = 16_000  # Hz, what most models of speech take
_SIDE, _LINE_HEIGHT, _LINE_WIDTH, _FRAMES, _VIDEO = 224, 48, 320, 100, 16
_CHUNK, _SECOND, _TOKENS, _PAST = 512, SAMPLE_RATE, 128, 16
_MANY_CLASSES = 1000  # of a sequence that a picture becomes: the letters of a script

_RATE = frozenset({"sr", "fs", "rate", "samplerate"})
_STATE = frozenset({"state", "states", "hidden", "cell", "cache", "past", "memory", "mems", "hx", "cx"})
_SHORT_STATE = frozenset({"h", "c", "hn", "cn"})  # only beside an output that gives them back
_LENGTH = frozenset({"length", "lengths", "len", "lens"})
_TEXT = frozenset({"ids", "tokens", "token", "chars", "char"})
_AUDIO = frozenset({"audio", "wav", "wave", "waveform", "samples", "speech", "pcm", "signal", "sound"})
_IMAGE = frozenset({"image", "images", "img", "pixel", "pixels", "picture", "rgb"})
_LINES = frozenset({"rec", "ocr", "crnn", "htr"})  # in names of models that read a line of text
_SYMBOLS = {"height": _SIDE, "width": _SIDE, "h": _SIDE, "w": _SIDE, "samples": _SECOND, "frames": _FRAMES}


class InputKind(StrEnum):
    """What an input holds."""

    IMAGE = "an image"
    LINE = "an image of a line of text"
    VIDEO = "a video"
    AUDIO = "audio"
    FEATURES = "features over time"
    TOKENS = "token ids"
    MASK = "a mask"
    LENGTH = "a length"
    RATE = "a sample rate"
    STATE = "state that one call hands to the next"
    UNKNOWN = "numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What an input seems to be, and a shape for it where its own has open ends."""

    kind: InputKind
    shape: tuple[int, ...]


def guess(signature: Signature, *, name: str = "", batch_size: int = 1) -> dict[str, Guess]:
    """A guess for every input of the model called `name`. A leading 1 stands for the batch size."""
    kinds = {spec.name: kind_of(spec, signature, name) for spec in signature.inputs}
    streaming = any(kind in (InputKind.RATE, InputKind.STATE) for kind in kinds.values())
    symbols: dict[str, int] = {}
    for spec in signature.inputs:
        if spec.shape and isinstance(spec.shape[0], str):
            symbols[spec.shape[0]] = batch_size
    found = {}
    for spec in sorted(signature.inputs, key=_adds_up):  # the parts of a sum come before it
        kind = kinds[spec.name]
        wanted = _sizes(spec, kind, streaming=streaming, batch_size=batch_size)
        for place, size in enumerate(spec.shape or ()):
            if isinstance(size, int):
                wanted[place] = size
            elif isinstance(size, str) and place:
                wanted[place] = symbols.setdefault(size, _sum_of(size, symbols) or wanted[place])
        found[spec.name] = Guess(kind=kind, shape=tuple(wanted))
    return {spec.name: found[spec.name] for spec in signature.inputs}


def kind_of(spec: TensorSignature, signature: Signature, name: str = "") -> InputKind:
    """What one input of a model seems to be; `name` is the model's."""
    words, rank = _words(spec.name), None if spec.shape is None else len(spec.shape)
    whole = is_whole(spec.dtype) or spec.dtype == "int"
    if rank in (0, 1, None) and (spec.dtype in SCALARS or whole) and words & _RATE:
        return InputKind.RATE
    if "mask" in words:
        return InputKind.MASK
    if words & _STATE or (words & _SHORT_STATE and spec.name in partners(signature, [spec.name])):
        return InputKind.STATE
    if whole and words & _LENGTH:
        return InputKind.LENGTH
    if spec.name in signature.tables or words & _TEXT or (is_whole(spec.dtype) and rank == 2):
        return InputKind.TOKENS
    return _kind_of_shape(spec, words, signature, name)


def _kind_of_shape(spec: TensorSignature, words: set[str], signature: Signature, name: str) -> InputKind:
    shape = spec.shape
    if words & _AUDIO:
        return InputKind.AUDIO
    if shape is None:
        rated = any(_words(other.name) & _RATE for other in signature.inputs)
        return InputKind.AUDIO if rated else InputKind.UNKNOWN if spec.dtype in SCALARS else InputKind.IMAGE
    if len(shape) == 5:
        return InputKind.VIDEO
    if len(shape) == 4 or (len(shape) == 3 and words & _IMAGE):
        return InputKind.LINE if _reads_lines(shape, signature, name) else InputKind.IMAGE
    if len(shape) == 3:
        return InputKind.AUDIO if 1 in (shape[1], shape[2]) else InputKind.FEATURES
    return InputKind.AUDIO if len(shape) == 2 and not isinstance(shape[1], int) else InputKind.UNKNOWN


def _reads_lines(shape: Sequence[int | str | None], signature: Signature, name: str) -> bool:
    """Whether a picture becomes a sequence of letters: by a low fixed height, many classes, or the model's name."""
    if len(shape) != 4:
        return False
    height, width = (shape[1], shape[2]) if shape[3] in (1, 3, 4) and shape[1] not in (1, 3) else (shape[2], shape[3])
    if isinstance(width, int):
        return False
    if isinstance(height, int):
        return height <= 2 * _LINE_HEIGHT
    sequences = [out.shape for out in signature.outputs if out.shape is not None and len(out.shape) == 3]
    many = any(isinstance(last := each[-1], int) and last >= _MANY_CLASSES for each in sequences)
    return many or (bool(sequences) and bool(_words(PurePath(name).stem) & _LINES))


def _sizes(spec: TensorSignature, kind: InputKind, *, streaming: bool, batch_size: int) -> list[int]:
    """Sizes for every dimension as if all were open; the first is the batch's."""
    if spec.shape is None:
        usual = {InputKind.IMAGE: [1, 3, _SIDE, _SIDE], InputKind.AUDIO: [1, _CHUNK if streaming else _SECOND]}
        return usual.get(kind, [1, _TOKENS] if kind in (InputKind.TOKENS, InputKind.MASK) else [])
    rest = len(spec.shape) - 1
    if rest < 0:
        return []
    sizes = {
        InputKind.AUDIO: _CHUNK if streaming else _SECOND,
        InputKind.TOKENS: _TOKENS,
        InputKind.MASK: _TOKENS,
        InputKind.FEATURES: _FRAMES,
    }
    if kind in (InputKind.IMAGE, InputKind.LINE):
        return [1, *_image(spec.shape, line=kind is InputKind.LINE)]
    if kind is InputKind.VIDEO:
        return [1, 3, _VIDEO, _SIDE, _SIDE]
    if kind is InputKind.STATE:
        return [1, *(_state_size(spec.shape[place], place, batch_size) for place in range(1, rest + 1))]
    return [1, *(_size_of_symbol(size) or sizes.get(kind, _TOKENS) for size in spec.shape[1:])]


def _image(shape: Sequence[int | str | None], *, line: bool) -> list[int]:
    fixed = [size for size in shape[1:] if isinstance(size, int) and size > 4]
    side = fixed[0] if fixed and not line else _SIDE
    if len(shape) == 3:
        return [side, side]
    height, width = (_LINE_HEIGHT, _LINE_WIDTH) if line else (side, side)
    return [height, width, 3] if shape[3] in (1, 3, 4) and shape[1] not in (1, 3) else [3, height, width]


def _state_size(size: int | str | None, place: int, batch_size: int) -> int:
    """Of state, an open dimension near the front is the batch; one called past or seq is what came before."""
    if place == 1 or (isinstance(size, str) and "batch" in size.lower()):
        return batch_size
    return _PAST


def _size_of_symbol(size: int | str | None) -> int | None:
    return _SYMBOLS.get(size.lower()) if isinstance(size, str) else None


def _adds_up(spec: TensorSignature) -> bool:
    return any(isinstance(size, str) and "+" in size for size in spec.shape or ())


def _sum_of(expression: str, symbols: Mapping[str, int]) -> int | None:
    """The size of `past + sequence`, where both are known."""
    parts = [part.strip() for part in expression.split("+")]
    known = [symbols.get(part, whole_number(part)) for part in parts]
    return sum(size for size in known if size) if len(parts) > 1 and all(size is not None for size in known) else None


def _words(name: str) -> set[str]:
    found = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())
    return {*found, *(f"{a}{b}" for a, b in itertools.pairwise(found))}


# ---- state ----


def partners(signature: Signature, names: Iterable[str]) -> dict[str, str]:
    """For each of these inputs the output whose values it can take, where only one will do.

    That is the one of equal shape and type; of several, the one whose name begins with the input's.
    """
    found: dict[str, str] = {}
    for name in names:
        spec = next((each for each in signature.inputs if each.name == name), None)
        fitting = [] if spec is None else [out.name for out in signature.outputs if fits(spec, out)]
        alike = [out for out in fitting if out.lower().startswith(name.lower())]
        chosen = fitting if len(fitting) == 1 else alike
        if len(chosen) == 1:
            found[name] = chosen[0]
    outputs = list(found.values())
    return {name: out for name, out in found.items() if outputs.count(out) == 1}


def fits(spec: TensorSignature, out: TensorSignature) -> bool:
    """Whether an output may have the shape and type of an input; a size that is not known may be any."""
    if spec.shape is None or out.shape is None or spec.dtype != out.dtype or len(spec.shape) != len(out.shape):
        return False
    pairs = zip(spec.shape, out.shape, strict=True)
    return all(not isinstance(a, int) or not isinstance(b, int) or a == b for a, b in pairs)


def states(signature: Signature) -> dict[str, str]:
    """The inputs that seem to be state, with the output that gives each back, where that is unambiguous."""
    names = [spec.name for spec in signature.inputs if kind_of(spec, signature) is InputKind.STATE]
    return partners(signature, names)
