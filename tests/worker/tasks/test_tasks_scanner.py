from __future__ import annotations

import re
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchwright.worker.tasks.scanner import (
    LEARN,
    Block,
    Scanner,
    SoughtText,
    SpanningScanner,
    TooSlowError,
    limit_cpu_time,
    scanner,
)

PATTERNS = [
    r"v=(\S+)",
    r"\bv=(\d+)",
    r"(\d+) v",
    r"^v=(?P<a>\d+).*w=(?P<b>\d+)",
    r"v=\s*([^,]+)$",
    r"(?i)V=(\d)",
    r"v(?==)",
    r"[äv]=(\d)",
    r"v",
]
text_lines = st.lists(st.text(alphabet="vw=1 2,äV\té", max_size=12), max_size=60)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(lines=text_lines)
def test_a_block_gives_what_its_lines_give(pattern: str, lines: list[str]) -> None:
    expression = re.compile(pattern)
    expected = [hit for line in lines for hit in expression.findall(line)]
    columns = Scanner(pattern).scan(Block("".join(f"{line}\n" for line in lines).encode()))
    assert _rows(columns) == [hit if isinstance(hit, tuple) else (hit,) for hit in expected]


@given(text=st.binary(min_size=1, max_size=4), blocks=st.lists(st.binary(max_size=200), max_size=5))
def test_a_needle_finds_what_find_finds(text: bytes, blocks: list[bytes]) -> None:
    needle = SoughtText(text)
    assert [needle.find(block) for block in blocks] == [block.find(text) for block in blocks]


def test_a_needle_learns_anew_when_the_log_changes() -> None:
    needle = SoughtText(b"aq")
    rare, common = b"a" * 900 + b"aq", b"q" * 900 + b"aq"
    found = [needle.find(block) for block in [rare] * LEARN + [common] * (LEARN + 1)]
    assert set(found) == {900}


@pytest.mark.parametrize("pattern", [r"q=(\d+)", r"^q=(\d+)", r"(\d+) q"])
def test_hits_are_the_same_however_far_apart_they_lie(pattern: str) -> None:
    """Few lines are picked out, many are gone over at once; which it is may change with every block."""
    search, expression = Scanner(pattern), re.compile(pattern)
    for every in (2000, 1, 2000, 40, 7, 2000):
        lines = [f"q={i} 1 q=2" if i % every == 0 else "a line that says nothing" for i in range(3000)]
        expected = [(hit,) for line in lines for hit in expression.findall(line)]
        assert _rows(search.scan(Block("".join(f"{line}\n" for line in lines).encode()))) == expected


def test_bytes_that_are_no_utf_8_do_no_harm() -> None:
    assert Scanner(r"v=(\S+)").scan(Block(b"x\xff v=0.5\n")) == (["0.5"],)


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_hit_of_the_older_form_may_span_lines_wherever_they_are_cut(cut: int) -> None:
    text = "Epoch 1\nacc=5\nEpoch 2\nacc=7\n"
    at = text.index("\n", cut) + 1
    spanning = scanner(r"Epoch \d\s+acc=(\d+)", spanning=True)
    rows = [row for part in (text[:at], text[at:]) for row in _rows(spanning.scan(Block(part.encode())))]
    assert rows == [("5",), ("7",)]
    alone = scanner(r"Epoch \d\s+acc=(\d+)", spanning=False)
    assert not alone.scan(Block(text.encode()))


def test_what_a_spanning_search_holds_is_bounded() -> None:
    spanning = scanner(r"never\s+(\d+)", spanning=True)
    for _ in range(100):
        spanning.scan(Block(b"a line that says nothing of interest\n" * 1000))
    assert isinstance(spanning, SpanningScanner) and len(spanning._held) < 20_000


def _rows(columns: object) -> list[tuple[str, ...]]:
    assert isinstance(columns, list | tuple)
    return [tuple(map(_text, row)) for row in zip(*columns, strict=True)]


def _text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode()


@pytest.mark.parametrize("pattern", [r"v=([^-|]+)", r"v=([^-a]+)", r"v=([^]-]+)", r"v=([^a-]+)"])
def test_a_hyphen_in_a_negated_set_stays_a_hyphen(pattern: str) -> None:
    lines = ["v=3|x", "v=4", "w=1"]
    expected = [(hit,) for line in lines for hit in re.findall(pattern, line)]
    assert _rows(Scanner(pattern).scan(Block("".join(f"{line}\n" for line in lines).encode()))) == expected


def test_an_expression_that_never_ends_is_ended() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(TooSlowError), limit_cpu_time(0.05):
        re.search(r"(a+)+b", "a" * 60)
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_is_quick_is_left_alone() -> None:
    with limit_cpu_time(5):
        assert re.search(r"b", "ab")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_another_thread_goes_without_a_guard() -> None:
    found: list[bool] = []

    def work() -> None:
        with limit_cpu_time(0.001):
            found.append(bool(re.search(r"b", "ab")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
