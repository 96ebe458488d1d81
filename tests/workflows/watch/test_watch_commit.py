"""What the store says of a run that an earlier process began."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from benchwright.errors import StoreError
from benchwright.store import Store
from benchwright.workflows.watch.commit import known_cases


class Damaged:
    """A store with one run that cannot be read."""

    def run_ids(self) -> Iterator[str]:
        return iter(["there"])

    def run(self, run: str, **_: Any) -> None:
        raise StoreError("the stored document is damaged")


def test_only_a_run_that_is_not_there_was_never_begun() -> None:
    store = cast(Store, Damaged())
    assert known_cases(store, "") == known_cases(store, "elsewhere") == []
    with pytest.raises(StoreError, match="damaged"):
        known_cases(store, "there")
