"""Texts have exactly the tokens that were asked for, as a real tokenizer counts them, whatever kind it is."""

from __future__ import annotations

import builtins
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from benchwright.errors import NotInstalledError, OptionError
from benchwright.worker.endpoints import exact_passages, tokens
from benchwright.worker.endpoints.exact_passages import ExactWriter
from benchwright.worker.endpoints.exchanges import ExchangeSpec, TokenRatio, make_exchanges
from benchwright.worker.endpoints.passages import Passage
from benchwright.worker.endpoints.tokens import TokenCounter
from benchwright.worker.endpoints.vocabulary import WORDS


def byte_level(size: int) -> Tokenizer:
    """As GPT's and Llama 3's: bytes, and a space belongs to the word behind it. A small one has few whole words."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator([*WORDS, *WORDS, " ".join(WORDS), " ".join(WORDS)], trainer)
    return made


def across_words() -> Tokenizer:
    """Merges over the borders of words: nothing splits the text before them, and common pairs become one token."""
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.Replace(" ", "_")
    trainer = trainers.BpeTrainer(vocab_size=600, show_progress=False)
    made.train_from_iterator([" ".join(WORDS[i : i + 2]) for i in range(1000)], trainer)
    return made


def letters() -> Tokenizer:
    """Every letter and every space is a token."""
    signs = {sign: place for place, sign in enumerate(" abcdefghijklmnopqrstuvwxyz.?")}
    made = Tokenizer(models.WordLevel(signs, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return made


def pieces() -> Tokenizer:
    """As BERT's: spaces vanish."""
    known = {word: place for place, word in enumerate(["[UNK]", *WORDS])}
    made = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


def only_behind() -> Tokenizer:
    """Words are one token behind a space, and two at the front of a text."""
    known = {word: place for place, word in enumerate(["?", *(f" {word}" for word in WORDS)])}
    made = Tokenizer(models.WordLevel({**known, "#": len(known)}, unk_token="?"))
    made.normalizer = normalizers.Replace(Regex("^(?=[^ ])"), "# ")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_next")
    return made


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte level": lambda: byte_level(6000),
    "byte level, small": lambda: byte_level(700),
    "merges across words": across_words,
    "letters": letters,
    "word pieces": pieces,
    "one only behind a space": only_behind,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for name, make in KINDS.items():
        made[name] = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
        make().save(str(made[name]))
    return made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_every_text_has_exactly_its_tokens(kind: str, shared: float, files: dict[str, Path]) -> None:
    judge = Tokenizer.from_file(str(files[kind]))
    for length in ("1", "2", "3", "17", "128", "uniform(1,700)"):
        spec = ExchangeSpec(input_tokens=length, shared=shared, tokenizer=str(files[kind]))
        made = make_exchanges(spec, 20)
        counted = [len(judge.encode(each.messages[0][1], add_special_tokens=False)) for each in made]
        assert counted == [each.input_tokens for each in made]
        if not length.startswith("uniform") and (kind, length) != ("one only behind a space", "1"):
            assert {*counted} == {int(length)}, (kind, length)


def test_shared_fronts_stay_shared_and_the_rest_differs(files: dict[str, Path]) -> None:
    judge = Tokenizer.from_file(str(files["byte level"]))
    spec = ExchangeSpec(input_tokens="100", shared=0.4, tokenizer=str(files["byte level"]))
    ids = [judge.encode(each.messages[0][1]).ids for each in make_exchanges(spec, 30)]
    for one, other in itertools.combinations(ids, 2):
        assert one[:40] == other[:40] and one[40] != other[40]


