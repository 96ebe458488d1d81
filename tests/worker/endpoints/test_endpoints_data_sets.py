"""Data sets in every form that is known give their prompts; what is wrong in a file is told with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import UserError
from benchwright.records import ResultWarning
from benchwright.worker.endpoints import data_files
from benchwright.worker.endpoints.exchanges import Exchange, ExchangeSpec, make_exchanges

TALK = [
    {"from": "human", "value": "Hello?"},
    {"from": "gpt", "value": "Hello."},
    {"from": "human", "value": "And now?"},
    {"from": "gpt", "value": "Nothing."},
]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello?"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": "Nothing."},
]


def lines(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def read(folder: Path, name: str, content: str | bytes, count: int = 100, **fields: Any) -> list[Exchange]:
    file, _, column = name.partition("::")
    (folder / file).write_bytes(content.encode() if isinstance(content, str) else content)
    source = f"{folder / file}::{column}" if column else str(folder / file)
    return make_exchanges(ExchangeSpec(source=source, **fields), count)


def texts(made: list[Exchange]) -> list[str]:
    return [each.messages[-1][1] for each in made]


@pytest.mark.parametrize("key", ["prompt", "text", "input", "question"])
def test_a_prompt_stands_under_any_of_its_names(key: str, tmp_path: Path) -> None:
    made = read(tmp_path, "a.jsonl", lines({key: "one"}, {key: "twö"}))
    assert texts(made) == ["one", "twö"]
    assert [(each.session, each.turn, each.output_tokens, each.input_tokens) for each in made] == [
        (0, 0, 64, None),
        (1, 0, 64, None),
    ]


@pytest.mark.parametrize("key", ["output_tokens", "max_tokens", "max_completion_tokens", "output_length"])
def test_a_row_says_how_much_to_ask_for(key: str, tmp_path: Path) -> None:
    made = read(tmp_path, "a.jsonl", lines({"prompt": "a", key: 12, "input_tokens": 3}, {"prompt": "b"}))
    assert [(each.input_tokens, each.output_tokens) for each in made] == [(3, 12), (None, 64)]


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "json", "json.gz", "ndjson", "other"])
def test_lines_arrays_and_packed_files_are_told_apart(form: str, tmp_path: Path) -> None:
    values = [{"prompt": "one"}, {"prompt": "two"}]
    content = (json.dumps(values, indent=1) if form.startswith("json.") or form == "json" else lines(*values)).encode()
    made = read(tmp_path, f"a.{form}", gzip.compress(content) if form.endswith("gz") else b"\xef\xbb\xbf" + content)
    assert texts(made) == ["one", "two"]


def test_plain_text_is_a_prompt_a_line(tmp_path: Path) -> None:
    assert texts(read(tmp_path, "a.txt", "one\r\n\n  \n{two}\nthree")) == ["one", "{two}", "three"]


def test_a_list_of_texts_is_a_list_of_prompts(tmp_path: Path) -> None:
    assert texts(read(tmp_path, "a.json", '["one", "two"]')) == ["one", "two"]


def test_a_column_of_csv_is_named_or_found(tmp_path: Path) -> None:
    content = 'id,question,long\n1,"a, ""b""\nc",x\n2,d,y\n'
    assert texts(read(tmp_path, "a.csv", content)) == ['a, "b"\nc', "d"]
    assert texts(read(tmp_path, "a.csv::long", content)) == ["x", "y"]


def test_the_first_question_of_a_dialogue_is_asked(tmp_path: Path) -> None:
    (made,) = read(tmp_path, "a.json", json.dumps([{"id": "x", "conversations": TALK}]))
    assert made.messages == (("user", "Hello?"),)


@pytest.mark.parametrize(("turns", "count"), [("2", 2), ("all", 2), ("5", 2), ("uniform(1,1)", 1)])
def test_turns_of_a_dialogue_have_the_answers_of_the_file_before_them(turns: str, count: int, tmp_path: Path) -> None:
    made = read(tmp_path, "a.jsonl", lines({"conversations": TALK}), turns=turns)
    assert [each.turn for each in made] == [*range(count)] and {each.session for each in made} == {0}
    assert made[0].messages == (("user", "Hello?"),)
    if count == 2:
        assert made[1].messages == (("user", "Hello?"), ("assistant", "Hello."), ("user", "And now?"))


def test_messages_are_sent_up_to_the_last_question(tmp_path: Path) -> None:
    (made,) = read(tmp_path, "a.jsonl", lines({"messages": CHAT}))
    assert [role for role, _ in made.messages] == ["system", "user", "assistant", "user"] and made.body is None
    first, second = read(tmp_path, "a.jsonl", lines({"messages": CHAT}), turns="all")
    assert [role for role, _ in first.messages] == ["system", "user"] and second.messages == made.messages


def test_a_prompt_may_be_a_list_of_messages(tmp_path: Path) -> None:
    (made,) = read(tmp_path, "a.jsonl", lines({"prompt": CHAT[:2]}))
    assert made.messages == (("system", "Be brief."), ("user", "Hello?"))


def test_images_in_messages_stay_in_a_body(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    (made,) = read(tmp_path, "a.jsonl", lines({"messages": [{"role": "user", "content": parts}]}))
    assert made.messages == (("user", "What?"),)
    assert made.body == {"messages": [{"role": "user", "content": parts}]}


def test_a_batch_line_is_sent_as_it_is(tmp_path: Path) -> None:
    body = {"model": "m", "messages": CHAT[:2], "max_tokens": 9, "temperature": 0.5}
    row = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    embed = {"custom_id": "2", "body": {"input": ["a", "b"]}}
    chat, other = read(tmp_path, "a.jsonl", lines(row, embed))
    assert (chat.body, chat.output_tokens, chat.messages[-1]) == (body, 9, ("user", "Hello?"))
    assert (other.body, other.messages) == ({"input": ["a", "b"]}, ())


def test_rows_may_have_instants(tmp_path: Path) -> None:
    made = read(tmp_path, "a.jsonl", lines({"prompt": "a", "seconds": 5}, {"prompt": "b", "seconds": 5.25}))
    assert [each.at for each in made] == [0, 250_000_000]


def test_rows_that_ask_nothing_are_left_out_and_told(tmp_path: Path) -> None:
    rows = [{"conversations": []}, {"conversations": TALK[1:2]}, {"conversations": TALK[1:]}, {"prompt": " "}]
    (tmp_path / "a.jsonl").write_text(lines(*rows))
    warnings: list[ResultWarning] = []
    made = make_exchanges(ExchangeSpec(source=str(tmp_path / "a.jsonl")), 10, warnings=warnings)
    assert texts(made) == ["And now?"]
    (warning,) = warnings
    assert warning.code == "rows-skipped" and "3 of the 4 rows" in warning.seen


def test_no_more_is_read_than_is_asked_for(tmp_path: Path) -> None:
    content = lines({"prompt": "a"}, {"prompt": "b"}) + "this is not JSON\n"
    assert texts(read(tmp_path, "a.jsonl", content, count=2)) == ["a", "b"]
    made = read(tmp_path, "b.jsonl", lines({"conversations": TALK}, {"conversations": TALK}), count=3, turns="all")
    assert [(each.session, each.turn) for each in made] == [(0, 0), (0, 1), (1, 0)]


def test_copies_share_a_file_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(*({"conversations": TALK} for _ in range(5))))
    spec = ExchangeSpec(source=str(tmp_path / "a.jsonl"), turns="all", output_tokens="uniform(1,1000)")
    parts = [make_exchanges(spec, 9, copy=copy, copies=2) for copy in (0, 1)]
    whole = sorted((each for part in parts for each in part), key=lambda each: (each.session, each.turn))
    assert whole == make_exchanges(spec, 9)
    assert len({each.output_tokens for each in whole}) > 3


WRONG: dict[str, tuple[str, str | bytes, dict[str, Any], str]] = {
    "a file that is not there": ("", b"", {"source": "nowhere.jsonl"}, "nowhere.jsonl: No such file"),
    "a folder": ("", b"", {"source": "/"}, "/: Is a directory"),
    "a name that no file has": ("", b"", {"source": "a\0b"}, "null byte"),
    "an empty file": ("a.jsonl", "", {}, "a.jsonl: it holds no request"),
    "an unknown form": ("a.parquet", "PAR1....", {}, "a.parquet: its ending and its beginning tell no form"),
    "no JSON": ("a.jsonl", '{"prompt": "a"}\n{"prompt": \n', {}, "a.jsonl:2: not JSON"),
    "no mapping": ("a.jsonl", "[1]\n", {}, "a.jsonl: item 1"),
    "a number": ("a.jsonl", '{"prompt": "a"}\n5\n', {}, "a.jsonl:2: it is no mapping and no text"),
    "no prompt": ("a.jsonl", '{"promt": "a"}\n', {}, "a.jsonl:1: no prompt in it, but promt"),
    "a prompt that is none": ("a.jsonl", '{"prompt": 5}\n', {}, "a.jsonl:1: 'prompt' is no text"),
    "half a character": ("a.jsonl", '{"prompt": "\\ud800"}\n', {}, "a.jsonl:1: half of a character"),
    "half a character in a body": ("a.jsonl", '{"body": {"a": "\\udc00"}}\n', {}, "a.jsonl:1: half of a character"),
    "not UTF-8": ("a.jsonl", b'{"prompt": "a"}\n{"prompt": "\xff"}\n', {}, "a.jsonl:2: not UTF-8"),
    "not UTF-8 in an array": ("a.json", b'["a", "\xff"]', {}, "a.json: not UTF-8"),
    "too deep": ("a.jsonl", '{"prompt": ' + "[" * 500 + "]" * 500 + "}", {}, "a.jsonl:1: lists and mappings"),
    "a length that is none": (
        "a.jsonl",
        '{"prompt": "a", "max_tokens": "many"}',
        {},
        "a.jsonl:1: 'max_tokens' is 'many'",
    ),
    "a length below one": ("a.jsonl", '{"prompt": "a", "max_tokens": 0}', {}, "a.jsonl:1: 'max_tokens' is '0'"),
    "a length with a share": ("a.jsonl", '{"prompt": "a", "max_tokens": 1.5}', {}, "'max_tokens' is '1.5'"),
    "an unknown speaker": ("a.jsonl", '{"conversations": [{"from": "cat", "value": ""}]}', {}, "'cat' is nobody"),
    "an unknown role": ("a.jsonl", '{"messages": [{"role": "cat", "content": ""}]}', {}, "'cat' is no role"),
    "messages that are none": ("a.jsonl", '{"messages": "hello"}', {}, "'messages' is no list of mappings"),
    "content that is none": ("a.jsonl", '{"messages": [{"role": "user", "content": 5}]}', {}, "'content' is no text"),
    "a body that is none": ("a.jsonl", '{"body": []}', {}, "'body' is no mapping"),
    "an unknown column": ("a.csv::b", "prompt\nx\n", {}, "a.csv:2: there is no 'b' in it"),
    "a row with more fields": ("a.csv", "prompt\nx,y\n", {}, "a.csv:2: 2 fields below 1 columns"),
    "instants out of order": (
        "a.jsonl",
        lines({"prompt": "a", "seconds": 2}, {"prompt": "b", "seconds": 1}),
        {},
        ":2: ",
    ),
    "no length to ask for": (
        "a.jsonl",
        lines({"conversations": TALK}),
        {"output_tokens": "trace"},
        "does not say how many",
    ),
    "packed and cut off": ("a.jsonl.gz", gzip.compress(b'{"prompt": "a"}\n' * 99)[:-9], {}, "it is cut off"),
    "packed and absurd": ("a.jsonl.gz", gzip.compress(b" " * (40 << 20)), {}, "500 times its size"),
    "absurd in an array": ("a.json.gz", gzip.compress(b"[" + b" " * (40 << 20)), {}, "500 times its size"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_ends_in_a_sentence_with_its_place(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, content, fields, said = WRONG[name]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        if "source" in fields:
            make_exchanges(ExchangeSpec(**fields), 100)
        else:
            read(Path(), file, content, **fields)
    assert said in caught.value.message and caught.value.remedy
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt", "a.csv"])
def test_rows_are_bounded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "LONGEST_ROW", 1000)
    content = {"a.jsonl": '{"prompt": "%s"}', "a.json": '["%s"]', "a.txt": "%s", "a.csv": 'prompt\n"%s"\n'}[name]
    assert texts(read(tmp_path, name, content % ("x" * 400))) == ["x" * 400]
    with pytest.raises(UserError, match=r"a\.(jsonl:1|json: item 1|txt:1|csv:2): "):
        read(tmp_path, name, content % ("x" * 2_000_000))


def test_a_quotation_mark_that_does_not_end_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "LONGEST_ROW", 1000)
    with pytest.raises(UserError, match="field limit"):
        read(tmp_path, "a.csv", 'prompt\n"' + "xxxx\n" * 1000)
