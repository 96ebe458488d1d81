"""Modules under the names that they had before the package was put into layers.

Plug-ins and scripts that import a documented name of then go on working: the old name gives the same module object as
the new one.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # the package imports this module, and `typing` takes longer than all the rest
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

MOVED = {
    "api": "workflows.run",
    "builds": "execution.builds",
    "continuous": "workflows.watch.loop",
    "devices": "machine.devices",
    "environment": "machine.environment",
    "fetch.checkouts": "vcs.checkouts",
    "fetch.data": "fetch.downloads",
    "findings": "records.findings",
    "hosts": "execution.hosts",
    "images": "execution.images",
    "images.ordering": "execution.images.orders",
    "interop": "exchange",
    "interop.badge": "exchange.exporters.badge",
    "interop.posting": "exchange.perfzero_hook",
    "json_schema": "schema.json_schema",
    "marks": "decorator",
    "monitors": "machine.monitors",
    "pages.encoding": "pages.view_json",
    "pages.pairing": "pages.pairs",
    "profilers": "worker.profilers",
    "regress": "analysis.detection",
    "runtimes": "worker.runtimes",
    "schema.encoding": "schema.plain_values",
    "sources": "targets.sources",
    "stats.racing": "stats.race",
    "store.retention": "store.sql.retention",
    "uploads": "exchange.uploads",
    "workflows.judging": "workflows.judgement",
}


def current_name(name: str) -> str | None:
    """The name that a module has now, of one that it had before; None where nothing of that name was moved."""
    parts = name.split(".")[1:]
    for count in range(len(parts), 0, -1):
        if now := MOVED.get(".".join(parts[:count])):
            return ".".join(["benchwright", now, *parts[count:]])
    return None


class MovedModules:
    """A finder of modules that knows old names of ours, and nothing else."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith("benchwright.") or (now := current_name(name)) is None:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, _Alias(now))  # type: ignore[arg-type]  # `importlib.abc` costs milliseconds


class _Alias:
    """Loads the module of another name as it is: one module object for both names."""

    def __init__(self, now: str) -> None:
        self._now = now

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from importlib import import_module

        module = import_module(self._now)
        self._spec = module.__spec__  # the import system is about to write the old name's over it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec
        if self._now in _CALLED:
            module.__class__ = _CALLED[self._now]


class _FindingsModule(type(sys)):  # type: ignore[misc]  # `types.ModuleType`, without an import
    """A module that can be called as `benchwright.findings`: importing it binds its name in the place of the function.

    So `from benchwright.findings import Finding` and `benchwright.findings()` both hold, whichever comes first.
    """

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from benchwright.workflows.findings import findings

        return findings(*arguments, **named)


_CALLED = {"benchwright.records.findings": _FindingsModule}


def install() -> None:
    """Lets old names be imported."""
    if MovedModules not in sys.meta_path:
        # First: below an old package's name the usual search would load the same file a second time.
        sys.meta_path.insert(0, MovedModules)
