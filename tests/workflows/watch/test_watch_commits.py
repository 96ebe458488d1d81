"""Which commits are taken, without a repository."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchwright.workflows.watch.commits import choose_between, name_of_branch, take_every, thin_out

LED = [str(i) for i in range(10)]


def test_every_nth_and_none_waits_for_a_successor() -> None:
    assert take_every([1, 2, 3, 4, 5, 6, 7], 3) == [3, 6]
    assert take_every([1, 2, 3], 3) == [3]
    assert take_every([1, 2], 3) == []
    assert take_every([1, 2], 1) == [1, 2]


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=1, max_value=50))
def test_of_many_a_few_are_taken_evenly_and_always_the_newest(count: int, most: int) -> None:
    chosen = thin_out(range(count), most)
    assert len(chosen) == min(count, most)
    assert chosen == sorted({*chosen})
    assert chosen[-1:] == [*range(count)][-1:]
    steps = [b - a for a, b in zip([-1, *chosen], chosen, strict=False)]
    assert max(steps, default=0) - min(steps, default=0) <= 1


def test_all_are_taken_when_nobody_minds() -> None:
    assert thin_out(range(100), 0) == [*range(100)]


def test_a_gap_is_halved_first() -> None:
    assert choose_between(LED, "0", "8", {"0", "8"}, 3) == ["4", "2", "6"]
    assert sorted(choose_between(LED, "0", "9", {"0", "9"}, 100)) == LED[1:9]
    assert choose_between(LED, "0", "8", {"0", "4", "8"}, 100)[:2] == ["2", "6"]


def test_a_branch_is_called_as_people_call_it() -> None:
    assert [name_of_branch(name) for name in ("main", "refs/heads/topic/a", "HEAD", ".")] == ["main", "topic/a", "", ""]


def test_there_may_be_no_gap() -> None:
    assert choose_between(LED, "3", "4", {"3", "4"}, 9) == []
    assert choose_between(LED, "3", "unknown", set(), 9) == []
    assert choose_between(LED, "8", "2", set(), 9) == []
    assert choose_between(LED, "0", "8", {"0", "8"}, 0) == []
