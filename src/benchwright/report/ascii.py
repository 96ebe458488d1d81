"""Text as a file's encoding can take it."""

from __future__ import annotations

from typing import TextIO

_RISING = ".:-=+*#@"  # in place of bars that grow
ASCII = str.maketrans(
    {
        "±": "+-",
        "µ": "u",
        "·": "|",
        "–": "-",
        "×": "x",
        "…": "...",
        "─": "-",
        "━": "-",
        "│": "|",
        "└": "+",
        "◆": "o",
        "┼": "+",
    }
    | dict(zip("░▒", ".:", strict=True))
    | dict(zip("▁▂▃▄▅▆▇█", _RISING, strict=True))
    | dict(zip("▏▎▍▌▋▊▉█", _RISING, strict=True))
)


def emit_text(file: TextIO, words: str) -> None:
    """Writes text, spelled in ASCII where the encoding takes nothing else."""
    file.write(spell(file, words))


def spell(file: TextIO, words: str) -> str:
    """The words as `file` can take them: a sign it lacks in its ASCII spelling, a letter it lacks as its escape."""
    if takes_unicode(file):
        return _escape_halves(words)
    return words.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")


def _escape_halves(words: str) -> str:
    """The words with half characters, which JSON can hold and no file can, written as escapes."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return words.encode("utf-8", "backslashreplace").decode("utf-8")
    return words


def takes_unicode(file: TextIO) -> bool:
    """Whether the encoding of `file` has every sign."""
    return (getattr(file, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")
