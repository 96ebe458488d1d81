"""Synthetic prompts have the lengths that were asked for, differ from their first words on, and are always the same."""

from __future__ import annotations

import itertools
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.errors import OptionError
from benchwright.worker.endpoints.exchanges import Exchange, ExchangeSpec, TokenRatio, make_exchanges
from benchwright.worker.endpoints.vocabulary import HEAD, WORDS, WordSource, first_words
from hunting import examples


def words_of(exchange: Exchange) -> list[str]:
    return exchange.messages[-1][1].split(" ")


def common_words(one: Exchange, other: Exchange) -> int:
    pairs = zip(words_of(one), words_of(other), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def test_the_vocabulary_is_of_plain_words() -> None:
    assert len(WORDS) == len({*WORDS}) == 1024
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)


@settings(max_examples=examples(60), deadline=None)
@given(words=st.integers(1, 3000), key=st.text(max_size=10), number=st.none() | st.integers(0, 1024**3 - 1))
def test_a_text_has_so_many_words(words: int, key: str, number: int | None) -> None:
    source = WordSource(WORDS)
    text = source.text(key, words, number)
    assert len(text.split(" ")) == words and {*text.split(" ")} <= {*WORDS}
    assert text == source.text(key, words, number)
    assert first_words(text, 5) == " ".join(text.split(" ")[:5])


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 1024**3 - 1), min_size=2, max_size=30, unique=True))
def test_numbered_texts_differ_within_their_first_words(numbers: list[int]) -> None:
    source = WordSource(WORDS)
    heads = [first_words(source.text("same", 10, number), HEAD) for number in numbers]
    assert len({*heads}) == len(numbers)


@settings(max_examples=examples(40), deadline=None)
@given(tokens=st.integers(1, 2000), seed=st.integers(0, 2**63), count=st.integers(1, 70))
def test_prompts_have_the_tokens_and_differ_from_the_first_word_on(tokens: int, seed: int, count: int) -> None:
    made = make_exchanges(ExchangeSpec(input_tokens=str(tokens), output_tokens="7", seed=seed), count)
    assert len(made) == count
    assert {(len(words_of(each)), each.input_tokens, each.output_tokens) for each in made} == {(tokens, tokens, 7)}
    assert len({words_of(each)[0] for each in made}) == count
    assert [each.session for each in made] == [*range(count)] and {each.turn for each in made} == {0}
    assert {each.messages[0][0] for each in made} == {"user"}


def test_of_very_many_prompts_no_two_share_more_than_two_words() -> None:
    made = make_exchanges(ExchangeSpec(input_tokens="4"), 3000)
    assert len({tuple(words_of(each)[:2]) for each in made}) == 3000


def test_another_seed_gives_other_prompts() -> None:
    one, other = (make_exchanges(ExchangeSpec(seed=seed), 50) for seed in (1, 2))
    assert {each.messages for each in one}.isdisjoint(each.messages for each in other)
    assert max(common_words(a, b) for a in one for b in other) <= HEAD


def test_prompts_are_the_same_everywhere_and_forever() -> None:
    spec = ExchangeSpec(input_tokens="normal(60,20)", turns="uniform(1,4)", shared=0.3, seed=5)
    digest = sha256(repr([each.messages for each in make_exchanges(spec, 40)]).encode()).hexdigest()
    assert digest[:16] == "130a3c7b64a32649", "servers get other prompts now: say so in CHANGELOG.md"


def test_a_stated_share_is_common_to_all_and_the_rest_is_not() -> None:
    made = make_exchanges(ExchangeSpec(input_tokens="100", shared=0.4), 50)
    assert {common_words(a, b) for a, b in itertools.combinations(made, 2)} == {40}
    assert {len(words_of(each)) for each in made} == {100}


def test_of_prompts_of_different_lengths_each_has_its_share_in_common() -> None:
    made = make_exchanges(ExchangeSpec(input_tokens="uniform(10,2000)", shared=0.5), 40)
    for one, other in itertools.combinations(made, 2):
        shorter = min(round(0.5 * len(words_of(each))) for each in (one, other))
        assert common_words(one, other) >= shorter - HEAD
        assert common_words(one, other) <= shorter + HEAD


def test_all_in_common_is_one_prompt() -> None:
    assert len({each.messages for each in make_exchanges(ExchangeSpec(shared=1.0), 20)}) == 1


def test_a_ratio_scales_the_words_and_leaves_room_for_the_template() -> None:
    ratio = TokenRatio(tokens_per_word=1.25, overhead=28)
    (made,) = make_exchanges(ExchangeSpec(input_tokens="128"), 1, ratio=ratio)
    assert (len(words_of(made)), made.input_tokens) == (80, 128)
    (least,) = make_exchanges(ExchangeSpec(input_tokens="5"), 1, ratio=ratio)
    assert (len(words_of(least)), least.input_tokens) == (1, 29)


def test_turns_build_on_the_turns_before() -> None:
    ratio = TokenRatio(overhead=10, per_message=4)
    made = make_exchanges(ExchangeSpec(input_tokens="50", output_tokens="20", turns="3"), 7, ratio=ratio)
    assert [(each.session, each.turn) for each in made] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0)]
    assert [len(each.messages) for each in made[:3]] == [1, 3, 5]
    assert made[2].messages[:3] == made[1].messages and made[1].messages[:1] == made[0].messages
    assert [role for role, _ in made[2].messages] == ["user", "assistant", "user", "assistant", "user"]
    assert [len(text.split()) for _, text in made[2].messages] == [40, 16, 46, 16, 46]
    assert [each.input_tokens for each in made[:3]] == [50, 120, 190]
    texts = [text for each in made if each.turn == 2 for _, text in each.messages]
    assert len({*texts}) == len(texts)


@pytest.mark.parametrize("turns", ["1", "3", "uniform(1,5)"])
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_together_send_what_one_would(turns: str, copies: int) -> None:
    spec = ExchangeSpec(input_tokens="uniform(5,50)", turns=turns, shared=0.2, seed=3)
    whole = make_exchanges(spec, 41)
    parts = [make_exchanges(spec, 41, copy=copy, copies=copies) for copy in range(copies)]
    assert len(whole) == 41 and all(parts)
    assert sorted(itertools.chain(*parts), key=lambda each: (each.session, each.turn)) == whole


@pytest.mark.parametrize(
    ("fields", "count", "said"),
    [
        ({"shared": 1.5}, 1, "--shared-prefix: 1.5"),
        ({"shared": float("nan")}, 1, "--shared-prefix: nan"),
        ({"turns": "0"}, 1, "--turns: '0'"),
        ({"turns": "all"}, 1, "--turns: 'all' is no length"),
        ({"input_tokens": "trace"}, 1, "--input-tokens: 'trace' is no length"),
        ({}, 0, "0 requests are outside"),
        ({}, 10**8, "100,000,000 requests are outside"),
        ({"input_tokens": "1000000"}, 10**5, "of text; at most 4 GiB"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything_is(fields: dict, count: int, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        make_exchanges(ExchangeSpec(**fields), count)
    assert said in caught.value.message and caught.value.remedy
