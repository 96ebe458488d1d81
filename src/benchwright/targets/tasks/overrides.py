"""The texts that flags of the older driver rewrite in a command of the older form."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from benchwright.records import ResultWarning, Scalar

# parameter -> the text it rewrites. A whole value, where the older driver saw one digit of it.
_TEXTS = {
    "num_gpus": re.compile(r"(?<!\S)(--gpus)(\s+|=)[\d,]+(?!\S)"),
    "epochs": re.compile(r"(?<!\S)(--epochs)(\s+|=)\d+(?!\S)"),
    "kvstore": re.compile(r"(?<!\S)(--kvstore)(\s+|=)device(?!\S)"),
    "dtype": re.compile(r"(?<!\S)(--dtype)(\s+|=)float32(?!\S)"),
}
_USUAL = {"kvstore": "device", "dtype": "float32"}


def rewrite_command(line: str, params: Mapping[str, Scalar]) -> tuple[str, list[ResultWarning]]:
    """The command line with the parameters in it, and a warning for each that changed nothing.

    `num_gpus` of 0 or less takes `--gpus N` out. A value is quoted: it is one word, whatever it holds.
    """
    warnings = []
    for name, text in _TEXTS.items():
        if name not in params:
            continue
        value = params[name]
        remove = name == "num_gpus" and isinstance(value, int) and value <= 0
        new = "" if remove else shlex.quote(str(value))
        line, count = text.subn(lambda found, new=new: f"{found[1]}{found[2]}{new}" if new else "", line)  # type: ignore[misc]
        if not count and name != "num_gpus" and value != _USUAL.get(name):
            seen = f"{name}={value} changed nothing: the command does not say --{name} {_USUAL.get(name, 'N')}"
            warnings.append(ResultWarning(code="override-unused", seen=seen, remedy="write that text into the command"))
    return line, warnings
