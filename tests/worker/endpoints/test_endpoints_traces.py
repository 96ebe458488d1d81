"""Traces give their instants and lengths, and texts that share what the trace says is shared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import UserError
from benchwright.records import ResultWarning
from benchwright.worker.endpoints.exchanges import Exchange, ExchangeSpec, TokenRatio, make_exchanges

MOONCAKE: list[dict[str, Any]] = [
    {"timestamp": 0, "input_length": 1300, "output_length": 50, "hash_ids": [0, 1, 2]},
    {"timestamp": 0, "input_length": 700, "output_length": 60, "hash_ids": [0, 3]},
    {"timestamp": 3052, "input_length": 1400, "output_length": 70, "hash_ids": [0, 1, 4]},
    {"timestamp": 3052.5, "input_length": 300, "output_length": 80, "hash_ids": [5]},
    {"timestamp": 4000, "input_length": 600, "output_length": 90},
]
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:50.9951690,396,109\n"
    "2023-11-16 18:15:51.2225670,879,55\n"
)


def read(path: Path, content: str, count: int = 100, **fields: Any) -> list[Exchange]:
    path.write_text(content)
    return make_exchanges(ExchangeSpec(source=str(path), **fields), count)


def lines(*values: Any) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def words(exchange: Exchange) -> list[str]:
    return exchange.messages[0][1].split(" ")


def common(one: Exchange, other: Exchange) -> int:
    pairs = list(zip(words(one), words(other), strict=False))
    return next((place for place, (a, b) in enumerate(pairs) if a != b), len(pairs))


def test_mooncake_s_trace_keeps_its_instants_lengths_and_shared_blocks(tmp_path: Path) -> None:
    made = read(tmp_path / "a.jsonl", lines(*MOONCAKE))
    assert [each.at for each in made] == [0, 0, 3_052_000_000, 3_052_500_000, 4_000_000_000]
    assert [len(words(each)) for each in made] == [1300, 700, 1400, 300, 600]
    assert [each.input_tokens for each in made] == [1300, 700, 1400, 300, 600]
    assert [each.output_tokens for each in made] == [50, 60, 70, 80, 90]
    assert common(made[0], made[1]) == 512 and common(made[0], made[2]) == 1024
    assert max(common(made[3], each) for each in made if each is not made[3]) <= 3
    assert max(common(made[4], each) for each in made if each is not made[4]) <= 3


def test_a_block_that_is_cut_is_the_beginning_of_the_whole_one(tmp_path: Path) -> None:
    rows = [{"timestamp": 0, "input_length": n, "output_length": 1, "hash_ids": [7, 8]} for n in (600, 1024, 512, 100)]
    made = read(tmp_path / "a.jsonl", lines(*rows))
    assert [len(words(each)) for each in made] == [600, 1024, 512, 100]
    assert [common(made[1], each) for each in made] == [600, 1024, 512, 100]


def test_what_no_block_covers_is_each_request_s_own(tmp_path: Path) -> None:
    rows = [{"timestamp": 0, "input_length": 1000, "output_length": 1, "hash_ids": [7]}] * 2
    one, other = read(tmp_path / "a.jsonl", lines(*rows))
    assert len(words(one)) == len(words(other)) == 1000 and common(one, other) == 512


def test_the_same_seed_gives_the_same_texts(tmp_path: Path) -> None:
    content = lines(*MOONCAKE)
    assert read(tmp_path / "a.jsonl", content) == read(tmp_path / "b.jsonl", content)
    assert read(tmp_path / "a.jsonl", content, seed=1)[0].messages != read(tmp_path / "a.jsonl", content)[0].messages


def test_azure_s_trace_counts_from_its_first_request(tmp_path: Path) -> None:
    made = read(tmp_path / "a.csv", AZURE)
    assert [each.at for each in made] == [0, 4_314_579_000, 4_541_977_000]
    assert [(len(words(each)), each.output_tokens) for each in made] == [(374, 44), (396, 109), (879, 55)]
    later = AZURE.replace("0,374", "+00:00,374").replace("0,396", "+00:00,396").replace("0,879", "+00:00,879")
    assert [each.at for each in read(tmp_path / "b.csv", later)] == [each.at for each in made]


def test_burstgpt_s_trace_is_in_seconds(tmp_path: Path) -> None:
    content = (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n"
        "45,ChatGPT,1087,0,1087,Conversation log\n"
        "118,GPT-4,417,276,693,Conversation log\n"
    )
    (tmp_path / "a.csv").write_text(content)
    warnings: list[ResultWarning] = []
    made = make_exchanges(ExchangeSpec(source=str(tmp_path / "a.csv")), 10, warnings=warnings)
    assert [(each.at, each.input_tokens, each.output_tokens) for each in made] == [
        (0, 472, 18),
        (113_000_000_000, 417, 276),
    ]
    assert [warning.code for warning in warnings] == ["rows-skipped"] and "1 of the 3 requests" in warnings[0].seen


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_the_plain_form_may_be_lines_an_array_or_a_table(name: str, tmp_path: Path) -> None:
    rows = [
        {"seconds": 0.5, "input_tokens": 10, "output_tokens": 3},
        {"seconds": 1.75, "input_tokens": 20, "output_tokens": 4},
    ]
    table = "seconds,input_tokens,output_tokens\n0.5,10,3\n1.75,20,4\n"
    content = {"a.jsonl": lines(*rows), "a.json": json.dumps(rows), "a.csv": table}[name]
    made = read(tmp_path / name, content)
    assert [(each.at, len(words(each)), each.output_tokens) for each in made] == [(0, 10, 3), (1_250_000_000, 20, 4)]


def test_a_ratio_scales_texts_and_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(*MOONCAKE))
    ratio = TokenRatio(tokens_per_word=2.0, overhead=20)
    made = make_exchanges(ExchangeSpec(source=str(tmp_path / "a.jsonl")), 10, ratio=ratio)
    assert [len(words(each)) for each in made] == [640, 340, 690, 140, 290]
    assert [each.input_tokens for each in made] == [1300, 700, 1400, 300, 600]
    assert common(made[0], made[2]) == 512


def test_copies_share_a_trace_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(*MOONCAKE))
    spec = ExchangeSpec(source=str(tmp_path / "a.jsonl"))
    parts = [make_exchanges(spec, 4, copy=copy, copies=2) for copy in (0, 1)]
    assert sorted((each for part in parts for each in part), key=lambda each: each.session) == make_exchanges(spec, 4)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lines(MOONCAKE[2], MOONCAKE[0]), "a.jsonl:2: 'timestamp' lies before that of the row above it"),
        (lines({**MOONCAKE[0], "timestamp": -1}), "a.jsonl:1: 'timestamp' is '-1', no instant"),
        (lines({**MOONCAKE[0], "timestamp": "soon"}), "'timestamp' is 'soon', no instant"),
        (lines({**MOONCAKE[0], "timestamp": True}), "'timestamp' is 'True', no instant"),
        (lines({**MOONCAKE[0], "timestamp": 1e300}), "'timestamp' is '1e+300', no instant"),
        (lines({**MOONCAKE[0], "timestamp": 10**90}), "no instant"),
        (lines(MOONCAKE[0], {"timestamp": 1}), "a.jsonl:2: 'input_length' is 'None', not a number of tokens"),
        (lines({**MOONCAKE[0], "input_length": 10**9}), "'input_length' is '1000000000'"),
        (lines({**MOONCAKE[0], "input_length": 1.5}), "'input_length' is '1.5'"),
        (lines({**MOONCAKE[0], "output_length": None}), "'output_length' is 'None'"),
        (lines({**MOONCAKE[0], "hash_ids": 3}), "'hash_ids' is no list"),
        (lines({**MOONCAKE[0], "hash_ids": [True, 1.5]}), "'hash_ids' is no list"),
        (lines(MOONCAKE[0], [1]), "a.jsonl:2: it is no mapping"),
    ],
)
def test_what_is_wrong_in_a_trace_is_told_with_its_place(content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path / "a.jsonl", content)
    assert said in caught.value.message and caught.value.remedy


def test_a_date_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a\.csv:2: 'TIMESTAMP' is 'yesterday', no day and time"):
        read(tmp_path / "a.csv", AZURE.replace("2023-11-16 18:15:46.6805900", "yesterday"))
