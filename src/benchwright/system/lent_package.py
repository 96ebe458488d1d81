"""This package, lent to an interpreter that does not have it: importable there, and nothing that lies beside it.

To put the folder of an installed package on `sys.path` would lend everything that is installed with it. A revision of a
project would then be measured with packages that it never asked for, in versions that are not its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

PACKAGE = "benchwright"
_ROOT = str(Path(__file__).resolve().parents[2])  # the folder, or the zip file, that holds the package
# Asked last, unless told otherwise: what the interpreter has itself comes first. In a .pth file no name of a module is
# known to it.
_FINDER = (
    "import sys; from importlib.machinery import PathFinder; "
    "sys.meta_path.insert({position}, type('Lent', (), {{'find_spec': staticmethod("
    "lambda name, path=None, target=None, find=PathFinder.find_spec, lent={places!r}: "
    "find(name, [lent[name]]) if name in lent else None)}})); "
)
_LAST = 1000  # position: behind every other finder


def code_for(statement: str, *, lent: Sequence[str] = (PACKAGE,), first: bool = False) -> str:
    """One line of Python that runs a statement which may import the packages that are lent.

    A package that is not installed here either is left out. With `first`, ours is taken even where there is another.
    """
    places = {name: folder for name in lent if (folder := _folder_of(name)) is not None}
    return _FINDER.format(places=places, position=0 if first else _LAST) + statement


def is_here(name: str) -> bool:
    """Whether a package can be lent."""
    return _folder_of(name) is not None


def _folder_of(name: str) -> str | None:
    """The folder that holds an installed package, found without importing it."""
    if name == PACKAGE:
        return _ROOT
    spec = PathFinder.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return str(Path(next(iter(spec.submodule_search_locations))).parent)
