from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.compat.harness.specs.loader import OverriddenValue, merge_mappings


def test_the_nearer_scalar_stays_mappings_recurse_and_lists_are_joined() -> None:
    near = {"a": 1, "deep": {"x": 1}, "list": [1, 2]}
    far = {"a": 2, "deep": {"x": 5, "y": 2}, "list": [2, 3], "new": 0}

    found, hidden = merge_mappings(near, far)

    assert found == {"a": 1, "deep": {"x": 1, "y": 2}, "list": [1, 2, 2, 3], "new": 0}
    assert hidden == (
        OverriddenValue(path=("a",), kept=1, hidden=2),
        OverriddenValue(path=("deep", "x"), kept=1, hidden=5),
    )


def test_the_rule_of_early_2018_adds_only_missing_items() -> None:
    assert merge_mappings({"list": [1, 2]}, {"list": [2, 3]}, missing_only=True)[0] == {"list": [1, 2, 3]}


_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
_MAPPINGS = st.dictionaries(st.sampled_from("xyz"), _VALUES, max_size=3)


@settings(max_examples=60, deadline=None)
@given(near=_MAPPINGS, far=_MAPPINGS)
def test_merging_loses_nothing_near_and_hides_what_differs(near: dict[str, Any], far: dict[str, Any]) -> None:
    before = copy.deepcopy((near, far))

    found, hidden = merge_mappings(near, far)

    assert (near, far) == before
    assert found.keys() == near.keys() | far.keys()
    for key, value in near.items():
        if not isinstance(value, dict | list):
            assert found[key] == value
            assert any(one.path == (key,) for one in hidden) == (key in far and far[key] != value)
    assert merge_mappings(near, {}) == (near, ())
