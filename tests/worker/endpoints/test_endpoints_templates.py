"""Events that differ by their text alone are read by a template; what is read is the same as without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.worker.endpoints import dialect, openai_answers
from benchwright.worker.endpoints.dialect import ChunkKind, RawAnswer, ReadAnswer, join_texts
from benchwright.worker.endpoints.event_templates import MOST_MISSES, TemplateReader
from benchwright.worker.endpoints.events import Event, read_events
from benchwright.worker.endpoints.traffic import Outcome

TAILS = [',"id": "c1"}', ',"usage": null}', ',"error": null}', ', "x": {"content": " a"}}']
TEXTS = [" a", "c1", "another text", '"', "\\", "\n", "é"]
DELTAS: list[dict[str, Any]] = [{}, {"role": "assistant"}, {"reasoning": "hm"}, {"tool_calls": [1]}]


def _event(content: Any, *, delta: dict[str, Any], finish: str | None, ascii_only: bool, tail: str) -> bytes:
    choice = {"index": 0, "delta": {**delta, "content": content}, "finish_reason": finish}
    body = json.dumps({"choices": [choice]}, ensure_ascii=ascii_only)[:-1] + tail
    return b"data: " + body.encode("utf-8", "surrogatepass") + b"\n\n"


def _read(pieces: list[bytes]) -> ReadAnswer:
    return openai_answers.read_stream(RawAnswer(status=200, end=99, pieces=list(enumerate(pieces))))


@settings(max_examples=80)
@given(
    st.lists(
        st.builds(
            _event,
            st.one_of(
                st.none(), st.text(max_size=6), st.sampled_from([" a", "c1", "another text", '"', "\\", "\n", "é"])
            ),
            delta=st.sampled_from(DELTAS),
            finish=st.sampled_from([None, None, None, "stop"]),
            ascii_only=st.booleans(),
            tail=st.sampled_from(TAILS),
        ),
        max_size=12,
    )
)
def test_a_template_changes_nothing_of_what_is_read(pieces: list[bytes]) -> None:
    known = _read(pieces)
    apart: ReadAnswer = ReadAnswer()
    for at, piece in enumerate(pieces):  # one event a stream: there is nothing to learn from
        alone = openai_answers.read_stream(RawAnswer(status=200, end=99, pieces=[(at, piece)]))
        apart.chunks += alone.chunks
        apart.text += alone.text
    assert known.chunks == apart.chunks
    assert known.text == apart.text or not known.text.isprintable()


def test_most_events_of_an_answer_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    read = dialect.read_json
    monkeypatch.setattr(openai_answers, "read_json", lambda text: parsed.append(text) or read(text))
    plain = {"delta": {}, "finish": None, "ascii_only": True, "tail": TAILS[0]}
    answer = _read([_event(f" word {i}", **plain) for i in range(50)] + [b"data: [DONE]\n\n"])  # type: ignore[arg-type]
    assert len(parsed) == 2 and answer.outcome is Outcome.OK
    assert [kind for _, kind, _, _ in answer.chunks] == [ChunkKind.CONTENT] * 50 + [ChunkKind.DONE]
    assert answer.text.startswith(" word 0 word 1") and answer.chunks[7] == (7, 2, len(" word 7"), -1)


def test_events_that_differ_in_more_than_their_text_are_soon_left_alone() -> None:
    parsed = []
    reader = TemplateReader(lambda data: parsed.append(data), lambda told: (2, "another text"))
    for i in range(10):
        assert reader.match(b'{"id": %d, "c": "a%d"}' % (i, i)) is None
        reader.learn(b'{"id": %d, "c": "a%d"}' % (i, i), 2, f"a{i}")
    assert len(parsed) == MOST_MISSES


def test_halves_of_a_sign_that_are_sent_apart_are_one_sign() -> None:
    halves = [
        _event(half, delta={}, finish=None, ascii_only=True, tail=TAILS[0]) for half in ("\ud83d", "\ude00", "\ud83d")
    ]
    answer = _read([*halves, b"data: [DONE]\n\n"])
    assert answer.outcome is Outcome.OK and answer.text == "\U0001f600\ufffd"
    assert [size for _, _, size, _ in answer.chunks] == [3, 3, 3, 0]
    assert join_texts(["a", "b"]) == "ab"


def test_a_piece_that_is_one_event_is_read_as_its_lines_would_be() -> None:
    whole = b"data: 1\n\ndata: \n\nevent: error\ndata: 2\n\ndata: 3\ndata: 4\n\n: note\n\ndata: 5\r\n\r\ndata: 6\n\n"
    for cut in range(1, len(whole)):
        found = list(read_events([(0, whole[:cut]), (1, whole[cut:])]))
        assert [(one.kind, one.data) for one in found] == [
            *(("", b"1"), ("", b""), ("error", b"2"), ("", b"3\n4"), ("", b"5"), ("", b"6"))
        ]
    one_by_one = [Event(0, "", b"1"), Event(1, "", b"2\n3"), Event(2, "", b"4")]
    assert (
        list(read_events([(0, b"data: 1\n\n"), (0, b"data: 2\n"), (1, b"data: 3\n\n"), (2, b"data: 4\n\n")]))
        == one_by_one
    )
