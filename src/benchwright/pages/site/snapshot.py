"""An archive that stands still: hundreds of pages ask it the same, and all should tell of the same moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from benchwright.store.archive import Archive

# Small answers that many pages ask for. Whole runs and series are asked for once, and would fill the memory.
_REMEMBERED = frozenset(
    {
        "case_names",
        "environments",
        "findings",
        "machines",
        "metric_names",
        "newest_values",
        "outcomes",
        "runs_page",
        "subjects",
        "totals",
    }
)


def still(archive: Archive) -> Archive:
    """The same archive, which answers the same question twice alike."""
    return cast(Archive, _Still(archive))


class _Still:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._told: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._archive, name)
        return self._remembering(name, verb) if name in _REMEMBERED else verb

    def _remembering(self, name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any, **named: Any) -> Any:
            key = repr((name, arguments, sorted(named.items())))
            if key not in self._told:
                self._told[key] = verb(*arguments, **named)
            return self._told[key]

        return asked
