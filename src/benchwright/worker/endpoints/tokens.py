"""Tokens of whole texts, counted by a local tokenizer.json. The only home of the package `tokenizers`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchwright.errors import NotInstalledError, OptionError
from benchwright.schema.parsing import MIB, too_large
from benchwright.system.texts import describe_error

FILE = "tokenizer.json"
LARGEST = 256 * MIB  # bytes of a tokenizer; those of today have up to 40 MiB
LONGEST_TEXT = 64 * MIB  # characters of one text: while it is counted, each token takes a hundred bytes
_TOGETHER = 4 * MIB  # characters that are counted at once
_REMEDY = f"give --tokenizer the model's {FILE}, or the folder that holds it"


class TokenCounter:
    """Counts tokens as a model's own tokenizer does, without what a template or the beginning of a text adds."""

    def __init__(self, path: str | Path) -> None:
        self._path = find_tokenizer(path)
        self._encode = _load(self._path)

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return self.count_all([text])[0]

    def count_all(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has; many texts at once are counted by all processors."""
        counts: list[int] = []
        for part in _parts(texts):
            try:
                counts += [len(encoded) for encoded in self._encode(part, add_special_tokens=False)]
            except Exception as error:  # the package raises `Exception` itself
                raise OptionError(
                    f"{self._path}: it cannot count a text: {describe_error(error, 300)}", remedy=_REMEDY
                ) from None
        return counts


def find_tokenizer(path: str | Path) -> Path:
    """The file of a tokenizer, which may be named by its folder; an `OptionError` where there is none, or too large."""
    file = Path(path)
    try:
        file = file / FILE if file.is_dir() else file
        size = file.stat().st_size
    except (OSError, ValueError) as error:  # ValueError: a name with a zero in it
        why = error.strerror if isinstance(error, OSError) else error
        raise OptionError(f"--tokenizer {file}: {why}", remedy=_REMEDY) from None
    if size > LARGEST:
        raise OptionError(f"--tokenizer {file}: {too_large(LARGEST)}", remedy=_REMEDY)
    return file


def _load(path: Path) -> Any:
    """The function of a tokenizer that encodes several texts."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise NotInstalledError("tokenizers, which --tokenizer needs,", "'benchwright[tokens]'") from None
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises `Exception` itself
        raise OptionError(
            f"--tokenizer {path}: it is no tokenizer: {describe_error(error, 300)}", remedy=_REMEDY
        ) from None
    tokenizer.no_truncation()  # a file may ask for both, and neither belongs into a count
    tokenizer.no_padding()
    return tokenizer.encode_batch_fast


def _parts(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in parts of a size that memory holds while they are counted."""
    part: list[str] = []
    size = 0
    for text in texts:
        if len(text) > LONGEST_TEXT:
            raise OptionError(
                f"a text of {len(text):,} characters is too long to be counted",
                remedy=f"leave --tokenizer out, or keep texts below {LONGEST_TEXT:,} characters",
            )
        if part and size + len(text) > _TOGETHER:
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