def test_conversations_and_traces_are_exact_too(files: dict[str, Path], tmp_path: Path) -> None:
    counter = TokenCounter(files["byte level, small"].parent)
    spec = ExchangeSpec(
        input_tokens="30", output_tokens="11", turns="3", tokenizer=str(files["byte level, small"].parent)
    )
    made = make_exchanges(spec, 3, ratio=TokenRatio(overhead=5, per_message=2))
    assert counter.count_all([text for _, text in made[2].messages]) == [25, 9, 28, 9, 28]
    assert made[2].input_tokens == 25 + 9 + 28 + 9 + 28 + 5 + 4 * 2
    rows = [{"timestamp": 0, "input_length": n, "output_length": 1, "hash_ids": [1, 2]} for n in (600, 1200, 100)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    traced = make_exchanges(ExchangeSpec(source=str(tmp_path / "a.jsonl"), tokenizer=spec.tokenizer), 3)
    assert [counter.count(each.messages[0][1]) for each in traced] == [600, 1200, 100]


def test_texts_of_files_are_counted(files: dict[str, Path], tmp_path: Path) -> None:
    talk = [{"from": "human", "value": "one two three"}, {"from": "gpt", "value": "four five"}]
    (tmp_path / "a.jsonl").write_text(json.dumps({"conversations": talk}))
    spec = ExchangeSpec(source=str(tmp_path / "a.jsonl"), output_tokens="trace", tokenizer=str(files["letters"]))
    (made,) = make_exchanges(spec, 5)
    assert (made.input_tokens, made.output_tokens) == (13, 9)


class Proper:
    """Counts words, until it is told to be odd; remembers how many texts it counted."""

    def __init__(self) -> None:
        self.counted = 0
        self.is_odd = False

    def count_all(self, texts: Sequence[str]) -> list[int]:
        self.counted += len(texts)
        return [len(text.split()) + (self.is_odd and len(text) % 3 == 0) for text in texts]


def test_who_was_right_for_long_is_sampled_until_a_sample_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_passages, "_TRUSTED", 5000)
    counter = Proper()
    writer = ExactWriter(1, counter)

    def write(first: int) -> int:
        before = counter.counted
        texts = writer.write([Passage(tokens=50, key=f"{first} {i}", number=first + i) for i in range(64)])
        assert {text.tokens for text in texts} == {50}
        return counter.counted - before

    assert write(0) == write(64) == 64
    assert [write(64 * i) for i in range(2, 30)] == [1] * 28
    counter.is_odd = True
    assert any(write(64 * i) > 64 for i in range(30, 60))


def test_what_the_file_says_of_truncation_and_padding_does_not_count(tmp_path: Path) -> None:
    made = pieces()
    made.enable_truncation(5)
    made.enable_padding(length=50)
    made.save(str(tmp_path / "tokenizer.json"))
    counter = TokenCounter(tmp_path)
    assert counter.count(" ".join(WORDS[:20])) == 20 and counter.count("") == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nowhere.json", None, "nowhere.json: No such file"),
        (".", None, "tokenizer.json: No such file"),
        ("a\0b", None, "null"),
        ("a.json", b"", "it is no tokenizer"),
        ("a.json", b'{"model": {}}', "it is no tokenizer"),
        ("a.json", b"\xff\xfe", "it is no tokenizer"),
        ("a.json", b"[" * 100_000, "it is no tokenizer"),
    ],
)
def test_a_file_that_is_no_tokenizer_is_refused(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(OptionError, match=said) as caught:
        TokenCounter(f"{tmp_path}/{name}")
    assert "--tokenizer" in str(caught.value) and len(str(caught.value)) < 800


def test_what_is_too_large_is_refused(files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "LONGEST_TEXT", 1000)
    with pytest.raises(OptionError, match="1,001 characters"):
        TokenCounter(files["letters"]).count("a" * 1001)
    monkeypatch.setattr(tokens, "LARGEST", 10)
    with pytest.raises(OptionError, match="more than 10 bytes"):
        TokenCounter(files["letters"])


def test_many_texts_are_counted_in_parts(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_TOGETHER", 10)
    texts = ["a" * (place % 23) for place in range(50)]
    assert TokenCounter(files["letters"]).count_all(texts) == [len(text) for text in texts]


def test_a_package_that_is_missing_is_named(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *others: Any, **more: Any) -> Any:
        if name == "tokenizers":
            raise ImportError(name)
        return real(name, *others, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NotInstalledError, match=r"pip install 'benchwright\[tokens\]'"):
        TokenCounter(files["letters"])
