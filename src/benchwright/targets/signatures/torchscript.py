"""TorchScript: the names of what `forward` takes, read from the archive's own text. It has no shapes.

The archive holds the model as pickled data, of which only the name of its first class is looked for, and never
executed, and the source of each class as text.
"""

from __future__ import annotations

import pickletools
import re
import zipfile
import zlib
from pathlib import Path

from benchwright.targets.signatures import SCALARS, MalformedError, Signature, TensorSignature

_MOST_BYTES = 16 << 20
_PARAMETER = re.compile(r"(\w+): ([\w.\[\], ]+?)(=[^,]*)?(?:,\s*(?=\w+: )|$)")


def read(path: Path) -> Signature:
    """The signature of the model in a file: names, and whether each is a tensor or a plain number."""
    try:
        with zipfile.ZipFile(path) as archive:
            root = archive.namelist()[0].partition("/")[0]
            module, name = _class(_content(archive, f"{root}/data.pkl"))
            source = _content(archive, f"{root}/code/{module.replace('.', '/')}.py").decode(errors="replace")
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise MalformedError(str(error)) from None
    return Signature(inputs=tuple(_inputs(_body(source, name))))


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as stream:  # a KeyError when there is none: weights alone have no code
        return stream.read(_MOST_BYTES)


def _class(pickled: bytes) -> tuple[str, str]:
    """The module and the name of the first class that a pickle names: the model's own."""
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL":
            module, _, name = str(argument).rpartition(" ")
            if module.startswith("__torch__"):
                return module, name
    raise MalformedError("no class")


def _body(source: str, name: str) -> str:
    """The text of one class."""
    found = re.search(rf"^class {re.escape(name)}\(.*?(?=^class |\Z)", source, re.DOTALL | re.MULTILINE)
    if found is None:
        raise MalformedError(f"no class {name}")
    return found[0]


def _inputs(body: str) -> list[TensorSignature]:
    """What `forward` takes after itself and must be given."""
    found = re.search(r"def forward\((.*?)\) -> ", body, re.DOTALL)
    if found is None or "def example_inputs(" in body:  # which makes inputs that need no shape
        raise MalformedError("no forward that needs shapes")
    inputs = []
    for name, kind, default in _PARAMETER.findall(" ".join(found[1].split())):
        if name != "self" and not default:
            inputs.append(TensorSignature(name=name, shape=None, dtype=kind if kind in SCALARS else ""))
            if kind != "Tensor" and kind not in SCALARS:
                raise MalformedError(f"{name} is a {kind}")
    return inputs
