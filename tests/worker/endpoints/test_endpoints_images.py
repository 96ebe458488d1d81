"""Images are right PNG files of the size that was asked for, each unlike the others."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from benchwright.errors import OptionError
from benchwright.worker.endpoints.exchanges import ExchangeSpec, make_exchanges
from benchwright.worker.endpoints.images import KINDS, data_url, image_message, make_png, parse_image_size
from hunting import examples


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from(KINDS), st.integers(0, 2**63))
def test_another_reader_sees_an_image_of_that_size(width: int, height: int, kind: str, seed: int) -> None:
    with Image.open(io.BytesIO(make_png(width, height, seed=seed, kind=kind))) as image:
        image.load()
        assert (image.format, image.size, image.mode) == ("PNG", (width, height), "RGB")


@pytest.mark.parametrize("kind", KINDS)
def test_images_differ_by_seed_and_number_and_are_the_same_again(kind: str) -> None:
    made = [make_png(64, 48, seed=seed, number=number, kind=kind) for seed in (0, 1) for number in range(20)]
    assert len({*made}) == 40
    assert make_png(64, 48, seed=1, number=3, kind=kind) == made[23]


def test_noise_has_the_size_of_its_pixels_and_a_gradient_is_small() -> None:
    pixels = 512 * 512 * 3
    assert pixels < len(make_png(512, 512, kind="noise")) < 1.01 * pixels
    assert len(make_png(512, 512)) < pixels / 20


def test_neighbours_in_a_gradient_are_alike() -> None:
    for seed in range(5):
        with Image.open(io.BytesIO(make_png(300, 280, seed=seed))) as image:
            shades = np.asarray(image).astype(int)
        for axis in (0, 1):
            steps = np.diff(shades, axis=axis) % 256  # a shade goes on from 255 to 0
            assert steps.max() <= 1 and steps.sum() > 0


def test_a_message_holds_its_images() -> None:
    png = make_png(8, 8)
    message = image_message("What?", [png])
    image, text = message["content"]
    assert text == {"type": "text", "text": "What?"} and message["role"] == "user"
    head, _, body = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64" and base64.b64decode(body) == png
    assert data_url(b"") == "data:image/png;base64,"


def test_prompts_may_have_images() -> None:
    spec = ExchangeSpec(input_tokens="20", images=2, image_size="32x16", turns="2")
    first, second, other = make_exchanges(spec, 3)
    assert first.body and second.body and other.body
    sent = first.body["messages"]
    assert first.messages[0][1] == sent[0]["content"][-1]["text"] and len(first.messages[0][1].split()) == 20
    urls = [part["image_url"]["url"] for part in sent[0]["content"][:2]]
    assert second.body["messages"][0] == sent[0]
    assert second.body["messages"][1] == {"role": "assistant", "content": second.messages[1][1]}
    assert second.body["messages"][2] == {"role": "user", "content": second.messages[2][1]}
    urls += [part["image_url"]["url"] for part in other.body["messages"][0]["content"][:2]]
    assert len({*urls}) == 4
    with Image.open(io.BytesIO(base64.b64decode(urls[0].partition(",")[2]))) as image:
        assert image.size == (32, 16)


@pytest.mark.parametrize(
    "text", ["", "512", "0x5", "5x0", "ax5", "-1x5", "1x2x3", "99999x1", "16000x16000", "9" * 30 + "x1"]
)
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--image-size: ") as caught:
        parse_image_size(text)
    assert caught.value.remedy
    assert parse_image_size(" 640 x 480 ") == (640, 480)


def test_images_that_memory_does_not_hold_are_refused() -> None:
    with pytest.raises(OptionError, match="GiB of images"):
        make_exchanges(ExchangeSpec(images=4, image_size="4000x4000", image_kind="noise"), 1000)
    with pytest.raises(OptionError, match="--images: -1"):
        make_exchanges(ExchangeSpec(images=-1), 1)
    with pytest.raises(OptionError, match="'jpeg' is no kind of image"):
        make_exchanges(ExchangeSpec(images=1, image_kind="jpeg"), 1)
