"""Arrays for served models are drawn as those of any model, and texts where texts are taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchwright.errors import RequestError
from benchwright.records import Inputs
from benchwright.targets.signatures import TensorSignature
from benchwright.worker.endpoints.arrays import draw_arrays
from benchwright.worker.runtimes.inputs.feeds import build

IMAGE = TensorSignature(name="image", shape=(None, 3, 4), dtype="float32")
IDS = TensorSignature(name="ids", shape=("batch", 5), dtype="int64")
QUERY = TensorSignature(name="query", shape=(None, 2), dtype="str")


def test_a_server_gets_what_the_model_would_get_here() -> None:
    inputs = Inputs(batch_size=2, count=3, seed=4)
    served, (local, _) = draw_arrays([IMAGE, IDS], inputs), build([IMAGE, IDS], inputs)
    assert len(served) == 3 and [*served[0]] == ["image", "ids"]
    for one, other in zip(served, local, strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_texts_differ_in_every_element() -> None:
    feeds = draw_arrays([QUERY, IDS], Inputs(batch_size=3, count=4))
    assert [*feeds[0]] == ["query", "ids"] and feeds[0]["query"].shape == (3, 2)
    texts = [text for feed in feeds for text in feed["query"].ravel()]
    assert len({text.split()[0] for text in texts}) == len(texts) == 24
    again = draw_arrays([QUERY], Inputs(batch_size=3, count=4))
    assert [text for feed in again for text in feed["query"].ravel()] == texts


def test_texts_are_given_as_any_input_is(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", query=np.array([["a", "µ"]]), ids=np.ones((1, 5), np.int64))
    [feed] = draw_arrays([QUERY, IDS], Inputs(source=str(tmp_path / "data.npz")))
    assert feed["query"].tolist() == [["a", "µ"]]
    [feed] = draw_arrays([QUERY], Inputs(values={"query": (12.5,)}))
    assert feed["query"].tolist() == [["12.5", "12.5"]]
    [feed] = draw_arrays([QUERY], Inputs(values={"query": (1, 250)}))
    assert feed["query"].tolist() == [["1", "250"]]
    open_one = TensorSignature(name="query", shape=(None, None), dtype="str")
    assert draw_arrays([open_one], Inputs(shapes={"query": (1, 3)}))[0]["query"].shape == (1, 3)


def test_too_many_are_refused_before_they_are_drawn() -> None:
    open_one = TensorSignature(name="query", shape=(None, None), dtype="str")
    with pytest.raises(RequestError, match="leaves sizes open"):
        draw_arrays([open_one], Inputs())
    with pytest.raises(RequestError, match="more than 1,000,000"):
        draw_arrays([TensorSignature(name="query", shape=(None, 10**7), dtype="str")], Inputs())
    with pytest.raises(RequestError, match="the inputs have 1,000,000,000,000 elements"):
        draw_arrays([TensorSignature(name="x", shape=(None, 10**12), dtype="float32")], Inputs())
